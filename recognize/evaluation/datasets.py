"""Labelled datasets: photos of a split, and anchor photos."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from data.errors import CONVERT_HINT, BadInput, NothingReadable, UsageError
from data.labelled_photos import LabelledPhoto, read_class_folders, read_photo_table

MOST_ANCHORS: Final = 3  # a species: VR-RAG, section 5.2
ANCHOR_SETS = ("kb", "train", "wiki")
PUBLISHED: Final = (("images.txt",), ("species_counts.json",), ("photos.csv", "descriptions.jsonl"))
"""Files of the folders of published data sets, whose names of classes are not read here: CUB, NABirds, Birdsnap;
LaSBiRD; a collection of `training`. That of Indian Birds has none, and is known by its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """The photos of a split, and photos to use as anchors."""

    kind: str
    photos: tuple[LabelledPhoto, ...]
    anchors: Mapping[str, tuple[LabelledPhoto, ...]] = field(default_factory=dict)
    """Anchor set -> its photos."""
    covered: tuple[str, ...] = ()
    """Labels of all species that the anchor sets cover."""


def read_dataset(path: Path, *, split: str | None, train: Path | None, anchors: Sequence[str]) -> Dataset:
    """Return a dataset.

    `path` is a folder with a folder for each species, or a CSV table of paths and names; `split` is `test` by default,
    if it exists. The anchors `train` are training photos of `train`, or all of it if it has no split.

    Raises:
        BadInput: if it cannot be read.
        NothingReadable: if the split has no photo.
        UsageError: if it has no such anchors.
    """
    found, offered = _photos(path)
    if train is not None or "train" not in offered:
        others = found if train is None else _photos(train)[0]
        training = [photo for photo in others if photo.split == "train"] or (others if train is not None else [])
        offered |= {"train": _spread(training)} if training else {}
    kind = "class folders" if path.is_dir() else path.name
    for name in anchors:
        if name != "kb" and name not in offered:
            hint = "Name the training photos with --train." if name == "train" else None
            raise UsageError(f"The dataset {path} has no anchors {name!r}.", hint=hint)
    covered = tuple(dict.fromkeys(photo.label for photos in offered.values() for photo in photos))
    splits = Counter(photo.split for photo in found)
    wanted = split or ("test" if splits["test"] else "all")
    if wanted != "all":
        found = [photo for photo in found if photo.split == wanted]
        kind += f", {wanted}"
    if not found:
        found_splits = ", ".join(sorted(each for each in splits if each)) or "none"
        raise NothingReadable(f"{path} has no photos in the split {wanted!r}. Splits found: {found_splits}.")
    return Dataset(
        kind=kind, photos=tuple(found), anchors={name: tuple(set_) for name, set_ in offered.items()}, covered=covered
    )


def _photos(path: Path) -> tuple[list[LabelledPhoto], dict[str, list[LabelledPhoto]]]:
    """Return the photos, and the sets of anchors that a table names."""
    if path.is_dir():
        is_published = any(all((path / name).is_file() for name in names) for names in PUBLISHED)
        if is_published or "Birds_25" in (path.absolute().name, *(child.name for child in path.iterdir())):
            raise BadInput(f"{path} is a published data set, which kb does not read directly.", hint=CONVERT_HINT)
        return read_class_folders(path), {}
    if path.suffix == ".csv":
        return read_photo_table(path)
    raise BadInput(
        f"{path} is not a dataset. Expected a folder with a folder for each species, or a .csv table of photos.",
        hint=CONVERT_HINT,
    )


def _spread(photos: Sequence[LabelledPhoto]) -> list[LabelledPhoto]:
    """Return at most `MOST_ANCHORS` photos of each label, evenly spaced."""
    groups: dict[str, list[LabelledPhoto]] = {}
    for photo in photos:
        groups.setdefault(photo.label, []).append(photo)
    kept = []
    for group in groups.values():
        n = min(MOST_ANCHORS, len(group))
        kept += [group[i * len(group) // n] for i in range(n)]
    return kept
