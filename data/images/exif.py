"""Orientation, place and date of a photo from its EXIF data."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from math import isfinite

from PIL import Image

_ORIENTATION, _EXIF_DATE, _EXIF_IFD, _GPS_IFD = 0x0112, 0x0132, 0x8769, 0x8825
_TAKEN, _TAKEN_OFFSET = 0x9003, 0x9011
_OFFSET = re.compile(r"[+-]([01][0-9]|2[0-3]):[0-5][0-9]")

_quiet_lock = threading.Lock()


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the warnings of image libraries about odd files."""
    # `catch_warnings` swaps a global, so one thread at a time.
    with _quiet_lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def read_exif(image: Image.Image) -> tuple[int, tuple[float, float] | None, str | None]:
    """Return orientation, place and date; damaged EXIF data count as none."""
    with quiet():
        try:
            exif = image.getexif()
            orientation = exif.get(_ORIENTATION, 1)
            place = _place(exif.get_ifd(_GPS_IFD))
            details = exif.get_ifd(_EXIF_IFD)
            date = _date(details.get(_TAKEN) or exif.get(_EXIF_DATE), details.get(_TAKEN_OFFSET))
        except Exception:  # a broken tag must not make the image unreadable
            return 1, None, None
    return orientation if isinstance(orientation, int) else 1, place, date


def _place(gps: dict[int, object]) -> tuple[float, float] | None:
    latitude = _degrees(gps.get(2), gps.get(1), negative="S", limit=90)
    longitude = _degrees(gps.get(4), gps.get(3), negative="W", limit=180)
    if latitude is None or longitude is None or (latitude == 0 and longitude == 0):
        return None  # receivers without a fix write 0, 0
    return latitude, longitude


def _degrees(parts: object, reference: object, *, negative: str, limit: float) -> float | None:
    if not isinstance(parts, tuple) or len(parts) != 3:
        return None
    try:
        degrees, minutes, seconds = (float(part) for part in parts)
    except (TypeError, ValueError, ZeroDivisionError):
        return None
    value = degrees + minutes / 60 + seconds / 3600
    if not isfinite(value) or not 0 <= value <= limit:
        return None
    return round(-value if str(reference).strip("\x00 ").upper() == negative else value, 6)


def _date(taken: object, offset: object) -> str | None:
    moment = moment_of(taken, offset)
    return moment.isoformat() if moment is not None else None


def moment_of(taken: object, offset: object, fraction: object = None) -> datetime | None:
    """Return the time of three tags: time, offset from UTC, decimals of the second; None without a valid time."""
    if not isinstance(taken, str):
        return None
    text = taken.strip("\x00 ")
    try:
        moment = datetime.strptime(text, "%Y:%m:%d %H:%M:%S")
        if isinstance(offset, str) and _OFFSET.fullmatch(offset.strip("\x00 ")):
            moment = moment.replace(tzinfo=datetime.strptime(offset.strip("\x00 "), "%z").tzinfo)
    except ValueError:
        return None
    if isinstance(fraction, str) and (digits := fraction.strip("\x00 ")).isdecimal() and digits.isascii():
        moment = moment.replace(microsecond=int(digits[:6].ljust(6, "0")))
    return moment
