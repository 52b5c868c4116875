"""Kinds of image files, by name and first bytes, and what their headers say: orientation, place, date and moment."""

from __future__ import annotations

import ctypes
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from math import isfinite
from pathlib import Path
from typing import BinaryIO, Final

from PIL import Image

from data.errors import BadImage

RAW: Final = frozenset(
    (
        ".3fr", ".arw", ".cr2", ".cr3", ".crw", ".dcr", ".dng", ".erf", ".fff", ".iiq", ".kdc", ".mef", ".mos", ".mrw",
        ".nef", ".nrw", ".orf", ".pef", ".raf", ".raw", ".rw2", ".rwl", ".sr2", ".srf", ".srw", ".x3f",
    )
)  # fmt: skip
VIDEO: Final = frozenset(
    (".3gp", ".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts", ".webm", ".wmv")
)
KINDS: Final = (
    ("RAW photo", RAW, "export JPEGs"),
    ("video", VIDEO, "save stills as JPEG"),
)
"""Kind of file, its extensions in lower case, remedy."""


def unsupported_text(suffix: str) -> str:
    """Return the kind of an unsupported file and the remedy; empty for any other extension."""
    for kind, suffixes, remedy in KINDS:
        if suffix.lower() in suffixes:
            return f"a {kind}, which is not supported: {remedy}"
    return ""


FORMATS: Final = ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "MPO", "HEIF", "AVIF")
EXPECTED: Final = "expected a JPEG, PNG, WebP, GIF, TIFF, BMP, HEIC or AVIF image"

_HEIF_BRANDS: Final = frozenset((b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"))
# Files given by mistake, by their first bytes.
_OTHERS: Final[tuple[tuple[bytes, str], ...]] = (
    (b"%PDF", "a PDF document"),
    (b"<!doctype html", "an HTML page"),
    (b"<html", "an HTML page"),
    (b"<svg", "an SVG drawing"),
    (b"<?xml", "an XML document (SVG?)"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"8BPS", "a Photoshop document"),
    (b"RIFF", "a sound or video file"),
    (b"ID3", "a sound file"),
    (b"\x00\x00\x00\x0cjP  ", "a JPEG 2000 image"),
)
_quiet_lock = threading.Lock()


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the warnings of image libraries about odd files."""
    # `catch_warnings` swaps a global, so one thread at a time.
    with _quiet_lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@cache
def silence_libtiff() -> None:
    """Keep the library from printing to stderr, where it can be reached."""
    from PIL import _imaging

    with suppress(OSError, AttributeError):  # linked into Pillow, without names
        library = ctypes.CDLL(_imaging.__file__)
        library.TIFFSetErrorHandler.restype = ctypes.c_void_p
        library.TIFFSetErrorHandler(None)


def open_picture(file: BinaryIO, name: str) -> Image.Image:
    """Return the image in a file with its header read, only through the plug-ins of the supported formats.

    `Image.open` would warn or fail at a pixel limit that is global to the process.

    Raises:
        BadImage: if no plug-in accepts it; decoders raise other errors for damaged headers.
    """
    head = file.read(512)
    prefix = head[:16]
    if prefix[4:8] == b"ftyp" and prefix[8:12] in _HEIF_BRANDS:
        _register_heif()
    Image.init()
    for kind in FORMATS:
        factory, accept = Image.OPEN.get(kind, (None, None))
        if factory is None:
            continue
        with quiet():
            accepted = accept(prefix) if accept is not None else True
            # A plug-in may return its reason for rejecting the file.
            if accepted and not isinstance(accepted, str):
                if kind == "TIFF":
                    silence_libtiff()
                file.seek(0)
                return factory(file, "")
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    for magic, what in _OTHERS:
        if start.startswith(magic.lower()):
            raise BadImage(f"{name} is {what}, {EXPECTED}")
    raise BadImage(f"{name} is not an image, {EXPECTED}")


def _register_heif() -> None:
    from pillow_heif import register_heif_opener  # 50 ms and a C library: only when such a file comes

    if "HEIF" not in Image.OPEN:
        register_heif_opener()


def media_type_of(content: bytes) -> str | None:
    """Return the media type of an image by its first bytes (a TIFF thumbnail is a JPEG), or None."""
    for start, kind in (
        (b"\xff\xd8\xff", "jpeg"),
        (b"\x89PNG", "png"),
        (b"GIF8", "gif"),
        (b"II*\x00", "tiff"),
        (b"MM\x00*", "tiff"),
    ):
        if content.startswith(start):
            return f"image/{kind}"
    return "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None


_ORIENTATION, _EXIF_DATE, _EXIF_IFD, _GPS_IFD = 0x0112, 0x0132, 0x8769, 0x8825
_TAKEN, _TAKEN_OFFSET = 0x9003, 0x9011
_MODEL, _SERIAL = 0x0110, 0xA431
_MOMENTS: Final = ((0x9003, 0x9291, 0x9011), (0x9004, 0x9292, 0x9012))
"""Tags of time, fraction of a second and offset from UTC: of the exposure, then of the digitisation."""
_OFFSET = re.compile(r"[+-]([01][0-9]|2[0-3]):[0-5][0-9]")


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
    for time, fraction, offset in _MOMENTS:
        taken = moment_of(details.get(time), details.get(offset), details.get(fraction))
        if taken is not None:
            return Moment(time=taken, camera=(_text(exif.get(_MODEL)), _text(details.get(_SERIAL))))
    return None


def _text(value: object) -> str:
    return value.strip("\x00 ") if isinstance(value, str) else ""
