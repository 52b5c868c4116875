"""`kb calibrate`: confidence fitted to the species of one knowledge base."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.common import exit_codes, options, output, reports, wiring
from cli.common.output import named_calls
from data.words import plural
from recognize.settings import PHOTO_PRESETS, UNKNOWN_PRIOR

if TYPE_CHECKING:
    from recognize.confidence.fit import Figures, Quality


@click.command()
@options.kb_option("Knowledge base; the calibration is kept in it.", needed=True)
@click.option("--preset", type=click.Choice(PHOTO_PRESETS), default="default", show_default=True,
              help="Scoring of photos.")  # fmt: skip
@click.option("--photos", type=click.Path(exists=True, path_type=Path), metavar="DIR|CSV",
    help="Labelled photos: a folder with one folder per species, or a table with the columns path and "
    "scientific_name.  [default: the reference photos, each identified without itself]",
)  # fmt: skip
@options.format_option("text", "json")
@click.pass_context
def calibrate(ctx: click.Context, kb: Path | None, preset: str, photos: Path | None, form: str) -> None:
    """Fit the confidence of kb identify to your knowledge base.

    At least 60 labelled photos of 10 species are needed; those like the photos that you will identify are best. Each is
    identified with its species in the knowledge base and without it. Of reference photos, only those of species with
    two or more count.

    The quality that is printed is that of photos of other species than those of the fit.

    Example: kb calibrate --kb birds.kb --photos labelled/
    """
    from cli.common.labelled_photos import read_labelled
    from kb.store.calibrations import save_calibration
    from recognize.confidence.calibration import calibration_bytes
    from recognize.confidence.fit import calibrate as fit
    from recognize.confidence.labelled import photos_of_anchors, photos_of_files
    from recognize.scoring.knowledge import read_knowledge

    settings = options.settings(kb=kb)
    path = wiring.required_path(settings)
    with wiring.open_knowledge_base(settings) as store, named_calls(quiet=options.invocation().quiet) as show:
        encoders = wiring.encoders_of(store)
        knowledge = read_knowledge(store, encoders)
        if photos is None:
            found = photos_of_anchors(store, encoders, knowledge, anchor_path=store.anchor_path, on_progress=show)
        else:
            labelled = read_labelled(photos, store)
            for line in filter(None, [*labelled.lines(), labelled.absent_text]):
                output.warn(line)
            paths, taxon_ids = zip(*((path, taxon.taxon_id) for path, taxon in labelled.photos), strict=True)
            found = photos_of_files(
                store, encoders, knowledge, paths, taxon_ids, anchor_path=store.anchor_path, on_progress=show
            )
        for line in skipped_lines(found.skipped, found.errors):
            output.warn(line)
        made = fit(store, encoders, knowledge, found, preset=preset, on_progress=show)
    save_calibration(path, preset, calibration_bytes(made.calibration))
    output.write_record(form, made.quality, lambda: quality_text(made.quality, path, preset))
    if found.errors:
        ctx.exit(exit_codes.PARTLY)


def skipped_lines(skipped: Mapping[str, int], errors: Mapping[str, str]) -> Iterator[str]:
    """Yield the number of skipped photos by reason."""
    if skipped:
        yield f"{plural(sum(skipped.values()), 'photo')} skipped: {reports.by_reason(skipped)}"
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
