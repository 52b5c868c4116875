"""Labelled photos of species in a folder for each species."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from data.errors import BadInput
from data.images.find import find_images, is_hidden

Split = Literal["train", "test"]
SPLITS: Final[Mapping[str, Split]] = {"train": "train", "test": "test", "val": "test", "valid": "test"}


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
            found += _photos_of(child, SPLITS[child.name])
    else:
        found = list(_photos_of(root, None))
    if not found:
        raise BadInput(f"{root}: expected a folder for each species with photos in it, found no photo")
    return found


def dataset_folder(folder: Path | str) -> Path:
    """Return the folder; `BadInput` if there is none."""
    root = Path(folder)
    if not root.is_dir():
        raise BadInput(f"{root} does not exist, expected a folder")
    return root


def _folders_in(root: Path) -> list[Path]:
    return [child for child in sorted(root.iterdir()) if child.is_dir() and not is_hidden(child.name)]


def _are_splits(folders: list[Path]) -> bool:
    return bool(folders) and all(folder.name in SPLITS for folder in folders)


def _photos_of(root: Path, split: Split | None) -> Iterator[LabelledPhoto]:
    for species in _folders_in(root):
        for path in find_images([species]):
            if path.is_file():
                yield LabelledPhoto(path=path, label=species.name, split=split)
