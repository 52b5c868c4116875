"""Vectors of photos in files: read by threads ahead of the encoder, in batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

from PIL.Image import Image

from data.arrays import FloatArray
from data.batches import grouped
from data.contracts import ImageEncoder
from data.errors import BadImage
from data.images.decode import ENCODER_SIDE, read_image

N_READERS: Final = 2  # threads that read photos
BATCH_SIZE: Final = 32
READING: Final = f"whole-{ENCODER_SIDE}"
"""How photos are read before they are encoded; part of the key of stored vectors."""


def encode_photos(
    encoder: ImageEncoder, paths: Iterable[Path], *, batch_size: int = BATCH_SIZE
) -> Iterator[list[FloatArray | BadImage]]:
    """Yield the vector of each photo, or the reason why it cannot be read, in batches and in the order of the paths.

    Photos are encoded whole. The next batch is read meanwhile, so that two batches of pictures are in memory.
    """
    waiting: deque[list[Future[Image | BadImage]]] = deque()
    pool = ThreadPoolExecutor(N_READERS, thread_name_prefix="read")
    try:
        for batch in grouped(paths, batch_size):
            waiting.append([pool.submit(_read, path) for path in batch])
            if len(waiting) > 1:
                yield _encode(encoder, waiting.popleft())
        while waiting:
            yield _encode(encoder, waiting.popleft())
    finally:  # also when the caller stops early
        pool.shutdown(wait=True, cancel_futures=True)


def _encode(encoder: ImageEncoder, batch: Iterable[Future[Image | BadImage]]) -> list[FloatArray | BadImage]:
    found = [future.result() for future in batch]
    pictures = [picture for picture in found if not isinstance(picture, BadImage)]
    vectors = iter(encoder.encode_images(pictures) if pictures else ())
    return [each if isinstance(each, BadImage) else next(vectors) for each in found]


def _read(path: Path) -> Image | BadImage:
    try:
        return read_image(path, min_side=ENCODER_SIDE)
    except BadImage as error:
        return error
