"""Photos encoded once and ranked several times; unreadable photos are noted and left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from PIL.Image import Image

from data.arrays import FloatArray, IntArray
from data.contracts import Encoders
from data.files import sha256_hex
from recognize.encode import encode_pictures
from recognize.evaluation.picture_hash import Hashes, picture_hash
from recognize.photos import Decoded, decode_in_batches
from recognize.scoring.stages import Queries

_BATCH: Final = 32
_DECODERS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedPhotos:
    """The readable photos of a list: row i of each array is the photo at `positions[i]` of that list."""

    positions: IntArray
    queries: Queries
    hashes: Hashes
    """Perceptual hashes."""
    digests: tuple[str, ...]
    """SHA-256 of the files."""
    errors: dict[int, str]
    """Position of an unreadable photo -> what is wrong with it."""

    def __len__(self) -> int:
        return len(self.positions)

    def only(self, kept: Sequence[bool] | np.ndarray) -> EncodedPhotos:
        """Return the photos where `kept` is true."""
        rows = np.flatnonzero(kept)
        return EncodedPhotos(
            positions=self.positions[rows],
            queries=Queries(
                text_image=tuple(vectors[rows] for vectors in self.queries.text_image),
                visual=self.queries.visual[rows],
            ),
            hashes=self.hashes[rows],
            digests=tuple(self.digests[row] for row in rows),
            errors=self.errors,
        )


def encode_photos(
    encoders: Encoders, paths: Iterable[Path], *, on_progress: Callable[[int], None] = lambda _: None
) -> EncodedPhotos:
    """Return the vectors and hashes of photos; decoding and encoding overlap.

    Args:
        encoders: the encoders of the knowledge base that the photos are compared with.
        paths: the files.
        on_progress: called with the number of photos done so far.
    """
    files: list[Path] = []

    def listed() -> Iterable[Path]:
        for path in paths:
            files.append(path)
            yield path

    done: list[Queries] = []
    positions: list[int] = []
    hashes: list[int] = []
    digests: list[str] = []
    errors: dict[int, str] = {}
    waiting: Future[Queries] | None = None
    n = 0
    with ThreadPoolExecutor(1, thread_name_prefix="encode") as pool:
        for batch, _ in decode_in_batches(listed(), batch_size=_BATCH, n_threads=_DECODERS):
            pictures = _pictures(batch)
            coming = pool.submit(encode_pictures, encoders, pictures) if pictures else None
            for at, decoded in enumerate(batch, start=n):
                if decoded.photo is None:
                    errors[at] = str(decoded.error)
                    continue
                positions.append(at)
                hashes.append(picture_hash(decoded.photo.image))
                digests.append(sha256_hex(files[at].read_bytes()))
            if waiting is not None:
                done.append(waiting.result())
            waiting = coming
            n += len(batch)
            on_progress(n)
        if waiting is not None:
            done.append(waiting.result())
    return EncodedPhotos(
        positions=np.array(positions, dtype=np.intp),
        queries=_joined(encoders, done),
        hashes=np.array(hashes, dtype=np.uint64),
        digests=tuple(digests),
        errors=errors,
    )


def _pictures(batch: Sequence[Decoded]) -> list[Image]:
    return [decoded.photo.image for decoded in batch if decoded.photo is not None]


def _joined(encoders: Encoders, done: Sequence[Queries]) -> Queries:
    def join(rows: list[FloatArray], dim: int) -> FloatArray:
        return np.concatenate(rows) if rows else np.empty((0, dim), dtype=np.float32)

    return Queries(
        text_image=tuple(
            join([queries.text_image[i] for queries in done], encoder.dim)
            for i, encoder in enumerate(encoders.text_image)
        ),
        visual=join([queries.visual for queries in done], encoders.visual.dim),
    )
