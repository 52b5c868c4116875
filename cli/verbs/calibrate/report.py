"""Report of `kb calibrate`: photos that were skipped, and the quality of the calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cli.common import output
from cli.common.reports import by_reason
from data.words import plural
from recognize.settings import UNKNOWN_PRIOR

if TYPE_CHECKING:
    from recognize.calibration.quality import Figures, Quality


def skipped_lines(skipped: Mapping[str, int], errors: Mapping[str, str]) -> Iterator[str]:
    """Yield the number of skipped photos by reason."""
    if skipped:
        yield f"{plural(sum(skipped.values()), 'photo')} skipped: {by_reason(skipped)}"
    if errors:
        path, why = next(iter(errors.items()))
        yield f"{plural(len(errors), 'photo')} unreadable; the first is {path}: {why}"


def quality_text(quality: Quality, path: Path, preset: str) -> str:
    """Return the figures as a table, with their meaning."""
    columns = [("calibrated", quality.calibrated)]
    if quality.estimated is not None:
        columns.insert(0, ("estimated", quality.estimated))
    rows = [[name, *(cell(found) for _, found in columns)] for name, cell in _ROWS.items()]
    photos = f"{plural(quality.n_photos, 'photo')} of {plural(quality.n_species, 'species', 'species')}"
    return "\n".join(
        [
            f"Calibrated: {path}, preset {preset}",
            f"{photos}; the right species comes first for {_percent(quality.right)}",
            "",
            output.as_table(("", *(name for name, _ in columns)), rows),
            "",
            f"Each photo is identified with its species in the knowledge base ({_percent(1 - UNKNOWN_PRIOR)})",
            f"and without it ({_percent(UNKNOWN_PRIOR)}). Measured on species outside the fit.",
            "calibration error: mean gap between confidence and accuracy",
        ]
    )


def _percent(share: float | None, digits: int = 0) -> str:
    return "" if share is None else f"{100 * share:.{digits}f} %"


_ROWS: Mapping[str, Callable[[Figures], str]] = {
    "calibration error": lambda found: _percent(found.calibration_error, 1),
    "photos with a species at 90 % or more": lambda found: _percent(found.sure),
    "right among these": lambda found: _percent(found.sure_right),
    "unknown species called unknown": lambda found: _percent(found.found_unknown),
    "known species called unknown": lambda found: _percent(found.false_unknown),
}
