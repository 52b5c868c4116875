"""Encoding of photos in batches, while the caller scores earlier ones."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from PIL.Image import Image

from data.arrays import FloatArray
from data.contracts import Encoders
from recognize.photos import Decoded, ImageSource, decode_in_batches
from recognize.scoring.stages import Queries


def encode_pictures(encoders: Encoders, pictures: Sequence[Image]) -> Queries:
    """Return the vectors of pictures in all spaces; an encoder with two roles runs once."""
    by_space: dict[str, FloatArray] = {}
    for encoder in (*encoders.text_image, encoders.visual):
        if encoder.space not in by_space:
            by_space[encoder.space] = encoder.encode_images(pictures)
    return Queries(
        text_image=tuple(by_space[encoder.space] for encoder in encoders.text_image),
        visual=by_space[encoders.visual.space],
    )


def encode_in_batches(
    encoders: Encoders, images: Iterable[ImageSource], *, batch_size: int = 32
) -> Iterator[tuple[list[Decoded], Queries, float]]:
    """Yield batches of photos with their vectors and the seconds spent encoding, in the order of `images`.

    The next two batches are encoded meanwhile. Unreadable photos are in the batch but have no row in the vectors.
    `batch_size` counts readable photos; `images` may be endless.
    """

    def encode(pictures: Sequence[Image]) -> tuple[Queries, float]:
        start = time.perf_counter()
        queries = encode_pictures(encoders, pictures)
        return queries, time.perf_counter() - start

    waiting: deque[tuple[list[Decoded], Future[tuple[Queries, float]]]] = deque()
    # Two at a time: at the end of a batch there are fewer pictures left than cores.
    with ThreadPoolExecutor(2, thread_name_prefix="encode") as pool:
        for batch in decode_in_batches(images, batch_size=batch_size):
            pictures = [decoded.photo.image for decoded in batch if decoded.photo is not None]
            waiting.append((batch, pool.submit(encode, pictures)))
            if len(waiting) > 2:
                done, coming = waiting.popleft()
                yield done, *coming.result()
        while waiting:
            done, coming = waiting.popleft()
            yield done, *coming.result()
