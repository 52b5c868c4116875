"""Vectors of photos in files, encoded in batches by threads or an engine."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from PIL.Image import Image

from data.arrays import FloatArray
from data.batches import grouped
from data.contracts import ImageEncoder
from data.engines.contract import Loaders, Recipe, pack, path_on_node, shipped_path, unpack
from data.errors import BadImage, SpaceMismatch
from data.images.decode import ENCODER_SIDE, read_image

N_READERS: Final = 2  # threads that read photos
BATCH_SIZE: Final = 32
READING: Final = f"whole-{ENCODER_SIDE}"
"""How photos are read before they are encoded; part of the key of stored vectors."""


def encode_photos(encoder: ImageEncoder, paths: Iterable[Path]) -> Iterator[list[FloatArray | BadImage]]:
    """Yield the vector of each photo, or the reason why it cannot be read, in batches and in the order of the paths.

    Photos are encoded whole. The next batch is read meanwhile, so that two batches of pictures are in memory.
    """
    waiting: deque[list[Future[Image | BadImage]]] = deque()
    pool = ThreadPoolExecutor(N_READERS, thread_name_prefix="read")
    try:
        for batch in grouped(paths, BATCH_SIZE):
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


Found = list[FloatArray | BadImage]
"""The vector of each photo, or the reason why it cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodeWhole:
    """The task; its results are the batches of `encode_photos`."""

    encoder: ImageEncoder
    shard_size: int = 128

    @property
    def recipe(self) -> Recipe:
        """Name and space of the encoder."""
        return Recipe(
            make="rerank.photo_vectors:task_on_node",
            arguments={"name": self.encoder.name, "space": self.encoder.space},
        )

    def stream(self, items: Iterable[Path]) -> Iterator[Found]:
        """Yield the vectors of photos in batches."""
        return encode_photos(self.encoder, items)

    def ship(self, item: Path) -> list[Any]:
        """Return path, size and modification time of a photo."""
        return shipped_path(item)

    def receive(self, shipped: list[Any]) -> Path:
        """Return the path of a photo."""
        return Path(path_on_node(shipped))

    def is_final(self, results: Sequence[Found]) -> bool:
        """Return whether no file was refused: its size and time stay when it can be read."""
        errors = (each for batch in results for each in batch if isinstance(each, BadImage))
        return all(_errno(each) is None for each in errors)

    def pack(self, results: Sequence[Found]) -> bytes:
        """Return vectors and errors in bytes; of the cause of an error its number."""
        values = [
            [[str(each), _errno(each)] if isinstance(each, BadImage) else None for each in batch] for batch in results
        ]
        return pack(values, [each for batch in results for each in batch if not isinstance(each, BadImage)])

    def unpack(self, packed: bytes) -> list[Found]:
        """Return vectors and errors."""
        values, arrays = unpack(packed)
        vectors = iter(arrays)
        return [[next(vectors) if each is None else _error(*each) for each in batch] for batch in values]


def task_on_node(loaders: Loaders, *, name: str, space: str) -> EncodeWhole:
    """Return the task on a node."""
    encoder: ImageEncoder = loaders["text_image_encoder"](name)
    if encoder.space != space:
        raise SpaceMismatch(expected=[space], given=[encoder.space], hint="Install the same version on all nodes.")
    return EncodeWhole(encoder=encoder)


def _errno(error: BadImage) -> int | None:
    number: int | None = getattr(error.__cause__, "errno", None)
    return number


def _error(text: str, errno: int | None) -> BadImage:
    error = BadImage(text)
    error.__cause__ = None if errno is None else OSError(errno, "")
    return error
