"""Decoding and encoding of photos on other threads, ahead of the caller, and as a task of an engine."""

from __future__ import annotations

import io
import socket
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from data.arrays import FloatArray
from data.contracts import Encoders
from data.engines.contract import Loaders, Recipe, pack, path_on_node, shipped_path, unpack
from data.errors import BadImage, MissingRequirement, UsageError
from data.images.decode import ENCODER_SIDE, Photo, read_photo, to_rgb
from data.images.views import Views, encode_views, scaled, sought_in, views_of
from data.records import Box, Detection, EncounterPhoto
from recognize.detect.birds import is_flat
from recognize.scoring.knowledge import Queries

ImageSource = str | Path | bytes | Image.Image | Photo | NDArray[np.uint8] | IO[bytes]
"""A path, the bytes of a picture file or a binary file object, a PIL picture or an array `(height, width, 3)`."""

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
    box_score: float | None = None
    """Confidence of the detector in the box."""
    is_blank: bool = False
    """Whether another detector, whose boxes are given, saw no animal."""
    bird: int = 1
    """Number of the bird in the photo."""
    n_birds: int = 1
    """Birds of the photo; 1 also where none was found."""


def decode_in_batches(sources: Iterable[ImageSource], *, batch_size: int) -> Iterator[list[Decoded]]:
    """Yield batches of `batch_size` readable photos, in the order of `sources`; the last one may be smaller.

    Unreadable photos do not count, but a batch ends after `4 * batch_size` photos. Two batches are decoded ahead.

    Raises:
        TypeError: for one photo instead of several, and for something that is no photo.
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
    is_array = isinstance(sources, np.ndarray) and _is_picture(sources)
    if is_array or hasattr(sources, "read") or isinstance(sources, str | bytes | Path | Image.Image | Photo):
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
    if isinstance(source, Image.Image):
        return Photo(image=to_rgb(source))
    if isinstance(source, np.ndarray) and _is_picture(source):
        return Photo(image=Image.fromarray(source))
    content: object = source
    if hasattr(source, "read") and not isinstance(source, io.TextIOBase):
        try:
            content = source.read()
        except (OSError, ValueError) as error:  # ValueError: it is closed
            raise BadImage(f"the file cannot be read: {error}") from error
    if isinstance(content, str | Path | bytes) and (content is source or isinstance(content, bytes)):
        return read_photo(content, min_side=ENCODER_SIDE)
    found = f"array {source.shape} of {source.dtype}" if isinstance(source, np.ndarray) else type(source).__name__
    raise TypeError(
        "Expected a photo: a path, bytes, a binary file, a PIL picture or an array (height, width, 3) of uint8, "
        f"got {found}."
    )


def _is_picture(array: NDArray[Any]) -> bool:
    """Return whether an array holds RGB values of one picture."""
    return array.dtype == np.uint8 and array.size > 0 and array.ndim == 3 and array.shape[2] == 3


def _name(source: ImageSource, number: int) -> str:
    if isinstance(source, str | Path):
        return str(source)
    name = getattr(source, "filename", "") or getattr(source, "name", "")
    return name if name and isinstance(name, str) else f"picture {number}"


def encode_pictures(encoders: Encoders, pictures: Sequence[Image.Image]) -> Queries:
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


Given = Mapping[str, tuple[Detection, ...]]
"""Path of a photo -> what another detector saw in it, best first, with boxes in shares of its sides."""


def encode_in_batches(
    encoders: Encoders,
    images: Iterable[ImageSource],
    *,
    batch_size: int = 32,
    one_bird: bool = False,
    given: Given = MappingProxyType({}),
) -> Iterator[tuple[list[Decoded], Queries, float]]:
    """Yield batches of birds with their vectors and the seconds spent on them, in the order of `images`.

    A photo is in its batch once for each of its birds, or once with `one_bird` or where no bird was found. The next two
    batches are encoded meanwhile. Unreadable photos are in the batch but have no row in the vectors. `batch_size`
    counts readable photos; `images` may be endless. The detections of photos in `given` replace those of the detector.
    """

    def encode(batch: Sequence[Decoded]) -> tuple[list[Decoded], Queries, float]:
        start = time.perf_counter()
        birds, views = _find_birds(encoders, batch, one_bird=one_bird, given=given)
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


def _find_birds(
    encoders: Encoders, batch: Sequence[Decoded], *, one_bird: bool, given: Given
) -> tuple[list[Decoded], list[Views]]:
    """Return each photo of a batch once for each of its birds, and the views of the birds of readable photos."""
    pictures = [each.photo.image for each in batch if each.photo is not None and each.name not in given]
    seer = encoders.detector or encoders.observer
    detected = iter([()] * len(pictures) if seer is None else seer.detect(pictures))
    birds: list[Decoded] = []
    views: list[Views] = []
    for decoded in batch:
        if decoded.photo is None:
            birds.append(decoded)
            continue
        picture, is_given = decoded.photo.image, decoded.name in given
        detections = _in_pixels(given[decoded.name], picture) if is_given else next(detected)
        is_used = is_given or encoders.detector is not None
        sought = sought_in(detections)[: 1 if one_bird else None] if is_used else []
        views += views_of(picture, [each.box for each in sought])
        found = replace(
            decoded,
            detections=detections,
            n_birds=max(1, len(sought)),
            is_flat=not sought and is_flat(picture),
            is_blank=is_given and not sought,
        )
        birds += [
            replace(found, box=scaled(each.box, decoded.photo.scale), box_score=each.score, bird=number)
            for number, each in enumerate(sought, 1)
        ] or [found]
    return birds, views


def _in_pixels(detections: Iterable[Detection], picture: Image.Image) -> tuple[Detection, ...]:
    """Return detections with boxes in shares of the sides of a picture with boxes in its pixels."""
    across, down = picture.size
    return tuple(
        replace(each, box=Box(*(side * of for side, of in zip(each.box, (across, down) * 2, strict=True))))
        for each in detections
    )


NO_PIXELS: Final = Image.new("RGB", (1, 1))
_OF_PHOTO: Final = ("place", "date", "notes", "scale", "size")
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
    given: Given = field(default_factory=dict)
    shard_size: int = 128

    @property
    def recipe(self) -> Recipe:
        """Profile, and the models that must be the same on a node."""
        return Recipe(
            make="recognize.photos:task_on_node",
            arguments={
                "profile": self.encoders.profile,
                "models": models_of(self.encoders),
                "batch_size": self.batch_size,
                "given": {name: [asdict(each) for each in found] for name, found in self.given.items()},
            },
        )

    def stream(self, items: Iterable[ImageSource]) -> Iterator[Batch]:
        """Yield batches of birds with their vectors."""
        return encode_in_batches(self.encoders, items, batch_size=self.batch_size, given=self.given)

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


def task_on_node(
    loaders: Loaders, *, profile: str, models: list[str], batch_size: int, given: Mapping[str, list[Any]]
) -> EncodePhotos:
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
    found = {name: tuple(map(_detection, detections)) for name, detections in given.items()}
    return EncodePhotos(encoders=encoders, batch_size=batch_size, given=found)


def models_of(encoders: Encoders) -> list[str]:
    """Return the spaces and the detectors of encoders, which determine all that they make of a photo."""
    seers = ["" if seer is None else seer.name for seer in (encoders.detector, encoders.observer)]
    return [*encoders.anchor_spaces, *seers]


def _values(decoded: Decoded) -> dict[str, Any]:
    values = {name: getattr(decoded, name) for name in _OF_DECODED}
    values |= {"box": decoded.box, "detections": [asdict(each) for each in decoded.detections]}
    if decoded.photo is not None:
        values["photo"] = {name: getattr(decoded.photo, name) for name in _OF_PHOTO}
    return values


def _decoded(values: dict[str, Any]) -> Decoded:
    photo, box = values.pop("photo", None), values.pop("box")
    if photo is not None:
        pairs = {name: photo[name] and tuple(photo[name]) for name in ("place", "size")}
        photo = Photo(**{**photo, **pairs, "notes": tuple(photo["notes"])}, image=NO_PIXELS)
    detections = tuple(map(_detection, values.pop("detections")))
    return Decoded(**values, photo=photo, box=None if box is None else Box(*box), detections=detections)


def _detection(values: dict[str, Any]) -> Detection:
    return Detection(**{**values, "box": Box(*values["box"])})
