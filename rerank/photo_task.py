"""Encoding of whole photos as a task of an engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data.arrays import FloatArray
from data.contracts import ImageEncoder
from data.engines.contract import Loaders, Recipe
from data.engines.packing import pack, path_on_node, shipped_path, unpack
from data.errors import BadImage, SpaceMismatch
from rerank.photo_vectors import encode_photos

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
            make="rerank.photo_task:task_on_node",
            arguments={"name": self.encoder.name, "space": self.encoder.space},
        )

    def stream(self, items: Iterable[Path]) -> Iterator[Found]:
        """Yield the vectors of photos in batches."""
        return encode_photos(self.encoder, items)

    def ship(self, item: Path) -> list[Any]:
        """Return path, size and modification time of a photo."""
        return shipped_path(item)

    def receive(self, shipped: list[Any]) -> Path:
        """Return the path of a photo.

        Raises:
            MissingRequirement: if the node sees no such file.
        """
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
    """Return the task on a node.

    Raises:
        SpaceMismatch: if the node has another model.
    """
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
