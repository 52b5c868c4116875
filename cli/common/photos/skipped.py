"""Files among photos that no verb reads: notes and warnings by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from cli.common import output
from data.words import plural


def report_skipped(suffixes: Iterable[str], *, quiet: bool) -> None:
    """Write the number of skipped files of each kind as a note, and warn of RAW photos and videos."""
    from data.images.unsupported import KINDS

    counts = Counter(suffixes)
    if counts and not quiet:
        kinds = (
            f"{n:,} {suffix or 'without extension'}"
            for suffix, n in sorted(counts.items(), key=lambda kind: (-kind[1], kind[0]))
        )
        output.note(f"Skipped {plural(counts.total(), 'file')}: {output.printable(', '.join(kinds))}")
    for kind, unsupported, remedy in KINDS:
        if found := sorted(unsupported.intersection(counts)):
            n = sum(counts[suffix] for suffix in found)
            output.warn(f"{plural(n, kind)} skipped: {', '.join(found)} not supported; {remedy}")
