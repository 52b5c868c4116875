"""Exit codes that verbs set themselves; errors have their own in `data.errors`."""

from data.errors import SourceError

FINDINGS = 1
MISSING = 3
PARTLY = 7
ALL_FAILED = SourceError.exit_code
DEFECT = 70  # EX_SOFTWARE of sysexits.h: a bug in Fieldmark
INTERRUPTED = 130  # 128 + SIGINT, as shells have it
BROKEN_PIPE = 141  # 128 + SIGPIPE, as shells report `... | head`


def of_failures(n_failed: int, n: int) -> int:
    """Return the exit code of a run of which `n_failed` of `n` parts failed at a model."""
    if not n_failed:
        return 0
    return ALL_FAILED if n_failed >= n else PARTLY
