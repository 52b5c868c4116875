"""Place, time and orientation of a photo: EXIF data, then XMP in the file, then XMP in a file beside it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from math import copysign, inf, isfinite
from pathlib import Path
from typing import Any, Final

from PIL import Image

from data.images import RAW
from data.images.header import open_picture, quiet

_MAX_XMP_BYTES: Final = 2**20
_ORIENTATION, _MODEL, _CHANGED, _CHANGED_OFFSET = 0x0112, 0x0110, 0x0132, 0x9010
_EXIF_IFD, _GPS_IFD, _SERIAL = 0x8769, 0x8825, 0xA431
_GPS_DATE: Final = 29
_EXPOSURES: Final = ((0x9003, 0x9291, 0x9011), (0x9004, 0x9292, 0x9012))
"""Tags of time, fraction of a second and offset from UTC: of the exposure, then of the digitisation."""
_XMP_PLACE: Final = ("Latitude", "LatitudeRef", "Longitude", "LongitudeRef")
_XMP_TIMES: Final = ("exif:DateTimeOriginal", "photoshop:DateCreated", "xmp:CreateDate")
_TIME: Final = re.compile(
    r"(\d{4})([-:/.])(\d{1,2})\2(\d{1,2})"
    r"(?:[T ]\s*(\d{1,2})[:.](\d{1,2})(?:[:.](\d{1,2})(?:[.,](\d+))?)?\s*([AP]M)?)?\s*(Z|[+-]\d{1,2}:?\d{2})?",
    re.IGNORECASE,
)
_OFFSET: Final = re.compile(r"([+-])(\d{1,2}):?([0-5]\d)")
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
NO_HEMISPHERE: Final = "Place not used: the GPS data lack north or south, east or west."
OUT_OF_RANGE: Final = "Place not used: the GPS data are out of range or contradict each other."


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Time of the exposure and camera."""

    time: datetime
    """Local time with fractions of a second; with the offset from UTC where the camera noted it."""
    camera: tuple[str, str]
    """Model and serial number; empty where the file has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """Where and when a photo was taken, as far as its file says."""

    orientation: int = 1
    """EXIF orientation, 1 to 8."""
    place: tuple[float, float] | None = None
    """Latitude and longitude in degrees, north and east positive."""
    date: str | None = None
    """ISO 8601: local time, with the offset from UTC where the camera noted it; or a day."""
    moment: Moment | None = None
    """Exposure; None without its time of day. The time of the last change does not count: programs set it when they
    export a folder."""
    notes: tuple[str, ...] = ()
    """Sentences on data that could not be used; up to a colon they name the kind."""


def read_shot(image: Image.Image, path: Path | None = None, exif: Image.Exif | None = None) -> Shot:
    """Return what an opened image says on its place and time; damaged EXIF data count as none.

    Times are looked for in this order: exposure and digitisation in EXIF, XMP in the file, XMP beside the file
    (`a.jpg.xmp`, `a.xmp`), last change in EXIF, day of the GPS data.

    Args:
        image: with its header read; a PNG is decoded.
        path: its file, for XMP beside it.
        exif: EXIF data to use in place of those of the image.
    """
    main: Mapping[int, Any] = {}
    details: Mapping[int, Any] = {}
    gps: Mapping[int, Any] = {}
    with quiet(), suppress(Exception):  # a broken tag must not make the image unreadable
        exif = image.getexif() if exif is None else exif
        main = details = dict(exif)  # RAW photos have the time of exposure in the main directory
        details = {**main, **exif.get_ifd(_EXIF_IFD)}
        gps = exif.get_ifd(_GPS_IFD)
    notes: dict[str, None] = {}
    place = _place(gps.get(2), gps.get(1), gps.get(4), gps.get(3), notes)
    exposures = [(details.get(time), details.get(offset), details.get(part)) for time, part, offset in _EXPOSURES]
    taken = _first_time(exposures, notes)
    model, serial = _text(main.get(_MODEL)), _text(details.get(_SERIAL))
    if place is None or taken is None:
        for xmp in _xmp_of(image, path):
            latitude, north_south, longitude, east_west = (_property(xmp, f"exif:GPS{name}") for name in _XMP_PLACE)
            place = place or _place(latitude, north_south, longitude, east_west, notes)
            taken = taken or _first_time([(_property(xmp, name), None, None) for name in _XMP_TIMES], notes)
            model = model or _property(xmp, "tiff:Model")
            serial = serial or _property(xmp, "aux:SerialNumber") or _property(xmp, "exifEX:BodySerialNumber")
    is_exact = taken is not None and taken[1]
    moment = Moment(time=taken[0], camera=(model, serial)) if taken is not None and is_exact else None
    changed = (main.get(_CHANGED), details.get(_CHANGED_OFFSET), None)
    taken = taken or _first_time([changed, (gps.get(_GPS_DATE), None, None)], notes)
    orientation = main.get(_ORIENTATION, 1)
    return Shot(
        orientation=orientation if isinstance(orientation, int) else 1,
        place=place,
        date=None if taken is None else taken[0].isoformat(timespec="seconds") if taken[1] else f"{taken[0]:%Y-%m-%d}",
        moment=moment,
        notes=tuple(note for note in notes if place is None or not note.startswith("Place")),
    )


def read_moment(path: Path | str) -> Moment | None:
    """Return the moment of a photo; None if it has no time of exposure or the file is unreadable."""
    path = Path(path)
    try:
        if not path.is_file():
            return None
        if path.suffix.lower() in RAW:
            from data.images.raw import open_raw

            with open_raw(path) as (jpeg, exif, _):
                return read_shot(open_picture(io.BytesIO(jpeg), str(path)), path, exif).moment
        with path.open("rb") as file:
            return read_shot(open_picture(file, str(path)), path).moment
    except Exception:  # decoders raise whatever comes; reading the photo reports it
        return None


def _place(
    latitude: object, north_south: object, longitude: object, east_west: object, notes: dict[str, None]
) -> tuple[float, float] | None:
    """Return the place of four tags; None without one, or with a note where it cannot be told."""
    values = [_degrees(latitude), _degrees(longitude)]
    if values[0] is None or values[1] is None or values == [0, 0]:
        return None  # receivers without a fix write 0, 0 or nothing
    place = []
    for value, given, reference, (plus, minus), limit in (
        (values[0], latitude, north_south, "NS", 90),
        (values[1], longitude, east_west, "EW", 180),
    ):
        letter = _text(reference)[:1] or _text(given)[-1:]  # of N or South, or of 48,23.1N
        sign = letter.upper() if letter.isalpha() else minus if value < 0 else ""
        if sign not in {plus, minus}:
            notes[NO_HEMISPHERE] = None
            return None
        if abs(value) > limit or (value < 0 and sign == plus):
            notes[OUT_OF_RANGE] = None
            return None
        place.append(round(-abs(value) if sign == minus else value, 6))
    return place[0], place[1]


def _degrees(parts: object) -> float | None:
    """Return degrees from one to three numbers, degrees, minutes and seconds, with the sign of the degrees.

    Undefined minutes or seconds (0/0) count as 0: cameras with decimal minutes write them so. Infinite if above 60.
    """
    try:
        if isinstance(parts, str):
            numbers = [float(number) for number in _NUMBER.findall(parts)]
        else:
            numbers = [float(part) for part in (parts if isinstance(parts, tuple) else (parts,))]
    except (TypeError, ValueError, ZeroDivisionError):
        return None
    if not 1 <= len(numbers) <= 3 or not isfinite(numbers[0]):
        return None
    rest = [abs(number) if isfinite(number) else 0.0 for number in numbers[1:]]
    value = abs(numbers[0]) + sum(number / 60**power for power, number in enumerate(rest, 1))
    return copysign(value if max(rest, default=0) <= 60 else inf, numbers[0])


def _first_time(tags: list[tuple[object, object, object]], notes: dict[str, None]) -> tuple[datetime, bool] | None:
    """Return the first valid time of several (time, offset from UTC, decimals of the second), and whether it has one.

    A text that is no time is noted; zeros and blanks are cameras without a clock.
    """
    for time, offset, fraction in tags:
        text = _text(time)
        if (found := time_of(text, _text(offset), _text(fraction))) is not None:
            return found
        if text.strip(" :-0"):
            notes[f"Date not used: {text[:40]!r} is none."] = None
    return None


def time_of(text: str, offset: str = "", fraction: str = "") -> tuple[datetime, bool] | None:
    """Return the time in a text, and whether it has a time of day; None if it is no time.

    Year, month and day in this order, with any separator; hour 24 is the hour after midnight of this day, as phones
    write it. An offset in the text counts before `offset`.
    """
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    year, _, month, day, hour, minute, second, decimals, half, own_offset = match.groups()
    if int(hour or 0) > 24 or int(second or 0) > 60:
        return None
    hours = int(hour or 0) % 24
    if half:
        hours = hours % 12 + (12 if half.upper() == "PM" else 0)
    decimals = decimals or (fraction if fraction.isdecimal() and fraction.isascii() else "")
    try:
        time = datetime(int(year), int(month), int(day), tzinfo=_zone(own_offset or offset))
        time = time.replace(hour=hours, minute=int(minute or 0), microsecond=int((decimals or "0")[:6].ljust(6, "0")))
        return time + timedelta(seconds=int(second or 0)), bool(hour)
    except (ValueError, OverflowError):
        return None


def _zone(offset: str) -> timezone | None:
    if offset.upper() == "Z":
        return UTC
    match = _OFFSET.fullmatch(offset)
    if match is None or int(match[2]) > 14:
        return None
    return timezone((-1 if match[1] == "-" else 1) * timedelta(hours=int(match[2]), minutes=int(match[3])))


def sidecars_of(photo: Path) -> list[Path]:
    """Return the names that programs give to the XMP file beside a photo, the most specific first."""
    return [photo.with_name(f"{name}{suffix}") for name in (photo.name, photo.stem) for suffix in (".xmp", ".XMP")]


def _xmp_of(image: Image.Image, path: Path | None) -> Iterator[str]:
    """Yield the XMP data in an image, then those beside its file."""
    own = image.info.get("xmp") or b""
    yield own.decode(errors="replace") if isinstance(own, bytes) else str(own)
    if path is not None:
        for sidecar in filter(Path.is_file, sidecars_of(path)):
            with suppress(OSError), sidecar.open("rb") as file:
                yield file.read(_MAX_XMP_BYTES).decode(errors="replace")


def _property(xmp: str, name: str) -> str:
    """Return a simple property of XMP data, written as an attribute or an element; empty without it.

    Not parsed as XML, whose entities could grow without bound; programs write these prefixes alone.
    """
    match = re.search(rf"{re.escape(name)}\s*(?:=\s*[\"']([^\"'<]*)|>([^<]*)<)", xmp)
    return (match[1] or match[2] or "").strip() if match else ""


def _text(value: object) -> str:
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    return value.strip("\x00 ") if isinstance(value, str) else ""
