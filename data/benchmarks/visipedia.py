"""CUB-200-2011 and NABirds: photos, classes, split and boxes in tables of one form."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from data.benchmarks.class_names import species_of_class
from data.benchmarks.species import LabelledPhoto, dataset_folder
from data.errors import BadInput
from data.files import read_lines
from data.records import Box

_VARIANT = re.compile(r"\s*\([^()]*\)\s*$")


def read_cub(folder: Path | str) -> list[LabelledPhoto]:
    """Return the photos of CUB-200-2011 in the order of `images.txt`; labels as its classes: `009.Brewer_Blackbird`.

    Args:
        folder: `CUB_200_2011`, with `images.txt`, `image_class_labels.txt`, `classes.txt`, `train_test_split.txt`,
            `bounding_boxes.txt` (may be missing) and `images/`.

    Raises:
        BadInput: if a table is missing or has a malformed line, with the line number.
    """
    return _read(dataset_folder(folder), layout="CUB_200_2011", label=lambda name: name)


def read_nabirds(folder: Path | str) -> list[LabelledPhoto]:
    """Return the photos of NABirds in the order of `images.txt`; labels are English names.

    The form is that of CUB-200-2011, but ids are hexadecimal, names of classes are several words, and a class is a sex,
    age or plumage of a species: the part in brackets ("Horned Grebe (Breeding)") is left out, so that the photos of a
    species have one label. Names of species that were split since mean the one of North America. The inner classes of
    `hierarchy.txt` have no photos.

    Args:
        folder: `nabirds`, as unpacked.

    Raises:
        BadInput: if a table is missing or has a malformed line, with the line number.
    """
    return _read(
        dataset_folder(folder),
        layout="nabirds",
        label=lambda name: species_of_class(_VARIANT.sub("", name), in_north_america=True),
    )


def _read(root: Path, *, layout: str, label: Callable[[str], str]) -> list[LabelledPhoto]:
    images = _table(root / "images.txt", 2, layout)
    classes = {number: label(name) for number, (name,) in _names(root / "classes.txt", layout).items()}
    class_of = {number: name for number, (name,) in _table(root / "image_class_labels.txt", 2, layout).items()}
    in_training = {number: flag == "1" for number, (flag,) in _table(root / "train_test_split.txt", 2, layout).items()}
    boxes = _boxes(root / "bounding_boxes.txt", layout)
    found = []
    for number, (name,) in images.items():
        if number not in class_of or class_of[number] not in classes or number not in in_training:
            raise BadInput(f"{root}: image {number} ({name}) has no class or no split")
        found.append(
            LabelledPhoto(
                path=root / "images" / name,
                label=classes[class_of[number]],
                split="train" if in_training[number] else "test",
                box=boxes.get(number),
            )
        )
    return found


def _names(path: Path, layout: str) -> dict[str, tuple[str, ...]]:
    """Return number -> name of a class, of one or several words."""
    return _table(path, 2, layout, last_has_blanks=True)


def _table(path: Path, n_columns: int, layout: str, *, last_has_blanks: bool = False) -> dict[str, tuple[str, ...]]:
    """Return first column -> the others of a table separated by blanks."""
    try:
        lines = read_lines(path)
    except BadInput as error:
        raise BadInput(str(error), hint=f"Expected the layout of {layout}.") from error
    rows: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(lines, 1):
        cells = line.split(maxsplit=n_columns - 1) if last_has_blanks else line.split()
        if len(cells) != n_columns:
            raise BadInput(f"{path}: line {number}: expected {n_columns} columns, got {len(cells)}")
        rows[cells[0]] = tuple(cell.strip() for cell in cells[1:])
    return rows


def _boxes(path: Path, layout: str) -> dict[str, Box]:
    """Return number of an image -> its box; empty if there is no such table."""
    boxes: dict[str, Box] = {}
    for number, cells in (_table(path, 5, layout) if path.exists() else {}).items():
        try:
            left, top, width, height = map(float, cells)
        except ValueError as error:
            raise BadInput(f"{path}: image {number}: expected four numbers, got {' '.join(cells)}") from error
        boxes[number] = Box(left, top, left + width, top + height)
    return boxes
