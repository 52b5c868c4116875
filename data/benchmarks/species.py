"""Labelled photos of species, read from datasets on disk for `kb eval species`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from data.errors import BadInput
from data.files import read_lines
from data.images.find import SUFFIXES
from data.records import Box

Split = Literal["train", "test"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledPhoto:
    """A photo and its species label in the dataset: a binomial, an English name or the name of a folder."""

    path: Path
    label: str
    split: Split | None = None
    """None if the dataset has no split."""
    box: Box | None = None
    """Box of the bird, if the dataset gives one."""


def read_class_folders(folder: Path | str) -> list[LabelledPhoto]:
    """Return the photos in a folder with one folder per species, sorted by path; labels are the folder names.

    `train` and `test` (or `val`) folders above the species are splits.

    Raises:
        BadInput: if there is no photo in any such folder.
    """
    root = _folder(folder)
    splits: dict[str, Split] = {"train": "train", "test": "test", "val": "test", "valid": "test"}
    children = [child for child in sorted(root.iterdir()) if child.is_dir()]
    found: list[LabelledPhoto] = []
    if children and all(child.name in splits for child in children):
        for child in children:
            found += _photos_of(child, splits[child.name])
    else:
        found = list(_photos_of(root, None))
    if not found:
        raise BadInput(f"{root}: expected a folder for each species with photos in it, found no photo")
    return found


def read_cub(folder: Path | str) -> list[LabelledPhoto]:
    """Return the photos of CUB-200-2011 in the order of `images.txt`; labels as its classes: `009.Brewer_Blackbird`.

    Args:
        folder: `CUB_200_2011`, with `images.txt`, `image_class_labels.txt`, `classes.txt`, `train_test_split.txt`,
            `bounding_boxes.txt` (may be missing) and `images/`.

    Raises:
        BadInput: if a table is missing or has a malformed line, with the line number.
    """
    root = _folder(folder)
    images = _table(root / "images.txt", 2)
    classes = {number: name for number, (name,) in _table(root / "classes.txt", 2).items()}
    class_of = {number: name for number, (name,) in _table(root / "image_class_labels.txt", 2).items()}
    in_training = {number: flag == "1" for number, (flag,) in _table(root / "train_test_split.txt", 2).items()}
    boxes = _boxes(root / "bounding_boxes.txt")
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


def read_inaturalist(annotations: Path | str, *, root: Path | str | None = None) -> list[LabelledPhoto]:
    """Return the photos of birds in an iNaturalist 2021 list, with binomials as labels.

    Args:
        annotations: `train.json`, `train_mini.json` or `val.json`: images, annotations and categories.
        root: folder of the relative `file_name` (`val/05001_Animalia_.../x.jpg`); by default the folder of the list.

    Raises:
        BadInput: if the file cannot be read, or is not such a list.
    """
    path = Path(annotations)
    split: Split = "train" if path.stem.startswith("train") else "test"
    folder = path.parent if root is None else Path(root)
    text = "\n".join(read_lines(path))
    try:
        listed = json.loads(text)
        birds = {each["id"]: each["name"] for each in listed["categories"] if each["class"] == "Aves"}
        category_of = {row["image_id"]: row["category_id"] for row in listed["annotations"]}
        images = [(image, category_of[image["id"]]) for image in listed["images"]]
        return [
            LabelledPhoto(path=folder / image["file_name"], label=birds[category], split=split)
            for image, category in images
            if category in birds
        ]
    except (ValueError, TypeError, KeyError) as error:
        raise BadInput(
            f"{path}: expected an iNaturalist list with images, annotations and categories "
            f"({type(error).__name__}: {error})"
        ) from error


def _folder(folder: Path | str) -> Path:
    root = Path(folder)
    if not root.is_dir():
        raise BadInput(f"{root} does not exist, expected a folder")
    return root


def _photos_of(root: Path, split: Split | None) -> Iterator[LabelledPhoto]:
    for species in sorted(child for child in root.iterdir() if child.is_dir()):
        for path in sorted(species.rglob("*")):
            if path.suffix.lower() in SUFFIXES and path.is_file():
                yield LabelledPhoto(path=path, label=species.name, split=split)


def _table(path: Path, n_columns: int) -> dict[str, tuple[str, ...]]:
    """Return first column -> the others of a table separated by blanks."""
    try:
        lines = read_lines(path)
    except BadInput as error:
        raise BadInput(str(error), hint="Expected the layout of CUB_200_2011.") from error
    rows: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(lines, 1):
        cells = line.split()
        if len(cells) != n_columns:
            raise BadInput(f"{path}: line {number}: expected {n_columns} columns, got {len(cells)}")
        rows[cells[0]] = tuple(cells[1:])
    return rows


def _boxes(path: Path) -> dict[str, Box]:
    """Return number of an image -> its box; empty if there is no such table."""
    boxes: dict[str, Box] = {}
    for number, cells in (_table(path, 5) if path.exists() else {}).items():
        try:
            left, top, width, height = map(float, cells)
        except ValueError as error:
            raise BadInput(f"{path}: image {number}: expected four numbers, got {' '.join(cells)}") from error
        boxes[number] = Box(left, top, left + width, top + height)
    return boxes
