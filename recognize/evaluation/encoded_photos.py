"""Photos encoded once for several rankings; unreadable photos are listed and skipped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from data.arrays import IntArray
from data.contracts import Encoders
from data.files import sha256_hex
from recognize.evaluation.picture_hash import Hashes, picture_hash
from recognize.photos import encode_in_batches, encode_pictures
from recognize.scoring.stages import Queries


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedPhotos:
    """The readable photos of a list; row i of each array is the photo at `positions[i]` of the list."""

    positions: IntArray
    queries: Queries
    hashes: Hashes
    """Perceptual hashes."""
    digests: tuple[str, ...]
    """SHA-256 of the files."""
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
            digests=tuple(self.digests[row] for row in rows),
            errors=self.errors,
        )


def encode_photos(
    encoders: Encoders, paths: Sequence[Path], *, on_progress: Callable[[int], None] = lambda _: None
) -> EncodedPhotos:
    """Return the vectors and hashes of photo files; `on_progress` gets the number of photos done so far."""
    done = [encode_pictures(encoders, [])]
    positions: list[int] = []
    hashes: list[int] = []
    digests: list[str] = []
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
            digests.append(sha256_hex(paths[at].read_bytes()))
        n += len(batch)
        on_progress(n)
    return EncodedPhotos(
        positions=np.array(positions, dtype=np.intp),
        queries=Queries(
            text_image=tuple(map(np.concatenate, zip(*(queries.text_image for queries in done), strict=True))),
            visual=np.concatenate([queries.visual for queries in done]),
        ),
        hashes=np.array(hashes, dtype=np.uint64),
        digests=tuple(digests),
        errors=errors,
    )
