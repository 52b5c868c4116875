"""Encoding of photos as a task of an engine: decoded, birds found, encoded in all spaces."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from PIL import Image

from data.contracts import Encoders
from data.engines.contract import Loaders, Recipe
from data.engines.packing import pack, unpack
from data.engines.paths import path_on_node, shipped_path
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
