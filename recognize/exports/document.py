"""Documents in the formats of other programs: made of all rows of a run, with its place and date."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from data.errors import BadInput
from data.records import EncounterPhoto, Identification
from data.words import plural


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts of a run beside its rows."""

    program: str
    """Name and version of the program."""
    folder: Path
    """Folder of the document."""
    place: tuple[float, float] | None = None
    """Latitude and longitude of all photos; None for those of each photo."""
    place_name: str = ""
    date: str | None = None
    """ISO 8601 date of all photos; None for that of each photo."""
    name_in_ebird: Callable[[str], tuple[str, str] | None] = lambda _name: None
    """Scientific name of a species -> English and scientific name in eBird, or None."""

    def place_of(self, row: Identification) -> tuple[float, float] | None:
        """Return latitude and longitude of a row."""
        return self.place or row.place

    def moment_of(self, date: str | None) -> datetime | None:
        """Return the time of a photo with that date; without an offset from UTC where the photo has none."""
        text = self.date or date
        return None if text is None else datetime.fromisoformat(text)

    def has_time(self, date: str | None) -> bool:
        """Return whether a photo with that date has a time of day."""
        return "T" in (self.date or date or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Files of a format, and what they lack."""

    files: Mapping[str, str]
    """Name of a file -> its text; the only file of a format has an empty name."""
    notes: tuple[str, ...] = ()
    """Sentences, without full stop, on rows left out and values that were assumed."""


Maker = Callable[[Iterable[Identification], Facts], Document]


def photos_of(row: Identification) -> tuple[EncounterPhoto, ...]:
    """Return the photos of a row: those of its encounter, or its own."""
    own = EncounterPhoto(
        image=row.image, error=row.error, box=row.box, box_score=row.box_score, size=row.size, date=row.date
    )
    return row.photos or (own,)


def share_of(photo: EncounterPhoto) -> tuple[float, float, float, float] | None:
    """Return left, top, width and height of a photo's box as shares of its sides, to 4 decimals; None without one."""
    if photo.box is None or photo.size is None:
        return None
    across, down = photo.size
    left, right = (min(max(side / across, 0), 1) for side in (photo.box.left, photo.box.right))
    top, bottom = (min(max(side / down, 0), 1) for side in (photo.box.top, photo.box.bottom))
    return round(left, 4), round(top, 4), round(right - left, 4), round(bottom - top, 4)


def in_utc(moment: datetime) -> datetime:
    """Return a time with an offset from UTC; one without it counts as UTC."""
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def as_rows(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV in UTF-8, None as an empty cell."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def left_out(n: int, of: int, noun: str, why: str) -> tuple[str, ...]:
    """Return a sentence on the number left out, if there are any."""
    return (f"{n:,} of {plural(of, noun)} left out: {why}",) if n else ()


def refuse_without(lacks: Sequence[str], form: str) -> BadInput:
    """Return the error for photos without a place or time, which a format needs."""
    what = " or ".join(f"a {name}" for name in lacks) or "both"
    return BadInput(
        f"--format {form} needs the place and the time of each photo; no photo has {what}.",
        hint="Add --place LATITUDE,LONGITUDE and --date 2026-05-31, or write GPS data and time into the photos.",
    )
