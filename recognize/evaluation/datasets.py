"""Labelled datasets: photos of a split, and anchor photos."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from data.errors import BadInput, NothingReadable, UsageError

if TYPE_CHECKING:
    from data.benchmarks.species import LabelledPhoto

MOST_ANCHORS: Final = 3  # a species: VR-RAG, section 5.2
ANCHOR_SETS = ("kb", "train", "wiki")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """The photos of a split, and photos to use as anchors."""

    kind: str
    photos: tuple[LabelledPhoto, ...]
    anchors: Mapping[str, tuple[LabelledPhoto, ...]] = field(default_factory=dict)
    """Anchor set -> its photos."""
    covered: tuple[str, ...] = ()
    """Labels of all species that the anchor sets cover."""


def read_dataset(
    path: Path, *, split: str | None, photos: Path | None, train: Path | None, anchors: Sequence[str]
) -> Dataset:
    """Return a dataset.

    Args:
        path: a folder with a folder a species, CUB-200-2011, NABirds, Birdsnap, LaSBiRD, a list of iNaturalist 2021 or
            of VR-RAG's code, or a collection with `photos.csv` and `descriptions.jsonl`.
        split: `train`, `test` or `all`; default: `test` if it exists.
        photos: base folder of the file names in a list.
        train: another dataset, for the anchors `train`: its training photos, or all if it has no split.
        anchors: anchor sets to read.

    Raises:
        BadInput: if it cannot be read.
        NothingReadable: if the split has no photo.
        UsageError: if it has no such anchors.
    """
    if all((path / name).is_file() for name in ("photos.csv", "descriptions.jsonl")):
        kind, found, offered = _collection(path)
    else:
        kind, found = _photos(path, photos)
        training = [photo for photo in found if photo.split == "train"]
        if train is not None:
            _, others = _photos(train, photos)
            training = [photo for photo in others if photo.split == "train"] or others
        offered = {"train": _spread(training)} if training else {}
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


def _photos(path: Path, root: Path | None) -> tuple[str, list[LabelledPhoto]]:
    from data.benchmarks.birdsnap import is_birdsnap, read_birdsnap
    from data.benchmarks.indian_birds import is_indian_birds, read_indian_birds
    from data.benchmarks.lasbird import is_lasbird, read_lasbird
    from data.benchmarks.species import read_class_folders, read_inaturalist
    from data.benchmarks.visipedia import read_cub, read_nabirds
    from data.benchmarks.vr_rag import read_test_list

    if path.suffix == ".json":
        return "iNaturalist", read_inaturalist(path, root=root)
    if path.suffix == ".pkl":
        return "VR-RAG list", read_test_list(path, root=root)
    if is_birdsnap(path):
        return "Birdsnap", read_birdsnap(path)
    if (path / "hierarchy.txt").is_file():
        return "NABirds", read_nabirds(path)
    if (path / "images.txt").is_file():
        return "CUB-200-2011", read_cub(path)
    if is_lasbird(path):
        return "LaSBiRD", read_lasbird(path)
    if is_indian_birds(path):
        return "Indian Birds", read_indian_birds(path)
    if path.is_dir():
        return "class folders", read_class_folders(path)
    raise BadInput(f"{path} is not a dataset. Expected a folder, the .json list of iNaturalist or a .pkl of VR-RAG.")


def _collection(folder: Path) -> tuple[str, list[LabelledPhoto], dict[str, list[LabelledPhoto]]]:
    """Return the photos of a collection by the protocol of the starter pair, and its two sets of anchors.

    `test` is the half of the photos that the starter pair was never trained on; all others are `train`.
    """
    from data.benchmarks.species import LabelledPhoto
    from recognize.evaluation.collection import read_collection

    collection = read_collection(folder)
    hidden = frozenset(collection.hidden.tolist())
    photos = [
        LabelledPhoto(path=folder / photo.path, label=photo.species, split="test" if i in hidden else "train")
        for i, photo in enumerate(collection.photos)
    ]
    sets = {"train": collection.anchors("three"), "wiki": collection.anchors("wiki")}
    return "collection", photos, {name: [photos[i] for i in rows] for name, rows in sets.items()}


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
