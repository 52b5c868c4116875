"""`kb calibrate`: confidence fitted to the species of one knowledge base."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.common import exit_codes, options, output, reports, wiring
from cli.common.output import named_calls
from data.errors import BadInput
from data.words import plural
from recognize.settings import PHOTO_PRESETS, UNKNOWN_PRIOR

if TYPE_CHECKING:
    from data.contracts import Checklist
    from data.records import Taxon
    from recognize.calibration.calibrate import Figures, Quality


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
    from kb.store.calibrations import save_calibration
    from recognize.calibration.calibrate import calibrate as fit
    from recognize.calibration.cases import photos_of_anchors, photos_of_files
    from recognize.confidence.calibration import calibration_bytes
    from recognize.scoring.knowledge import read_knowledge

    settings = options.settings(kb=kb)
    path = wiring.required_path(settings)
    with wiring.open_knowledge_base(settings) as store, named_calls(quiet=options.invocation().quiet) as show:
        encoders = wiring.encoders_of(store)
        knowledge = read_knowledge(store, encoders)
        if photos is None:
            found = photos_of_anchors(store, encoders, knowledge, anchor_path=store.anchor_path, on_progress=show)
        else:
            paths, taxon_ids = read_labelled(photos, store.taxa(), store.checklist)
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


PATH_HEADINGS = ("path", "photo", "image", "file", "filename")

Labels = list[tuple[Path, tuple[str, ...]]]
"""Photos, each with names of its species, the most reliable first."""


def read_labelled(path: Path, taxa: Sequence[Taxon], checklist: Checklist) -> tuple[list[Path], list[str]]:
    """Return the photos with species of a knowledge base, and these species; warn of the others.

    Raises:
        BadInput: if it is neither a folder of class folders nor a table with columns of paths and names, or names no
            species of the knowledge base.
    """
    from data.labelled_photos import read_class_folders
    from kb.checklist.species_lists import match_names

    is_table = not path.is_dir()
    labels = _table(path) if is_table else [(photo.path, (photo.label,)) for photo in read_class_folders(path)]
    rows = list(dict.fromkeys(names for _, names in labels))
    matches = match_names(rows, taxa, checklist)
    taxon_of = dict(zip(rows, matches.of_rows, strict=True))
    if matches.unmatched:
        output.warn(
            f"{plural(len(matches.unmatched), 'label')} matched no species: {reports.unmatched_text(matches.unmatched)}"
        )
    if matches.absent:
        absent = plural(len(matches.absent), "species", "species")
        output.warn(f"{absent} not in the knowledge base, skipped: {output.first_few(matches.absent)}")
    found = [(photo, taxon_id) for photo, names in labels if (taxon_id := taxon_of[names]) is not None]
    if not found:
        raise BadInput(
            f"No photo of {path} shows a species of the knowledge base.",
            hint="Labels are scientific or English names of species; kb taxa --file FILE shows their matches.",
        )
    return [photo for photo, _ in found], [taxon_id for _, taxon_id in found]


def _table(path: Path) -> Labels:
    """Return the rows of a table; paths are relative to its folder."""
    from kb.checklist.name_files import columns_of, read_names_file, table_rows
    from kb.checklist.names import fold

    (first, heading), *rows = table_rows(read_names_file(path), path) or [(1, [])]
    at = next((i for i, cell in enumerate(heading) if fold(cell) in PATH_HEADINGS), None)
    columns = columns_of(heading)
    given = [columns[name] for name in ("scientific", "common", "code") if name in columns and columns[name] != at]
    if at is None or not given:
        found = ", ".join(heading) or "empty"
        raise BadInput(
            f"{path}: line {first}: expected the columns path and scientific_name, found {found}.",
            hint="Or give a folder with one folder of photos per species.",
        )
    labels: Labels = []
    for number, cells in rows:
        names = tuple(cells[i] for i in given if i < len(cells) and cells[i])
        if at >= len(cells) or not cells[at] or not names:
            raise BadInput(f"{path}: line {number}: expected a path and a name, got {', '.join(cells)}.")
        labels.append((path.parent / cells[at], names))
    return labels


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
