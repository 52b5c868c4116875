"""Encoding of texts and anchors as tasks of an engine."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from data.arrays import FloatArray, check_vectors
from data.contracts import Encoders, ImageEncoder, TextEncoder
from data.engines.contract import Loaders, Recipe, ShardTask, pack, unpack
from data.errors import BadImage, FieldmarkError, MissingRequirement, SpaceMismatch, StoreError
from data.images.decode import ENCODER_SIDE, read_image
from data.images.views import Views, encode_views, views_mark, views_of_anchor
from kb.store.layout import Layout

DECODERS = 2  # threads

Texts = Sequence[str]
Pictures = Sequence[tuple[str, Sequence[str]]]
"""Hash of each anchor, and the spaces to encode it in. Twice as many are in memory: the next ones are decoded."""
Made = list[str | dict[str, FloatArray]]
"""For each anchor its vector in each space, or the reason why it cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodeTexts(ShardTask[Texts, FloatArray]):
    """Texts in groups -> `(n, dim)` vectors of each group."""

    encoders: Encoders
    space: str
    shard_size: int = 4

    @property
    def recipe(self) -> Recipe:
        """Profile and space."""
        return Recipe(
            make="kb.pipeline.stages.encode_tasks:texts_on_node",
            arguments={"profile": self.encoders.profile, "space": self.space},
        )

    @property
    def encoder(self) -> TextEncoder:
        """The encoder of the space."""
        every = (*self.encoders.text_image, self.encoders.sentence)
        return next(each for each in every if each.space == self.space)

    def stream(self, items: Iterable[Texts]) -> Iterator[FloatArray]:
        """Yield the vectors of each group; without texts none are loaded."""
        for texts in items:
            encoder = self.encoder
            none: FloatArray = np.zeros((0, encoder.dim), dtype=np.float32)
            yield check_vectors(encoder.encode_texts(texts), dim=encoder.dim) if texts else none

    def pack(self, results: Sequence[FloatArray]) -> bytes:
        """Return vectors in bytes."""
        return pack(None, results)

    def unpack(self, packed: bytes) -> list[FloatArray]:
        """Return the vectors."""
        return unpack(packed)[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodeAnchors(ShardTask[Pictures, Made]):
    """Groups of reference photos in a knowledge base -> their vectors; each is decoded once for all encoders."""

    layout: Layout
    encoders: Encoders
    shard_size: int = 2

    @property
    def recipe(self) -> Recipe:
        """Folder of the knowledge base, which nodes must see, profile, spaces and the rule of views."""
        return Recipe(
            make="kb.pipeline.stages.encode_tasks:anchors_on_node",
            arguments={
                "kb": str(self.layout.root.absolute()),
                "kb_id": self.layout.require().id,
                "profile": self.encoders.profile,
                "spaces": list(self.encoders.anchor_spaces),
                "views": views_mark(self.encoders.detector),
            },
        )

    def stream(self, items: Iterable[Pictures]) -> Iterator[Made]:
        """Yield the vectors of each group while the next one is decoded."""
        waiting: deque[tuple[Pictures, list[Any]]] = deque()
        with ThreadPoolExecutor(DECODERS) as pool:
            for item in items:
                waiting.append((item, [pool.submit(self._read, sha256) for sha256, _ in item]))
                if len(waiting) > 1:
                    pictures, views = waiting.popleft()
                    yield self._encode(pictures, [each.result() for each in views])
            while waiting:
                pictures, views = waiting.popleft()
                yield self._encode(pictures, [each.result() for each in views])

    def is_final(self, results: Sequence[Made]) -> bool:
        """Return whether every photo was read: one that is missing or damaged is downloaded again."""
        return not any(isinstance(each, str) for made in results for each in made)

    def pack(self, results: Sequence[Made]) -> bytes:
        """Return vectors and errors in bytes."""
        values = [[each if isinstance(each, str) else list(each) for each in made] for made in results]
        rows = [vector for made in results for each in made if not isinstance(each, str) for vector in each.values()]
        return pack(values, rows)

    def unpack(self, packed: bytes) -> list[Made]:
        """Return vectors and errors."""
        values, rows = unpack(packed)
        vector = iter(rows)
        return [
            [each if isinstance(each, str) else {space: next(vector) for space in each} for each in made]
            for made in values
        ]

    def _read(self, sha256: str) -> Views | str:
        try:
            picture = read_image(self.layout.anchors.read(sha256), min_side=ENCODER_SIDE)  # as photos
        except (StoreError, BadImage) as error:
            return str(error)
        return views_of_anchor(picture, self.encoders.detector)

    def _encode(self, pictures: Pictures, views: Sequence[Views | str]) -> Made:
        made: Made = [each if isinstance(each, str) else {} for each in views]
        by_space: dict[str, ImageEncoder] = {
            each.space: each for each in (*self.encoders.text_image, self.encoders.visual)
        }
        for space, encoder in by_space.items():
            good = [
                (each, birds)
                for each, birds, (_, wanted) in zip(made, views, pictures, strict=True)
                if not isinstance(each, str) and not isinstance(birds, str) and space in wanted
            ]
            if good:
                vectors = check_vectors(encode_views(encoder, [birds for _, birds in good]), dim=encoder.dim)
                for (each, _), vector in zip(good, vectors, strict=True):
                    each[space] = vector
        return made


def texts_on_node(loaders: Loaders, *, profile: str, space: str) -> EncodeTexts:
    """Return the task on a node."""
    encoders: Encoders = loaders["encoders"](profile)
    if space not in encoders.spaces:
        raise SpaceMismatch(expected=[space], given=encoders.spaces, hint="Install the same version on all nodes.")
    return EncodeTexts(encoders=encoders, space=space)


def anchors_on_node(
    loaders: Loaders, *, kb: str, kb_id: str, profile: str, spaces: list[str], views: str
) -> EncodeAnchors:
    """Return the task on a node."""
    layout = Layout(Path(kb))
    try:
        is_same = layout.require().id == kb_id
    except FieldmarkError:
        is_same = False
    if not is_same:
        raise MissingRequirement(
            f"The knowledge base {kb} does not exist on node {socket.gethostname()}.",
            hint="All nodes need it at the same path, for example on a shared file system.",
        )
    encoders: Encoders = loaders["encoders"](profile)
    given = [*encoders.anchor_spaces, views_mark(encoders.detector)]
    if given != [*spaces, views]:
        raise SpaceMismatch(expected=[*spaces, views], given=given, hint="Install the same version on all nodes.")
    return EncodeAnchors(layout=layout, encoders=encoders)
