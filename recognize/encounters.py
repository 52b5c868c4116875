"""Photos of one encounter: bursts by time of exposure, and one query from all photos of an encounter."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray
from data.contracts import Encoders
from data.engines.contract import LOCAL, Engine
from data.images.exif import Moment, read_moment
from data.records import EncounterPhoto
from recognize.photos import NO_PIXELS, Batch, Decoded, EncodePhotos, Given, ImageSource, check_several
from recognize.scoring.knowledge import Queries
from recognize.settings import BURST_SECONDS

MOST_PHOTOS: Final = 500
"""Photos in one burst; a time-lapse has no end."""
_CARD_FOLDER: Final = re.compile(r"[1-9]\d\d\w{5}", re.ASCII)  # DCIM/100CANON, then 101CANON, of one camera

Source = ImageSource | Sequence[ImageSource]
"""A photo, or a list or tuple with the photos of an encounter."""


def bursts(
    paths: Iterable[str | Path],
    *,
    seconds: float = BURST_SECONDS,
    moment: Callable[[str], Moment | None] = read_moment,
) -> list[tuple[str, ...]]:
    """Return the photos in bursts: each taken at most `seconds` after the one before it by the same camera.

    Times count, not names. Cameras without a serial number are the same if model and folder are; the numbered folders
    of a memory card are one. A photo without a time of exposure is a burst of its own. Bursts come in the order of
    their first listed photos, the photos of a burst by time.
    """
    photos = list(map(str, paths))
    moments = {at: taken for at, photo in enumerate(photos) if (taken := moment(photo)) is not None}
    cameras: dict[tuple[str, str], list[int]] = {}
    for at, taken in moments.items():
        model, serial = taken.camera
        cameras.setdefault((model, serial if serial.strip("0") else str(_card_of(Path(photos[at])))), []).append(at)
    found = [[at] for at in range(len(photos)) if at not in moments]
    for taken_by in cameras.values():
        has_offsets = all(moments[at].time.tzinfo is not None for at in taken_by)
        times = {at: moments[at].time if has_offsets else moments[at].time.replace(tzinfo=None) for at in taken_by}
        last: int | None = None
        for at in sorted(taken_by, key=times.__getitem__):
            if last is None or (times[at] - times[last]).total_seconds() > seconds or len(found[-1]) == MOST_PHOTOS:
                found.append([])
            found[-1].append(at)
            last = at
    return [tuple(photos[at] for at in burst) for burst in sorted(found, key=min)]


def _card_of(photo: Path) -> Path:
    """Return the folder of a photo, or the folder above the numbered folders of a memory card."""
    return photo.parent.parent if _CARD_FOLDER.fullmatch(photo.parent.name) else photo.parent


@dataclass(slots=True)
class _Open:
    """An encounter with some of its photos encoded."""

    n_photos: int
    is_list: bool
    done: list[Decoded] = field(default_factory=list)
    sums: list[NDArray[np.float64]] = field(default_factory=list)
    n_readable: int = 0
    first: tuple[FloatArray, ...] = ()
    place: tuple[float, float] | None = None
    date: str | None = None
    notes: dict[str, None] = field(default_factory=dict)

    def add(self, decoded: Decoded, vectors: tuple[FloatArray, ...]) -> None:
        """Add a photo and its vector in each space; none for an unreadable photo."""
        if vectors:
            self.first = self.first or vectors
            rows = [vector.astype(np.float64) for vector in vectors]
            self.sums = [total + row for total, row in zip(self.sums, rows, strict=True)] if self.sums else rows
            self.n_readable += 1
            if decoded.photo is not None:
                self.place, self.date = self.place or decoded.photo.place, self.date or decoded.photo.date
                self.notes |= dict.fromkeys(decoded.photo.notes)
            if self.n_readable > 1:  # one picture in memory
                decoded = without_pixels(decoded)
        self.done.append(decoded)

    def merged(self) -> Decoded:
        """Return the encounter as one photo: the first readable picture, the first place and date, and all photos."""
        photo = next((each.photo for each in self.done if each.photo is not None), None)
        detections = [detection for each in self.done for detection in each.detections]
        return Decoded(
            name=self.done[0].name,
            photo=None if photo is None else replace(photo, place=self.place, date=self.date, notes=tuple(self.notes)),
            error=self.done[0].error if photo is None else None,
            seconds=sum(each.seconds for each in self.done),
            detections=tuple(sorted(detections, key=lambda detection: -detection.score)),
            is_flat=all(each.is_flat for each in self.done if each.error is None),
            is_blank=all(each.is_blank for each in self.done if each.error is None),
            photos=tuple(map(_photo, self.done)),
        )

    def vectors(self) -> tuple[FloatArray, ...]:
        """Return the mean of the photos in each space; that of one photo is its vector, and none without one."""
        if self.n_readable < 2:
            return self.first
        return tuple((total / self.n_readable).astype(np.float32) for total in self.sums)


def _photo(decoded: Decoded) -> EncounterPhoto:
    photo, score = decoded.photo, decoded.box_score
    return EncounterPhoto(
        image=decoded.name, error=decoded.error, box=decoded.box, box_score=score and round(score, 4),
        size=photo.size if photo else None, date=photo.date if photo else None,
    )  # fmt: skip


def first_photos(sources: Iterable[Source]) -> list[ImageSource]:
    """Return the first photo of each encounter, and the photos that are none."""
    photos: list[ImageSource] = []
    for source in sources:
        if isinstance(source, list | tuple):
            photos += source[:1]
        else:
            photos.append(source)  # type: ignore[arg-type]  # a sequence of photos is a list or tuple
    return photos


def encode_encounters(sources: Iterable[Source], kept: KeptPhotos) -> Iterator[tuple[list[Decoded], Queries, float]]:
    """Yield encounters with one query each, as `encode_in_batches` yields photos and their birds.

    Of each photo of an encounter the best bird counts.

    The query of an encounter is the mean of the vectors of its readable photos in each space, so its cosines are the
    means of its photos' cosines. It ranks as well as the mean of the photos' scores. Copies of a photo count once; a
    sum of log-scores would grow with their number. It is not made a unit vector: its cosines would be larger than
    those of its photos, and answers for unknown species too sure (`benchmarks.bursts`). Photos that `kept` has encoded
    ahead are not encoded again.
    """
    check_several(sources)
    waiting: deque[_Open] = deque()

    def photos() -> Iterator[ImageSource]:
        for source in sources:
            if isinstance(source, list | tuple):
                if not source:
                    raise ValueError("expected at least one photo in an encounter, got none")
                waiting.append(_Open(len(source), is_list=True))
                yield from source
            else:
                waiting.append(_Open(1, is_list=False))
                yield source  # type: ignore[misc]  # a sequence of photos is a list or tuple

    for batch, queries, seconds in kept.encode(photos()):
        done: list[Row] = []
        for decoded, of_bird in rows_of(batch, queries):
            encounter = waiting[0]
            if decoded.bird == 1:
                encounter.add(decoded, of_bird)
            is_last = decoded.bird == decoded.n_birds and len(encounter.done) == encounter.n_photos
            if is_last:
                waiting.popleft()
            if not encounter.is_list:
                done.append((decoded, of_bird))
            elif is_last:
                done.append((encounter.merged(), encounter.vectors()))
        if done:
            yield *joined(done, queries), seconds


Row = tuple[Decoded, tuple[FloatArray, ...]]
"""A photo and its vector in each space, `(dim,)`; no vectors of an unreadable photo."""


class KeptPhotos:
    """Encodes photos in batches; some are encoded ahead, each used once."""

    def __init__(
        self,
        encoders: Encoders,
        *,
        batch_size: int,
        engine: Engine = LOCAL,
        given: Given = MappingProxyType({}),
    ) -> None:
        """Start without photos."""
        self._encoders, self._batch_size, self._engine, self._given = encoders, batch_size, engine, given
        self._kept: dict[str | int, tuple[ImageSource, list[Row]]] = {}
        self._like: Queries | None = None

    def encode_ahead(self, images: Sequence[ImageSource]) -> Iterator[Batch]:
        """Yield photos in batches as `encode_in_batches` does, and keep them for `encode`, without pixels."""
        self._kept.clear()
        sources = iter(images)
        for batch, queries, seconds in self._encode(images):
            self._like = queries
            for rows in _by_photo(batch, queries):
                source = next(sources)
                self._kept[_key(source)] = source, [(without_pixels(decoded), vectors) for decoded, vectors in rows]
            yield batch, queries, seconds

    def encode(self, images: Iterable[ImageSource]) -> Iterator[tuple[list[Decoded], Queries, float]]:
        """Yield batches as `encode_in_batches` does, with the photos that were encoded ahead in their places."""
        if not self._kept:
            yield from self._encode(images)
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

    def _encode(self, images: Iterable[ImageSource]) -> Iterator[Batch]:
        task = EncodePhotos(encoders=self._encoders, batch_size=self._batch_size, given=self._given)
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


def without_pixels(decoded: Decoded) -> Decoded:
    """Return a decoded photo without its picture."""
    return decoded if decoded.photo is None else replace(decoded, photo=replace(decoded.photo, image=NO_PIXELS))
