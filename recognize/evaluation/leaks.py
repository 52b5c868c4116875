"""Leaks: evaluation photos that are anchors of the knowledge base or training photos of its encoders."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from data.arrays import FloatArray
from data.contracts import Encoders, TrainedOnPhotos
from recognize.evaluation.encoded_photos import EncodedPhotos
from recognize.evaluation.picture_hash import Flags, Hashes, near_duplicates

NEAR_COSINE: Final = 0.9995
"""Two photos with at least this cosine in the visual space count as the same picture."""

_BLOCK: Final = 512  # photos in one product


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaks:
    """Photos that are an anchor or nearly one, by three tests; `(n_photos,)` each."""

    same_file: Flags
    near_hash: Flags
    near_vector: Flags

    @property
    def any(self) -> Flags:
        """Whether at least one test is positive."""
        found: Flags = self.same_file | self.near_hash | self.near_vector
        return found

    def __or__(self, other: Leaks) -> Leaks:
        """Return the union of two searches over the same photos."""
        return Leaks(
            same_file=self.same_file | other.same_file,
            near_hash=self.near_hash | other.near_hash,
            near_vector=self.near_vector | other.near_vector,
        )


def find_leaks(
    photos: EncodedPhotos, anchors: FloatArray, *, digests: Iterable[str] = (), hashes: Hashes | None = None
) -> Leaks:
    """Return which photos are anchors, or near-duplicates of one."""
    known = frozenset(digests)
    return Leaks(
        same_file=np.array([digest in known for digest in photos.digests], dtype=np.bool_),
        near_hash=near_duplicates(photos.hashes, np.empty(0, dtype=np.uint64) if hashes is None else hashes),
        near_vector=near_vectors(photos.queries.visual, anchors),
    )


def training_hashes(encoders: Encoders) -> Hashes:
    """Return the perceptual hashes of the training photos of encoders, as far as they record them."""
    every = (*encoders.text_image, encoders.visual)
    known = [encoder.photo_hashes() for encoder in every if isinstance(encoder, TrainedOnPhotos)]
    return np.concatenate([np.empty(0, dtype=np.uint64), *known])


def near_vectors(vectors: FloatArray, others: FloatArray) -> Flags:
    """Return for each row whether one of `others` has a cosine of at least `NEAR_COSINE`; both are unit rows."""
    found = np.zeros(len(vectors), dtype=np.bool_)
    if len(others):
        for first in range(0, len(vectors), _BLOCK):
            found[first : first + _BLOCK] = (vectors[first : first + _BLOCK] @ others.T).max(axis=1) >= NEAR_COSINE
    return found
