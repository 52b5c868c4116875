"""Labelled photos of species: a folder for each species, or a table of paths and names."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from data.errors import BadInput
from data.files import read_lines
from data.images import SUFFIXES

Split = Literal["train", "test"]
LABEL_COLUMNS: Final = ("label", "scientific_name", "common_name")
_SPLITS: Final[Mapping[str, Split]] = {"train": "train", "test": "test", "val": "test", "valid": "test"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledPhoto:
    """A photo and its species label in the dataset: a binomial, an English name or the name of a folder."""

    path: Path
    label: str
    split: Split | None = None
    """None if the dataset has no split."""


def read_class_folders(folder: Path | str) -> list[LabelledPhoto]:
    """Return the photos in a folder with one folder per species, sorted by path; labels are the folder names.

    `train` and `test` (or `val`) folders above the species are splits, also inside a single folder, as of Indian Birds
    (`Birds_25/train`, `Birds_25/valid`).

    Raises:
        BadInput: if there is no photo in any such folder.
    """
    root = dataset_folder(folder)
    children = _folders_in(root)
    if len(children) == 1 and _are_splits(_folders_in(children[0])):
        children = _folders_in(children[0])
    found: list[LabelledPhoto] = []
    if _are_splits(children):
        for child in children:
            found += _photos_of(child, _SPLITS[child.name])
    else:
        found = list(_photos_of(root, None))
    if not found:
        raise BadInput(f"{root}: expected a folder for each species with photos in it, found no photo")
    return found


def read_photo_table(file: Path) -> tuple[list[LabelledPhoto], dict[str, list[LabelledPhoto]]]:
    """Return the photos of a CSV table, and those of each set of anchors.

    Args:
        file: columns `path`, relative to its folder, and `label`, `scientific_name` or `common_name`; perhaps `split`
            (train, test or empty) and `anchors` (names of the sets of reference photos that the photo belongs to).

    Raises:
        BadInput: if the file cannot be read, or a row has no path or name, or an unknown split; with its line.
    """
    reader = csv.DictReader(read_lines(file), restval="")
    try:
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise BadInput(f"{file}: line {reader.line_num}: {error}") from error
    columns = reader.fieldnames or ()
    name = next((each for each in LABEL_COLUMNS if each in columns), None)
    if name is None or "path" not in columns:
        raise BadInput(f"{file}: expected a table with the columns path and {' or '.join(LABEL_COLUMNS)}.")
    photos: list[LabelledPhoto] = []
    anchors: dict[str, list[LabelledPhoto]] = {}
    for number, row in rows:
        split = row.get("split") or None
        if not row["path"] or not row[name] or (split is not None and split not in _SPLITS):
            cells, accepted = ", ".join(map(str, row.values())), ", ".join(_SPLITS)
            raise BadInput(
                f"{file}: line {number}: expected a path, a name, and as split {accepted} or nothing, got {cells}"
            )
        photo = LabelledPhoto(path=file.parent / row["path"], label=row[name], split=_SPLITS[split] if split else None)
        photos.append(photo)
        for each in (row.get("anchors") or "").split():
            anchors.setdefault(each, []).append(photo)
    return photos, anchors


def dataset_folder(folder: Path | str) -> Path:
    """Return the folder; `BadInput` if there is none."""
    root = Path(folder)
    if not root.is_dir():
        raise BadInput(f"{root} does not exist, expected a folder")
    return root


def _folders_in(root: Path) -> list[Path]:
    return [child for child in sorted(root.iterdir()) if child.is_dir()]


def _are_splits(folders: list[Path]) -> bool:
    return bool(folders) and all(folder.name in _SPLITS for folder in folders)


def _photos_of(root: Path, split: Split | None) -> Iterator[LabelledPhoto]:
    for species in _folders_in(root):
        for path in sorted(species.rglob("*")):
            if path.suffix.lower() in SUFFIXES and path.is_file():
                yield LabelledPhoto(path=path, label=species.name, split=split)
