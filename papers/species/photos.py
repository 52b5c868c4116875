"""Labelled photos of the tables of VR-RAG, and training photos to use as anchors, both encoded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from cli.common.labelled_photos import read_labelled
from data.contracts import Encoders
from data.errors import NothingReadable
from recognize.encoded_photos import (
    NEAR_COSINE,
    EncodedPhotos,
    encode_photos,
    near_duplicates,
    reference_hashes,
    training_hashes,
)

if TYPE_CHECKING:
    from kb.store.knowledge_base import KnowledgeBase

MOST_ANCHORS: Final = 3  # a species: VR-RAG, section 5.2
ProgressMeter = Callable[[str, int], AbstractContextManager[Callable[[int, int], None]]]
"""(noun, total) -> context that gives a function of (done, failed)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPhotos:
    """Photos that are readable and copies of no photo that encoders or knowledge base know."""

    photos: EncodedPhotos
    labels: tuple[str, ...]
    """Taxon id of each."""
    paths: tuple[Path, ...]
    n_unreadable: int = 0
    training: EncodedPhotos | None = None
    """Training photos, up to `MOST_ANCHORS` of a species, if wanted."""
    training_labels: tuple[str, ...] = ()
    """Taxon id of each."""


def read_photos(
    dataset: Path, store: KnowledgeBase, encoders: Encoders, *, with_training: bool, progress: ProgressMeter
) -> MeasuredPhotos:
    """Return the encoded test photos of species in a knowledge base, without unreadable ones and copies.

    A copy is near a reference photo, a training photo of the dataset that is read too, or a training photo of the
    encoders: by perceptual hash, or by cosine of at least `NEAR_COSINE`.

    Raises:
        BadInput: if the dataset cannot be read.
        NothingReadable: if no photo is left, or there are no training photos.
    """

    def encode(noun: str, split: str) -> tuple[EncodedPhotos, list[str], list[Path]]:
        photos = [(path, taxon.taxon_id) for path, taxon in read_labelled(dataset, store, split=split).photos]
        photos = photos if split == "test" else _spread(photos)
        with progress(noun, len(photos)) as show:
            read = encode_photos(encoders, [path for path, _ in photos], on_progress=lambda n: show(n, 0))
        kept = [photos[at] for at in read.positions]
        return read, [taxon_id for _, taxon_id in kept], [path for path, _ in kept]

    photos, labels, paths = encode("photos", "test")
    training, owners, _ = encode("training photos", "train") if with_training else (None, [], [])
    others = [] if training is None else [training]
    hashes = [reference_hashes(store, store.anchor_path), training_hashes(encoders), *(each.hashes for each in others)]
    is_copy = near_duplicates(photos.hashes, np.concatenate(hashes))
    for known in (store.anchor_vectors(encoders.visual.space).vectors, *(each.queries.visual for each in others)):
        if len(known):
            nearest = [float((known @ vector).max()) for vector in photos.queries.visual]
            is_copy |= np.array(nearest) >= NEAR_COSINE
    if is_copy.all():
        raise NothingReadable(
            f"No photo of {dataset} is left: {len(photos.errors):,} unreadable, {int(is_copy.sum()):,} copies of "
            "reference photos or of training photos."
        )
    left = np.flatnonzero(~is_copy).tolist()
    return MeasuredPhotos(
        photos=photos.only(~is_copy),
        labels=tuple(labels[at] for at in left),
        paths=tuple(paths[at] for at in left),
        n_unreadable=len(photos.errors),
        training=training,
        training_labels=tuple(owners),
    )


def _spread(photos: Sequence[tuple[Path, str]]) -> list[tuple[Path, str]]:
    """Return at most `MOST_ANCHORS` photos of each species, evenly spaced."""
    groups: dict[str, list[tuple[Path, str]]] = {}
    for photo in photos:
        groups.setdefault(photo[1], []).append(photo)
    kept = []
    for group in groups.values():
        n = min(MOST_ANCHORS, len(group))
        kept += [group[i * len(group) // n] for i in range(n)]
    return kept
