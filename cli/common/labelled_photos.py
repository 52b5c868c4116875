"""Photos labelled with their species, and these in a knowledge base: for `kb eval species` and `kb calibrate`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cli.common import output
from cli.common.reports import partial_text, unmatched_text
from data.errors import NothingReadable
from data.labelled_photos import SPLITS, read_class_folders
from data.records import Taxon
from data.words import plural
from recognize.corrections import NAME as CORRECTIONS
from recognize.corrections import Corrections

if TYPE_CHECKING:
    from kb.checklist.reconcile import MatchedName, UnmatchedName
    from kb.store.knowledge_base import KnowledgeBase

_HEADINGS: Final = {"path": ("path", "photo", "image", "file", "filename"), "split": ("split",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledPhotos:
    """Photos whose labels match a species."""

    photos: tuple[tuple[Path, Taxon], ...]
    """Of species of the knowledge base."""
    absent: tuple[tuple[Path, Taxon], ...]
    """Of other species."""
    unmatched: tuple[UnmatchedName, ...]
    """Labels without a species."""
    n_unmatched: int
    """Photos with such a label."""
    partial: tuple[MatchedName, ...] = ()
    """Labels matched without a bracket or third word."""

    def lines(self) -> Iterator[str]:
        """Yield the labels without a species, or matched without a part."""
        if self.partial:
            yield partial_text(self.partial)
        if self.unmatched:
            labels, photos = plural(len(self.unmatched), "label"), plural(self.n_unmatched, "photo")
            yield f"{labels} ({photos}) matched no species: {unmatched_text(self.unmatched)}"

    @property
    def absent_text(self) -> str:
        """The species outside the knowledge base, with their number and that of their photos; empty without one."""
        names = sorted({taxon.scientific_name for _, taxon in self.absent})
        species, photos = plural(len(names), "species", "species"), plural(len(self.absent), "photo")
        return f"{species} ({photos}) not in the knowledge base: {output.first_few(names)}" if names else ""


def read_labelled(path: Path, store: KnowledgeBase, *, split: str | None = None) -> LabelledPhotos:
    """Return the labelled photos of a folder with a folder per species, of a table, or those named in `kb serve`.

    They are of one split, else all.

    Without a split `test`, all are; `val` counts as `test`.

    Raises:
        BadInput: if it is neither, or a table without columns of paths and names.
        NothingReadable: if there are no photos, or no label matches a species.
    """
    from kb.checklist.species_lists import match_names

    said = path / CORRECTIONS if path.is_dir() else path
    if said.name == CORRECTIONS and said.is_file():
        labels = _named_by_people(said)
    else:
        labels = _class_folders(path) if path.is_dir() else _table(path)
    if split == "train" or (split == "test" and any(each[2] == "test" for each in labels)):
        labels = [label for label in labels if label[2] == split]
    if not labels:
        raise NothingReadable(f"{path} lists no photos{' of the split train' if split == 'train' else ''}.")
    rows = list(dict.fromkeys(names for _, names, _ in labels))
    held = {taxon.taxon_id: taxon for taxon in store.taxa()}
    matches = match_names(rows, list(held.values()), store.checklist)
    taxon_of = {
        names: taxon if taxon_id is None else held[taxon_id]
        for names, taxon_id, taxon in zip(rows, matches.of_rows, matches.taxa, strict=True)
    }
    found = [(photo, taxon) for photo, names, _ in labels if (taxon := taxon_of[names]) is not None]
    read = LabelledPhotos(
        photos=tuple((photo, taxon) for photo, taxon in found if taxon.taxon_id in held),
        absent=tuple((photo, taxon) for photo, taxon in found if taxon.taxon_id not in held),
        unmatched=matches.unmatched,
        n_unmatched=len(labels) - len(found),
        partial=matches.partial,
    )
    if not read.photos:
        why = "; ".join(filter(None, [*read.lines(), read.absent_text]))
        raise NothingReadable(
            f"No photo of {path} shows a species of the knowledge base: {output.printable(why)}.",
            hint="Labels are scientific or English names of species; kb taxa --file FILE shows their matches."
            if read.unmatched
            else "Choose a knowledge base of these species with --kb.",
        )
    return read


_Labels = list[tuple[Path, tuple[str, ...], str | None]]
"""Photos, each with names of its species, the most reliable first, and its split."""


def _class_folders(path: Path) -> _Labels:
    return [(photo.path, (photo.label,), photo.split) for photo in read_class_folders(path)]


def _named_by_people(file: Path) -> _Labels:
    """Return the photos of a file of corrections with one bird, confirmed or corrected to a species."""
    said = list(Corrections(file))
    n_birds = Counter(line.photo for line in said)
    return [
        (file.parent / line.image, (line.label.name,), None)
        for line in said
        if line.label is not None and line.label.rank == "species" and n_birds[line.photo] == 1
    ]


def _table(path: Path) -> _Labels:
    """Return the rows of a table; paths are relative to its folder."""
    from kb.checklist.name_files import NamesFile, has_names

    file = NamesFile(path, also=_HEADINGS, needed=lambda found: "path" in found and has_names(found))
    if not file.is_table:
        raise file.table.refused(
            f"expected the columns path and scientific_name, found {', '.join(file.table.first) or 'empty'}",
            line=file.table.first_line,
            hint="Or give a folder with one folder of photos per species.",
        )
    path_of = file.columns["path"][0]
    split_of = file.columns.get("split", ("",))[0]
    labels: _Labels = []
    for row in file.rows(every=True):
        photo, split = row.cells[path_of], row.cells.get(split_of, "").lower()
        if not photo or not row.names:
            given = ", ".join(filter(None, row.cells.values()))
            raise file.table.refused(f"expected a path and a name, got {given}", line=row.line)
        if split and split not in SPLITS:
            expected = f"expected as split {', '.join(SPLITS)} or nothing, got {split}"
            raise file.table.refused(expected, line=row.line)
        labels.append((path.parent / photo, row.names, SPLITS.get(split)))
    for note in file.table.notes:
        output.note(f"{path}: {note}")
    return labels
