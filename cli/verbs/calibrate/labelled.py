"""Labelled photos of `kb calibrate --photos`: class folders or a table of paths and names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cli.common import output
from data.benchmarks.species import read_class_folders
from data.errors import BadInput
from data.words import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from data.contracts import Checklist
    from data.records import Taxon
    from kb.checklist.reconcile import UnmatchedName

PATH_HEADINGS = ("path", "photo", "image", "file", "filename")

Labels = list[tuple[Path, tuple[str, ...]]]
"""Photos, each with names of its species, the most reliable first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledPhotos:
    """Photos of species in a knowledge base."""

    paths: tuple[Path, ...]
    taxon_ids: tuple[str, ...]
    """Species of each photo."""


def read_labelled(path: Path, taxa: Sequence[Taxon], checklist: Checklist | None = None) -> LabelledPhotos:
    """Return the photos with species of a knowledge base, and warn of the others.

    Raises:
        BadInput: if it is neither a folder of class folders nor a table with columns of paths and names, or names no
            species of the knowledge base.
    """
    from kb.checklist.species_lists import match_names

    labels = _folders(path) if path.is_dir() else _table(path)
    rows = list(dict.fromkeys(names for _, names in labels))
    matches = match_names(rows, taxa, checklist)
    taxon_of = dict(zip(rows, matches.taxon_ids, strict=True))
    if matches.unmatched:
        output.warn(f"{plural(len(matches.unmatched), 'label')} matched no species: {_listed(matches.unmatched)}")
    if matches.absent:
        absent = plural(len(matches.absent), "species", "species")
        output.warn(f"{absent} not in the knowledge base, skipped: {output.first_few(matches.absent)}")
    found = [(photo, taxon_id) for photo, names in labels if (taxon_id := taxon_of[names]) is not None]
    if not found:
        raise BadInput(
            f"No photo of {path} shows a species of the knowledge base.",
            hint="Labels are scientific or English names of species; kb taxa --file FILE shows their matches.",
        )
    return LabelledPhotos(paths=tuple(photo for photo, _ in found), taxon_ids=tuple(each for _, each in found))


def _folders(path: Path) -> Labels:
    return [(photo.path, (photo.label,)) for photo in read_class_folders(path)]


def _table(path: Path) -> Labels:
    """Return the rows of a table; paths are relative to its folder."""
    from kb.checklist.names import fold
    from kb.checklist.tables import columns_of, read_names_file, table_rows

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


def _listed(unmatched: Sequence[UnmatchedName]) -> str:
    return output.first_few(
        [
            f"{name.name} ({name.reason}{', like ' + ' or '.join(name.suggestions) if name.suggestions else ''})"
            for name in unmatched
        ]
    )
