"""Perceptual hashes of photos and near-duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from data.errors import BadImage
from data.images.decode import read_image

HASH_BITS: Final = 4
"""Maximum number of differing bits, of 64, between perceptual hashes of the same picture."""

_SHORTER_SIDE: Final = 128  # pixels to decode; the hash itself reads 32
_THREADS: Final = 2

Hashes = NDArray[np.uint64]
Flags = NDArray[np.bool_]


def picture_hash(image: Image.Image) -> int:
    """Return the 64-bit perceptual hash: whether each low cosine coefficient is above the median.

    It survives scaling and compression, but not mirroring, or cropping by more than two percent.
    """
    grey = np.asarray(image.convert("L").resize((32, 32), Image.Resampling.BICUBIC), dtype=np.float64)
    cosines = np.cos(np.pi / 32 * (np.arange(32)[None, :] + 0.5) * np.arange(8)[:, None])
    coefficients = cosines @ grey @ cosines.T
    bits = (coefficients > np.median(coefficients.ravel()[1:])).ravel()
    return int(np.packbits(bits).view(">u8")[0])


def near_duplicates(hashes: Hashes, others: Hashes) -> Flags:
    """Return for each of `hashes` whether one of `others` is within `HASH_BITS` bits."""
    return np.array([(np.bitwise_count(others ^ value) <= HASH_BITS).any() for value in hashes], dtype=np.bool_)


def iter_hashes(paths: Iterable[Path]) -> Iterator[int | None]:
    """Yield the perceptual hash of each picture, None for one that cannot be read."""
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="hash") as pool:
        yield from pool.map(_hash_or_none, paths)


def _hash_or_none(path: Path) -> int | None:
    try:
        return picture_hash(read_image(path, min_side=_SHORTER_SIDE))
    except BadImage:  # its vector is compared anyway
        return None
