"""Moment and camera of a photo, from the head of its file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from data.images.decode import open_picture
from data.images.exif import moment_of, quiet

_MODEL, _SERIAL, _EXIF_IFD = 0x0110, 0xA431, 0x8769
_TAKEN: Final = ((0x9003, 0x9291, 0x9011), (0x9004, 0x9292, 0x9012))
"""Tags of time, fraction of a second and offset from UTC: of the exposure, then of the digitisation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Time of the exposure and camera."""

    time: datetime
    """Local time with fractions of a second; with the offset from UTC where the camera noted it."""
    camera: tuple[str, str]
    """Model and serial number; empty where the file has none."""

    def seconds_to(self, other: Moment) -> float:
        """Return the seconds between two moments, without a sign."""
        first, second = self.time, other.time
        if first.tzinfo is None or second.tzinfo is None:
            first, second = first.replace(tzinfo=None), second.replace(tzinfo=None)
        return abs((second - first).total_seconds())


def read_moment(path: Path | str) -> Moment | None:
    """Return the moment of a photo; None if its EXIF data have no time of exposure or the file is unreadable.

    The time of the last change does not count: programs set it when they export a folder.
    """
    try:
        if not Path(path).is_file():
            return None
        with Path(path).open("rb") as file:
            picture = open_picture(file, str(path))
            with quiet():
                exif = picture.getexif()
                details = exif.get_ifd(_EXIF_IFD)
    except Exception:  # decoders raise whatever comes; reading the photo reports it
        return None
    for time, fraction, offset in _TAKEN:
        taken = moment_of(details.get(time), details.get(offset), details.get(fraction))
        if taken is not None:
            return Moment(time=taken, camera=(_text(exif.get(_MODEL)), _text(details.get(_SERIAL))))
    return None


def _text(value: object) -> str:
    return value.strip("\x00 ") if isinstance(value, str) else ""
