"""Photos encoded once for several rankings, and perceptual hashes, by which copies are found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from data.arrays import IntArray
from data.contracts import Encoders, KnowledgeStore, TrainedOnPhotos
from data.errors import BadImage
from data.images.decode import read_image
from recognize.photos import encode_in_batches, encode_pictures
from recognize.scoring.knowledge import Queries

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


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedPhotos:
    """The readable photos of a list; row i of each array is the photo at `positions[i]` of the list."""

    positions: IntArray
    queries: Queries
    hashes: Hashes
    """Perceptual hashes."""
    errors: dict[int, str]
    """Position of an unreadable photo -> reason."""

    def __len__(self) -> int:
        return len(self.positions)

    def only(self, kept: Sequence[bool] | np.ndarray) -> EncodedPhotos:
        """Return the photos where `kept` is true."""
        rows = np.flatnonzero(kept)
        return EncodedPhotos(
            positions=self.positions[rows],
            queries=self.queries[rows],
            hashes=self.hashes[rows],
            errors=self.errors,
        )


def encode_photos(
    encoders: Encoders, paths: Sequence[Path], *, on_progress: Callable[[int], None] = lambda _: None
) -> EncodedPhotos:
    """Return the vectors and hashes of photo files; `on_progress` gets the number of photos done so far."""
    done = [encode_pictures(encoders, [])]
    positions: list[int] = []
    hashes: list[int] = []
    errors: dict[int, str] = {}
    n = 0
    for batch, queries, _ in encode_in_batches(encoders, paths, one_bird=True):
        done.append(queries)
        for at, decoded in enumerate(batch, start=n):
            if decoded.photo is None:
                errors[at] = str(decoded.error)
                continue
            positions.append(at)
            hashes.append(picture_hash(decoded.photo.image))
        n += len(batch)
        on_progress(n)
    return EncodedPhotos(
        positions=np.array(positions, dtype=np.intp),
        queries=Queries(
            text_image=tuple(map(np.concatenate, zip(*(queries.text_image for queries in done), strict=True))),
            visual=np.concatenate([queries.visual for queries in done]),
        ),
        hashes=np.array(hashes, dtype=np.uint64),
        errors=errors,
    )


NEAR_COSINE: Final = 0.9995
"""Two photos with at least this cosine in the visual space count as the same picture."""


def reference_hashes(store: KnowledgeStore, anchor_path: Callable[[str], Path]) -> Hashes:
    """Return the perceptual hashes of the reference photos with a file; `anchor_path` gives it by its SHA-256."""
    entries = store.species(store.taxon_ids)
    digests = sorted({anchor.sha256 for entry in entries for anchor in entry.anchors if anchor.sha256 is not None})
    return np.array([value for value in iter_hashes(map(anchor_path, digests)) if value is not None], dtype=np.uint64)


def training_hashes(encoders: Encoders) -> Hashes:
    """Return the perceptual hashes of the training photos of encoders, as far as they record them."""
    every = (*encoders.text_image, encoders.visual)
    known = [encoder.photo_hashes() for encoder in every if isinstance(encoder, TrainedOnPhotos)]
    return np.concatenate([np.empty(0, dtype=np.uint64), *known])
