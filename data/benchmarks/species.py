"""Labelled photos of species, read from datasets on disk for `kb eval species`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from data.errors import BadInput
from data.files import read_lines
from data.foreign_json import load_json
from data.images.find import SUFFIXES
from data.records import Box

Split = Literal["train", "test"]
_SPLITS: Final[Mapping[str, Split]] = {"train": "train", "test": "test", "val": "test", "valid": "test"}


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
        listed = load_json(text)
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
