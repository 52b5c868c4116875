"""Encoding of the photos of a run as a task of an engine; some are encoded ahead, for the share of unknown species."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from PIL import Image

from data.arrays import FloatArray
from data.contracts import Encoders
from data.engines.contract import LOCAL, Engine, Loaders, Recipe
from data.engines.packing import pack, path_on_node, shipped_path, unpack
from data.errors import MissingRequirement, UsageError
from data.images.decode import Photo
from data.records import Box, Detection
from recognize.photos import Decoded, ImageSource, encode_in_batches
from recognize.scoring.stages import Queries

NO_PIXELS: Final = Image.new("RGB", (1, 1))
_OF_PHOTO: Final = ("place", "date", "scale")
_OF_DECODED: Final = tuple(
    field.name for field in fields(Decoded) if field.name not in ("photo", "photos", "detections", "box")
)

Batch = tuple[list[Decoded], Queries, float]
"""Birds, their vectors, and the seconds that they took: see `encode_in_batches`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodePhotos:
    """The task; its results are the batches of `encode_in_batches`, from a node without pixels."""

    encoders: Encoders
    batch_size: int
    one_bird: bool = False
    shard_size: int = 128

    @property
    def recipe(self) -> Recipe:
        """Profile, and the models that must be the same on a node."""
        return Recipe(
            make="recognize.photo_task:task_on_node",
            arguments={
                "profile": self.encoders.profile,
                "models": models_of(self.encoders),
                "batch_size": self.batch_size,
                "one_bird": self.one_bird,
            },
        )

    def stream(self, items: Iterable[ImageSource]) -> Iterator[Batch]:
        """Yield batches of birds with their vectors."""
        return encode_in_batches(self.encoders, items, batch_size=self.batch_size, one_bird=self.one_bird)

    def ship(self, item: ImageSource) -> list[Any]:
        """Return path, size and modification time of a photo.

        Raises:
            UsageError: for a picture without a file.
        """
        if not isinstance(item, str | Path):
            raise UsageError(f"On a cluster, photos are files; got {type(item).__name__}.")
        return shipped_path(item)

    def receive(self, shipped: list[Any]) -> str:
        """Return the path of a photo.

        Raises:
            MissingRequirement: if the node sees no such file.
        """
        return path_on_node(shipped)

    def is_final(self, results: Sequence[Batch]) -> bool:
        """Return true: photos that cannot be read are named by size and time."""
        return True

    def pack(self, results: Sequence[Batch]) -> bytes:
        """Return batches in bytes, without pixels."""
        values = [[[_values(each) for each in batch], seconds] for batch, _, seconds in results]
        arrays = [space for _, queries, _ in results for space in (*queries.text_image, queries.visual)]
        return pack(values, arrays)

    def unpack(self, packed: bytes) -> list[Batch]:
        """Return the batches."""
        values, arrays = unpack(packed)
        n_spaces, found = len(arrays) // max(1, len(values)), list[Batch]()
        for number, (birds, seconds) in enumerate(values):
            *text_image, visual = arrays[number * n_spaces : (number + 1) * n_spaces]
            found.append(
                ([_decoded(each) for each in birds], Queries(text_image=tuple(text_image), visual=visual), seconds)
            )
        return found


def task_on_node(loaders: Loaders, *, profile: str, models: list[str], batch_size: int, one_bird: bool) -> EncodePhotos:
    """Return the task with the models of a node.

    Raises:
        MissingRequirement: if they are not those of the machine that started the run.
    """
    encoders: Encoders = loaders["encoders"](profile)
    if models != models_of(encoders):  # --fast looks for no birds
        encoders = replace(encoders, detector=None, observer=None)
    if models != models_of(encoders):
        raise MissingRequirement(
            f"Node {socket.gethostname()} has other models of the profile {profile}.",
            hint="Install the same version on all nodes.",
        )
    return EncodePhotos(encoders=encoders, batch_size=batch_size, one_bird=one_bird)


def models_of(encoders: Encoders) -> list[str]:
    """Return the spaces and the detectors of encoders, which determine all that they make of a photo."""
    seers = ["" if seer is None else seer.name for seer in (encoders.detector, encoders.observer)]
    return [*encoders.anchor_spaces, *seers]


def without_pixels(decoded: Decoded) -> Decoded:
    """Return a decoded photo without its picture."""
    return decoded if decoded.photo is None else replace(decoded, photo=replace(decoded.photo, image=NO_PIXELS))


def _values(decoded: Decoded) -> dict[str, Any]:
    values = {name: getattr(decoded, name) for name in _OF_DECODED}
    values |= {"box": decoded.box, "detections": [asdict(each) for each in decoded.detections]}
    if decoded.photo is not None:
        values["photo"] = {name: getattr(decoded.photo, name) for name in _OF_PHOTO}
    return values


def _decoded(values: dict[str, Any]) -> Decoded:
    photo, box = values.pop("photo", None), values.pop("box")
    if photo is not None:
        place = photo["place"]
        photo = Photo(**{**photo, "place": None if place is None else tuple(place)}, image=NO_PIXELS)
    detections = tuple(Detection(**{**each, "box": Box(*each["box"])}) for each in values.pop("detections"))
    return Decoded(**values, photo=photo, box=None if box is None else Box(*box), detections=detections)


Row = tuple[Decoded, tuple[FloatArray, ...]]
"""A photo and its vector in each space, `(dim,)`; no vectors of an unreadable photo."""


class KeptPhotos:
    """Encodes photos in batches; some are encoded ahead, each used once."""

    def __init__(self, encoders: Encoders, *, batch_size: int, engine: Engine = LOCAL) -> None:
        """Start without photos."""
        self._encoders, self._batch_size, self._engine = encoders, batch_size, engine
        self._kept: dict[str | int, tuple[ImageSource, list[Row]]] = {}
        self._like: Queries | None = None

    def encode_ahead(self, images: Sequence[ImageSource]) -> Iterator[tuple[list[Decoded], Queries]]:
        """Yield photos in batches with their vectors, and keep these for `encode`, without pixels."""
        self._kept.clear()
        sources = iter(images)
        for batch, queries, _ in self._encode(images):
            self._like = queries
            for rows in _by_photo(batch, queries):
                source = next(sources)
                self._kept[_key(source)] = source, [(without_pixels(decoded), vectors) for decoded, vectors in rows]
            yield batch, queries

    def encode(
        self, images: Iterable[ImageSource], *, one_bird: bool = False
    ) -> Iterator[tuple[list[Decoded], Queries, float]]:
        """Yield batches as `encode_in_batches` does, with the photos that were encoded ahead in their places."""
        if not self._kept:
            yield from self._encode(images, one_bird=one_bird)
            return
        order: deque[list[Row] | None] = deque()  # None: not encoded ahead

        def others() -> Iterator[ImageSource]:
            for image in images:
                kept = self._kept.pop(_key(image), None)
                order.append(kept and kept[1])
                if kept is None:
                    yield image

        for batch, queries, seconds in self._encode(others()):
            found: list[Row] = []
            for rows in _by_photo(batch, queries):
                while (kept := order.popleft()) is not None:
                    found += kept
                found += rows
            yield *joined(found, queries), seconds
        rest = [row for kept in order for row in kept or ()]
        if rest and self._like is not None:
            yield *joined(rest, self._like), 0.0

    def _encode(self, images: Iterable[ImageSource], *, one_bird: bool = False) -> Iterator[Batch]:
        task = EncodePhotos(encoders=self._encoders, batch_size=self._batch_size, one_bird=one_bird)
        return self._engine.map(task, images)


def _key(image: ImageSource) -> str | int:
    return str(image) if isinstance(image, str | Path) else id(image)


def rows_of(batch: list[Decoded], queries: Queries) -> Iterator[Row]:
    """Yield the rows of a batch: one for each bird."""
    vectors = zip(*queries.text_image, queries.visual, strict=True)
    yield from ((decoded, () if decoded.photo is None else next(vectors)) for decoded in batch)


def _by_photo(batch: list[Decoded], queries: Queries) -> Iterator[list[Row]]:
    """Yield the rows of each photo of a batch: one for each of its birds."""
    rows: list[Row] = []
    for row in rows_of(batch, queries):
        if rows and row[0].bird == 1:
            yield rows
            rows = []
        rows.append(row)
    if rows:
        yield rows


def joined(rows: Sequence[Row], like: Queries) -> tuple[list[Decoded], Queries]:
    """Return rows as a batch; `like` gives the spaces where all photos are unreadable."""
    vectors = [vectors for _, vectors in rows if vectors]
    if not vectors:
        return [decoded for decoded, _ in rows], like[slice(0, 0)]
    *text_image, visual = map(np.array, zip(*vectors, strict=True))
    return [decoded for decoded, _ in rows], Queries(text_image=tuple(text_image), visual=visual)
