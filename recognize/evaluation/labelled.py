"""Photos of labelled datasets that can be measured: reading, selection, encoding and leaks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np

from data.contracts import Encoders, KnowledgeStore
from data.errors import CONVERT_HINT, BadInput, NothingReadable, UsageError
from data.labelled_photos import LabelledPhoto, read_class_folders, read_photo_table
from data.records import Taxon
from recognize.evaluation.comparison import KB_ANCHORS, WITHOUT_ANCHORS, AnchorSet, Setup
from recognize.evaluation.encoded_photos import (
    EncodedPhotos,
    encode_photos,
    find_leaks,
    iter_hashes,
    near_duplicates,
    training_hashes,
)
from recognize.settings import Vocabulary

MOST_ANCHORS: Final = 3  # a species: VR-RAG, section 5.2
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


ProgressMeter = Callable[[str, int], AbstractContextManager[Callable[[int, int], None]]]
"""(noun, total) -> context that gives a function of (done, failed)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedPhotos:
    """Photos of a dataset with species of the knowledge base, and counts of the others."""

    kind: str
    """Kind of the dataset."""
    n_photos: int
    """Photos of the split."""
    photos: tuple[LabelledPhoto, ...]
    labels: tuple[str, ...]
    """Taxon id of each photo."""
    n_unmatched: int
    """Photos with a label that matches no species."""
    absent: tuple[str, ...]
    """Species of the labels outside the knowledge base."""
    n_absent: int
    anchors: Mapping[str, tuple[tuple[LabelledPhoto, str], ...]]
    """Name of an anchor set -> its photos, each with its taxon id."""
    covered: tuple[str, ...]
    """Taxon ids of the species that the anchor sets cover."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPhotos:
    """Photos that are readable and do not leak, photos to use as anchors, and counts of the others."""

    photos: EncodedPhotos
    labels: tuple[str, ...]
    """Taxon id of each."""
    paths: tuple[Path, ...]
    anchor_sets: Mapping[str, AnchorSet]
    unreadable: Mapping[str, str]
    """Path -> reason."""
    n_leaks: int
    leaks: Mapping[str, int]
    """Test -> photos that are anchors, or nearly; several tests may find the same photo."""
    n_trained: int
    """Photos that the encoders were trained on, or nearly, as far as the encoders record it."""


def select_photos(
    dataset: Dataset, taxa: Mapping[str, Taxon], held: Collection[str], *, limit: int | None = None
) -> SelectedPhotos:
    """Return the photos of a dataset with species of the knowledge base."""
    matched = [(photo, taxa[photo.label]) for photo in dataset.photos if photo.label in taxa]
    kept = [(photo, taxon.taxon_id) for photo, taxon in matched if taxon.taxon_id in held]
    absent = {taxon.scientific_name for _, taxon in matched if taxon.taxon_id not in held}
    n_absent = len(matched) - len(kept)
    if limit is not None and limit < len(kept):
        kept = [kept[i * len(kept) // limit] for i in range(limit)]
    return SelectedPhotos(
        kind=dataset.kind,
        n_photos=len(dataset.photos),
        photos=tuple(photo for photo, _ in kept),
        labels=tuple(label for _, label in kept),
        n_unmatched=len(dataset.photos) - len(matched),
        absent=tuple(sorted(absent)),
        n_absent=n_absent,
        anchors={
            name: tuple((photo, taxa[photo.label].taxon_id) for photo in photos if photo.label in taxa)
            for name, photos in dataset.anchors.items()
        },
        covered=tuple(dict.fromkeys(taxa[label].taxon_id for label in dataset.covered if label in taxa)),
    )


def read_photos(
    store: KnowledgeStore,
    encoders: Encoders,
    selected: SelectedPhotos,
    anchors: Sequence[str] = (KB_ANCHORS,),
    *,
    keep_leaks: bool = False,
    anchor_path: Callable[[str], Path],
    progress: ProgressMeter,
) -> MeasuredPhotos:
    """Return the encoded photos that are readable and do not leak.

    `anchor_path` gives the file of a reference photo by its SHA-256.

    Raises:
        NothingReadable: if no photo is left.
    """
    store.check_space(encoders.spaces)

    def encode(noun: str, photos: Sequence[LabelledPhoto]) -> EncodedPhotos:
        with progress(noun, len(photos)) as show:
            return encode_photos(encoders, [photo.path for photo in photos], on_progress=lambda n: show(n, 0))

    photos = encode("photos", selected.photos)
    sets: dict[str, AnchorSet] = {}
    for name in anchors:
        if name != KB_ANCHORS:
            given = selected.anchors[name]
            read = encode(f"anchors {name}", [photo for photo, _ in given])
            labels = tuple(given[at][1] for at in read.positions)
            sets[name] = AnchorSet(covered=selected.covered, photos=read, labels=labels)
    digests = sorted({a.sha256 for e in store.species(store.taxon_ids) for a in e.anchors if a.sha256 is not None})
    found = (value for value in iter_hashes(map(anchor_path, digests)) if value is not None)
    hashes = np.array([*found], dtype=np.uint64)
    leaks = find_leaks(photos, store.anchor_vectors(encoders.visual.space).vectors, digests=digests, hashes=hashes)
    for other in (anchor_set.photos for anchor_set in sets.values()):
        leaks |= find_leaks(photos, other.queries.visual, digests=other.digests, hashes=other.hashes)
    trained = near_duplicates(photos.hashes, training_hashes(encoders))
    measured = photos if keep_leaks else photos.only(~(leaks.any | trained))
    if not len(measured):
        raise NothingReadable(
            f"None of {len(selected.photos):,} photos is left: {len(photos.errors):,} unreadable, "
            f"{int(leaks.any.sum()):,} equal or nearly equal to reference photos, {int(trained.sum()):,} among the "
            "training photos of the encoders.",
            hint="Use --set keep_leaks=true to measure them too." if leaks.any.any() or trained.any() else None,
        )
    return MeasuredPhotos(
        photos=measured,
        labels=tuple(selected.labels[at] for at in measured.positions),
        paths=tuple(selected.photos[at].path for at in measured.positions),
        anchor_sets=sets,
        unreadable={str(selected.photos[at].path): why for at, why in photos.errors.items()},
        n_leaks=int(leaks.any.sum()),
        leaks={
            "same file": int(leaks.same_file.sum()),
            "near by perceptual hash": int(leaks.near_hash.sum()),
            "near by embedding": int(leaks.near_vector.sum()),
        },
        n_trained=int(trained.sum()),
    )


def setups_of(presets: Sequence[str], vocabularies: Sequence[Vocabulary], anchors: Sequence[str]) -> list[Setup]:
    """Return the setups; presets without anchors have one for all anchor sets."""
    return [
        Setup(preset=preset, vocabulary=vocabulary, anchors=name)
        for vocabulary, name, preset in product(vocabularies, anchors, presets)
        if preset not in WITHOUT_ANCHORS or name == anchors[0]
    ]
