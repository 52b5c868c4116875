"""Photos that a knowledge base has seen: its anchors, and pictures so near to them that they measure nothing."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from data.arrays import FloatArray
from data.errors import BadImage
from data.images.decode import read_image

HASH_BITS: Final = 4
"""Two photos whose 64-bit perceptual hashes differ in at most this many bits count as the same picture."""
NEAR_COSINE: Final = 0.9995
"""So do two whose vectors have at least this cosine in the visual space."""

_BLOCK: Final = 512  # photos in one product
_ANCHOR_SIDE: Final = 128  # pixels of an anchor's shorter side: the hash looks at 32
_THREADS: Final = 2

Hashes = NDArray[np.uint64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaks:
    """For each photo whether an anchor is it or nearly it, by each of three ways of looking."""

    same_file: Flags
    near_hash: Flags
    near_vector: Flags

    @property
    def any(self) -> Flags:
        """Whether one of the three says so."""
        found: Flags = self.same_file | self.near_hash | self.near_vector
        return found

    def __or__(self, other: Leaks) -> Leaks:
        """Return what either of two searches found, for the same photos."""
        return Leaks(
            same_file=self.same_file | other.same_file,
            near_hash=self.near_hash | other.near_hash,
            near_vector=self.near_vector | other.near_vector,
        )


def picture_hash(image: Image.Image) -> int:
    """Return 64 bits that survive scaling and compression: which low cosine coefficients are above the median.

    They do not survive mirroring, nor cutting by more than a percent or two.
    """
    grey = np.asarray(image.convert("L").resize((32, 32), Image.Resampling.BICUBIC), dtype=np.float64)
    cosines = np.cos(np.pi / 32 * (np.arange(32)[None, :] + 0.5) * np.arange(8)[:, None])
    coefficients = cosines @ grey @ cosines.T
    bits = (coefficients > np.median(coefficients.ravel()[1:])).ravel()
    return int(np.packbits(bits).view(">u8")[0])


def near_duplicates(hashes: Hashes, others: Hashes) -> Flags:
    """Return for each of `hashes` whether one of `others` is within `HASH_BITS` bits."""
    return np.array([(np.bitwise_count(others ^ value) <= HASH_BITS).any() for value in hashes], dtype=np.bool_)


def hash_pictures(paths: Iterable[Path]) -> Hashes:
    """Return the perceptual hash of each picture that can be read."""
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="hash") as pool:
        found = [value for value in pool.map(_hash_or_none, paths) if value is not None]
    return np.array(found, dtype=np.uint64)


def near_vectors(vectors: FloatArray, others: FloatArray) -> Flags:
    """Return for each row whether one of `others` has a cosine of at least `NEAR_COSINE`; both are unit rows."""
    found = np.zeros(len(vectors), dtype=np.bool_)
    if len(others):
        for first in range(0, len(vectors), _BLOCK):
            found[first : first + _BLOCK] = (vectors[first : first + _BLOCK] @ others.T).max(axis=1) >= NEAR_COSINE
    return found


def _hash_or_none(path: Path) -> int | None:
    try:
        return picture_hash(read_image(path, min_side=_ANCHOR_SIDE))
    except BadImage:  # its vector still speaks for it
        return None
