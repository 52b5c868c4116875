"""Kinds of image files, by name and first bytes."""

from __future__ import annotations

import ctypes
import mmap
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import BinaryIO, Final

from PIL import Image

from data.errors import BadImage

VIDEO: Final = frozenset(
    (".3gp", ".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts", ".webm", ".wmv")
)
NO_VIDEO: Final = "a video, which is not supported: save stills as JPEG"


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


START_OF_SCAN: Final = 0xDA
END_OF_IMAGE: Final = 0xD9
_MARKER: Final = re.compile(rb"\xff([^\x00\xd0-\xd7\xff])")
"""A marker of a JPEG, unlike the stuffed bytes and restarts of its pixels."""


def markers_of(content: bytes | mmap.mmap, start: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the markers of a JPEG that starts somewhere: the second byte, and the position after it; the end is last.

    Parts of a file such as the video of a motion photo follow the end; thumbnails lie in segments, which are left out.
    """
    at = start + 2
    while (found := _MARKER.search(content, at)) is not None:
        kind, at = found[1][0], found.end()
        yield kind, at
        if kind == END_OF_IMAGE:
            return
        at += max(2, int.from_bytes(content[at : at + 2], "big"))


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
