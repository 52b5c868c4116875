"""Decoding and encoding of photos on other threads, ahead of the caller."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from PIL.Image import Image

from data.arrays import FloatArray
from data.contracts import Encoders
from data.errors import BadImage
from data.images.decode import ENCODER_SIDE, Photo, read_photo, to_rgb
from data.images.views import Views, boxes_of, encode_views, scaled, views_of
from data.records import Box, Detection, EncounterPhoto
from recognize.detect.no_bird import is_flat
from recognize.scoring.stages import Queries

ImageSource = str | Path | bytes | Image | Photo

_N_THREADS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """A decoded photo, or an error."""

    name: str
    photo: Photo | None = None
    error: str | None = None
    seconds: float = 0.0
    photos: tuple[EncounterPhoto, ...] = ()
    """Photos of an encounter; `photo` is the first readable one."""
    detections: tuple[Detection, ...] = ()
    """Animals and things in the photo, in pixels of the decoded picture."""
    is_flat: bool = False
    """Whether no bird was found and the picture has no detail."""
    box: Box | None = None
    """The bird, in pixels of the upright file; None where none was found or sought."""
    bird: int = 1
    """Number of the bird in the photo."""
    n_birds: int = 1
    """Birds of the photo; 1 also where none was found."""


def decode_in_batches(sources: Iterable[ImageSource], *, batch_size: int) -> Iterator[list[Decoded]]:
    """Yield batches of `batch_size` readable photos, in the order of `sources`; the last one may be smaller.

    Unreadable photos do not count, but a batch ends after `4 * batch_size` photos. Two batches are decoded ahead.

    Raises:
        TypeError: for one photo instead of several: letters of a path or numbers of bytes are no photos.
    """
    check_several(sources)
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


def check_several(sources: object) -> None:
    """Raise `TypeError` for one photo instead of several."""
    if isinstance(sources, str | bytes | Path | Image | Photo):
        raise TypeError(f"Expected a list of photos, got one {type(sources).__name__}; write [photo].")


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
    raise BadImage(f"Expected a path, bytes or a picture, got {type(source).__name__}")


def _name(source: ImageSource, number: int) -> str:
    if isinstance(source, str | Path):
        return str(source)
    return str(getattr(source, "filename", "") or f"picture {number}")


def encode_pictures(encoders: Encoders, pictures: Sequence[Image]) -> Queries:
    """Return the vectors of whole pictures in all spaces."""
    return encode_all(encoders, [(picture,) for picture in pictures])


def encode_all(encoders: Encoders, birds: Sequence[Views]) -> Queries:
    """Return the vectors of birds in all spaces; an encoder with two roles runs once."""
    by_space: dict[str, FloatArray] = {}
    for encoder in (*encoders.text_image, encoders.visual):
        if encoder.space not in by_space:
            by_space[encoder.space] = encode_views(encoder, birds)
    return Queries(
        text_image=tuple(by_space[encoder.space] for encoder in encoders.text_image),
        visual=by_space[encoders.visual.space],
    )


def encode_in_batches(
    encoders: Encoders, images: Iterable[ImageSource], *, batch_size: int = 32, one_bird: bool = False
) -> Iterator[tuple[list[Decoded], Queries, float]]:
    """Yield batches of birds with their vectors and the seconds spent on them, in the order of `images`.

    A photo is in its batch once for each of its birds, or once with `one_bird` or where no bird was found. The next two
    batches are encoded meanwhile. Unreadable photos are in the batch but have no row in the vectors. `batch_size`
    counts readable photos; `images` may be endless.
    """

    def encode(batch: Sequence[Decoded]) -> tuple[list[Decoded], Queries, float]:
        start = time.perf_counter()
        birds, views = _find_birds(encoders, batch, one_bird=one_bird)
        queries = encode_all(encoders, views)
        return birds, queries, time.perf_counter() - start

    waiting: deque[Future[tuple[list[Decoded], Queries, float]]] = deque()
    # Two at a time: at the end of a batch there are fewer pictures left than cores.
    with ThreadPoolExecutor(2, thread_name_prefix="encode") as pool:
        for batch in decode_in_batches(images, batch_size=batch_size):
            waiting.append(pool.submit(encode, batch))
            if len(waiting) > 2:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _find_birds(encoders: Encoders, batch: Sequence[Decoded], *, one_bird: bool) -> tuple[list[Decoded], list[Views]]:
    """Return each photo of a batch once for each of its birds, and the views of the birds of readable photos."""
    pictures = [decoded.photo.image for decoded in batch if decoded.photo is not None]
    seer = encoders.detector or encoders.observer
    detected = iter([()] * len(pictures) if seer is None else seer.detect(pictures))
    birds: list[Decoded] = []
    views: list[Views] = []
    for decoded in batch:
        if decoded.photo is None:
            birds.append(decoded)
            continue
        detections = next(detected)
        boxes = [] if encoders.detector is None else boxes_of(detections)[: 1 if one_bird else None]
        views += views_of(decoded.photo.image, boxes)
        without_detail = not boxes and is_flat(decoded.photo.image)
        found = replace(decoded, detections=detections, n_birds=max(1, len(boxes)), is_flat=without_detail)
        birds += [
            replace(found, box=scaled(box, decoded.photo.scale), bird=number) for number, box in enumerate(boxes, 1)
        ] or [found]
    return birds, views
