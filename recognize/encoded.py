"""Photos encoded once, to be ranked in many ways; a photo that cannot be read is noted and left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from PIL.Image import Image

from data.arrays import FloatArray, IntArray
from data.contracts import Encoders, TrainedOnPhotos
from data.files import sha256_hex
from recognize.leaks import Flags, Hashes, Leaks, hash_pictures, near_duplicates, near_vectors, picture_hash
from recognize.photos import Decoded, decode_in_batches
from recognize.scoring.stages import Queries

_BATCH: Final = 32
_DECODERS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedPhotos:
    """The photos that could be read: row i of each array is the photo that stood at `positions[i]`."""

    positions: IntArray
    queries: Queries
    hashes: Hashes
    """Their perceptual hashes."""
    digests: tuple[str, ...]
    """The SHA-256 of their files."""
    errors: dict[int, str]
    """Where the others stood, and what is wrong with them."""

    def __len__(self) -> int:
        return len(self.positions)

    def only(self, kept: Sequence[bool] | np.ndarray) -> EncodedPhotos:
        """Return those of the photos that are true in `kept`."""
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


def encode_pictures(encoders: Encoders, pictures: Sequence[Image]) -> Queries:
    """Return the vectors of some pictures in all spaces; an encoder that stands there twice is asked once."""
    by_space: dict[str, FloatArray] = {}
    for encoder in (*encoders.text_image, encoders.visual):
        if encoder.space not in by_space:  # the visual encoder may be one of the others
            by_space[encoder.space] = encoder.encode_images(pictures)
    return Queries(
        text_image=tuple(by_space[encoder.space] for encoder in encoders.text_image),
        visual=by_space[encoders.visual.space],
    )


def encode_photos(
    encoders: Encoders, paths: Iterable[Path], *, on_progress: Callable[[int], None] = lambda _: None
) -> EncodedPhotos:
    """Return the photos as vectors and fingerprints; pictures are decoded while others are encoded.

    Args:
        encoders: those of the knowledge base that they will be compared with.
        paths: the files.
        on_progress: is told how many are through.
    """
    files: list[Path] = []

    def noted() -> Iterable[Path]:
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
        for batch, _ in decode_in_batches(noted(), batch_size=_BATCH, n_threads=_DECODERS):
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


def find_leaks(
    photos: EncodedPhotos, anchors: FloatArray, *, digests: Iterable[str] = (), pictures: Iterable[Path] = ()
) -> Leaks:
    """Return which photos are anchors of a knowledge base, or nearly.

    Args:
        photos: those to be measured.
        anchors: the vectors of all anchors in the visual space.
        digests: the SHA-256 of the anchors' files.
        pictures: the anchors' files, for anchors that have one.
    """
    known = frozenset(digests)
    return Leaks(
        same_file=np.array([digest in known for digest in photos.digests], dtype=np.bool_),
        near_hash=near_duplicates(photos.hashes, hash_pictures(pictures)),
        near_vector=near_vectors(photos.queries.visual, anchors),
    )


def find_leaks_among(photos: EncodedPhotos, anchors: EncodedPhotos) -> Leaks:
    """Return which photos are among some others that serve as anchors, or nearly."""
    known = frozenset(anchors.digests)
    return Leaks(
        same_file=np.array([digest in known for digest in photos.digests], dtype=np.bool_),
        near_hash=near_duplicates(photos.hashes, anchors.hashes),
        near_vector=near_vectors(photos.queries.visual, anchors.queries.visual),
    )


def find_trained(photos: EncodedPhotos, encoders: Encoders) -> Flags:
    """Return which photos the encoders were trained on, or nearly, where these can tell."""
    known = [
        encoder.photo_hashes()
        for encoder in (*encoders.text_image, encoders.visual)
        if isinstance(encoder, TrainedOnPhotos)
    ]
    return near_duplicates(photos.hashes, np.concatenate([np.empty(0, dtype=np.uint64), *known]))


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
