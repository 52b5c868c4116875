"""Decoding of photos on other threads, ahead of the caller."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PIL.Image import Image

from data.errors import BadImage
from data.images.decode import ENCODER_SIDE, Photo, read_photo, to_rgb

ImageSource = str | Path | bytes | Image | Photo

_N_THREADS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """A decoded photo, or an error."""

    name: str
    photo: Photo | None = None
    error: str | None = None
    seconds: float = 0.0


def decode_in_batches(sources: Iterable[ImageSource], *, batch_size: int) -> Iterator[list[Decoded]]:
    """Yield batches of `batch_size` readable photos, in the order of `sources`; the last one may be smaller.

    Unreadable photos do not count, but a batch ends after `4 * batch_size` photos. Two batches are decoded ahead.
    """
    batch: list[Decoded] = []
    n_readable = 0
    for decoded in _decode(sources, ahead=2 * batch_size):
        batch.append(decoded)
        n_readable += decoded.photo is not None
        if n_readable == batch_size or len(batch) == 4 * batch_size:
            yield batch
            batch, n_readable = [], 0
    if batch:
        yield batch


def _decode(sources: Iterable[ImageSource], *, ahead: int) -> Iterator[Decoded]:
    queue: deque[Future[Decoded]] = deque()
    pool = ThreadPoolExecutor(_N_THREADS, thread_name_prefix="decode")
    try:
        for number, source in enumerate(sources, start=1):
            queue.append(pool.submit(_decode_one, source, number))
            if len(queue) > ahead:
                yield queue.popleft().result()
        while queue:
            yield queue.popleft().result()
    finally:  # also when the caller stops early
        pool.shutdown(wait=True, cancel_futures=True)


def _decode_one(source: ImageSource, number: int) -> Decoded:
    start = time.perf_counter()
    name = _name(source, number)
    try:
        photo = _read(source)
    except BadImage as error:
        return Decoded(name=name, error=str(error), seconds=time.perf_counter() - start)
    return Decoded(name=name, photo=photo, seconds=time.perf_counter() - start)


def _read(source: ImageSource) -> Photo:
    if isinstance(source, Photo):
        return source
    if isinstance(source, Image):
        return Photo(image=to_rgb(source))
    if isinstance(source, str | Path | bytes):
        return read_photo(source, min_side=ENCODER_SIDE)
    raise BadImage(f"expected a path, bytes or a picture, got {type(source).__name__}")


def _name(source: ImageSource, number: int) -> str:
    if isinstance(source, str | Path):
        return str(source)
    return str(getattr(source, "filename", "") or f"picture {number}")
