"""Published tables of five papers beside ours, run from a checkout: `python -m papers`; not part of the wheel."""
