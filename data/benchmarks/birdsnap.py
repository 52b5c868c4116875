"""Birdsnap 1.1: 500 species of North America, by its tables of species, images and test images."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from data.benchmarks.class_names import species_of_class
from data.benchmarks.species import LabelledPhoto, Split, dataset_folder
from data.errors import BadInput
from data.files import read_lines
from data.records import Box

PHOTO_FOLDERS: Final = ("download/images", "images")
"""Folders of the photos: the default of the script of Birdsnap, and beside the tables."""
TABLES: Final = ("species.txt", "images.txt", "test_images.txt")


def is_birdsnap(folder: Path) -> bool:
    """Return whether a folder has the tables of Birdsnap."""
    return all((folder / name).is_file() for name in TABLES)


def read_birdsnap(folder: Path | str) -> list[LabelledPhoto]:
    """Return the photos of Birdsnap in the order of `images.txt`; labels are English names.

    Tables are separated by tabs and have a head. All photos outside `test_images.txt` are for training. Photos were
    to be downloaded from Flickr one by one and some are gone, so those without a file are left out.

    Args:
        folder: with `species.txt` (id, common, scientific, dir), `images.txt` (path, species_id, bb_x1, bb_y1, bb_x2,
            bb_y2 and more), `test_images.txt` (path), and the photos.

    Raises:
        BadInput: if a table is missing or malformed, with the line number, or if there is no photo.
    """
    root = dataset_folder(folder)
    species = _rows(root / "species.txt", ("id", "common"))
    names = {row["id"]: species_of_class(row["common"], in_north_america=True) for row in species}
    in_test = {row["path"] for row in _rows(root / "test_images.txt", ("path",))}
    photos = next((root / name for name in PHOTO_FOLDERS if (root / name).is_dir()), root)
    found = []
    for number, row in enumerate(_rows(root / "images.txt", ("path", "species_id")), 2):
        if row["species_id"] not in names:
            raise BadInput(f"{root / 'images.txt'}: line {number}: no species has the id {row['species_id']!r}")
        if (photos / row["path"]).is_file():
            split: Split = "test" if row["path"] in in_test else "train"
            box = _box(row, root / "images.txt", number)
            found.append(LabelledPhoto(path=photos / row["path"], label=names[row["species_id"]], split=split, box=box))
    if not found:
        hint = f"Expected photos in {' or '.join(PHOTO_FOLDERS)}; get_birdsnap.py of the dataset downloads them."
        raise BadInput(f"{root} has none of the photos in images.txt.", hint=hint)
    return found


def _rows(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    rows = list(csv.DictReader(read_lines(path), delimiter="\t", quoting=csv.QUOTE_NONE))
    for number, row in enumerate(rows, 2):
        for column in columns:
            if not row.get(column):
                raise BadInput(f"{path}: line {number}: expected a value in the column {column!r}")
    return rows


def _box(row: dict[str, str], path: Path, number: int) -> Box | None:
    cells = [row.get(name) or "" for name in ("bb_x1", "bb_y1", "bb_x2", "bb_y2")]
    if not all(cells):
        return None
    try:
        return Box(*map(float, cells))
    except ValueError as error:
        raise BadInput(f"{path}: line {number}: expected four numbers, got {' '.join(cells)}") from error
