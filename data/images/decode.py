"""Image files: checked before they are decoded, upright, always 8-bit RGB; all faults raise `BadImage`."""

from __future__ import annotations

import ctypes
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from math import ceil, sqrt
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO, Final

import numpy as np
from PIL import Image

from data.errors import BadImage
from data.images.exif import quiet, read_exif
from data.images.find import is_web_address, unsupported_text
from data.images.memory import check_shape, room_to_decode


@cache
def silence_libtiff() -> None:
    """Keep the library from printing to stderr, where it can be reached."""
    from PIL import _imaging

    with suppress(OSError, AttributeError):  # linked into Pillow, without names
        library = ctypes.CDLL(_imaging.__file__)
        library.TIFFSetErrorHandler.restype = ctypes.c_void_p
        library.TIFFSetErrorHandler(None)


ENCODER_SIDE: Final = 512  # least pixels of the shorter side of photos and reference photos, whole or before a crop
MAX_BYTES: Final = 100 * 2**20
MAX_PIXELS: Final = 200_000_000  # the largest phone cameras
MAX_KEPT_PIXELS: Final = 8_000_000
"""Of an image that is shrunk: dozens wait for an encoder at once."""
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
_ORIENTATIONS: Final = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Photo:
    """An image with place and date from its EXIF data."""

    image: Image.Image
    place: tuple[float, float] | None = None
    """Latitude and longitude in degrees, north and east positive."""
    date: str | None = None
    """ISO 8601, local time; with the offset from UTC where the camera noted it."""
    scale: float = 1.0
    """Pixels of the upright file for each pixel of `image`, which may have been shrunk."""


def read_image(
    source: Path | str | bytes,
    *,
    max_pixels: int = MAX_PIXELS,
    max_bytes: int = MAX_BYTES,
    min_side: int | None = None,
) -> Image.Image:
    """Return the image in a file or in bytes: upright, RGB, transparency on white, the first frame of several.

    Args:
        source: a path, or the bytes of an image file.
        max_pixels: limit of pixels, checked before decoding.
        max_bytes: limit of the file size.
        min_side: if given, the image is shrunk by whole factors while its shorter side keeps at least this many
            pixels; JPEGs are then decoded at 1/2, 1/4 or 1/8 of their size, which is much faster.

    Raises:
        BadImage: if it is missing, a folder, empty, too large, damaged, or not an image of a supported format.
    """
    return read_photo(source, max_pixels=max_pixels, max_bytes=max_bytes, min_side=min_side).image


def read_photo(
    source: Path | str | bytes,
    *,
    max_pixels: int = MAX_PIXELS,
    max_bytes: int = MAX_BYTES,
    min_side: int | None = None,
) -> Photo:
    """Return the image as from `read_image`, with its place and date."""
    content, name = _read_bytes(source, max_bytes)
    with _as_bad_image(name):
        opened = open_picture(io.BytesIO(content), name)
        width, height = opened.size
        if width * height > max_pixels:
            raise BadImage(f"{name} has {width} x {height} pixels; the limit is {max_pixels:,}")
        check_shape(width, height, name)
        if min_side is not None:
            opened.draft(None, (min_side, min_side))
        with room_to_decode(opened, content, name, full_size=(width, height)):
            orientation, place, date = read_exif(opened)  # which decodes a PNG
            opened.load()
            image = small_rgb(opened, 1 if min_side is None else _factor(opened.size, min_side))
        if orientation in _ORIENTATIONS:
            image = image.transpose(_ORIENTATIONS[orientation])
    return Photo(image=image, place=place, date=date, scale=max(width, height) / max(image.size))


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


def to_rgb(image: Image.Image) -> Image.Image:
    """Return an image of any mode as 8-bit RGB, transparency on white; an RGB image is returned unchanged.

    Raises:
        BadImage: if its pixels cannot be read.
    """
    with _as_bad_image("the image"):
        return small_rgb(image)


def _factor(size: tuple[int, int], min_side: int) -> int:
    """Return the divisor of the sides after which the shorter one has `min_side` pixels, or less in a long panorama."""
    width, height = size
    return max(1, min(size) // max(1, min_side), ceil(sqrt(width * height / MAX_KEPT_PIXELS)))


def _read_bytes(source: Path | str | bytes, max_bytes: int) -> tuple[bytes, str]:
    """Return the bytes and a name for messages; pipes and devices are never opened, they may not end."""
    if isinstance(source, bytes):
        content, name = source, "the image"
    else:
        path, name = Path(source), str(source)
        try:
            state = path.stat()
            if S_ISDIR(state.st_mode):
                raise BadImage(f"{name} is a folder, {EXPECTED}")
            if not S_ISREG(state.st_mode):
                raise BadImage(f"{name} is not a regular file, {EXPECTED}")
            if unsupported := unsupported_text(path.suffix):
                raise BadImage(f"{name} is {unsupported}")
            with path.open("rb") as file:
                # `read(n)` allocates n bytes first, so n is the size of the file.
                content = file.read(min(state.st_size, max_bytes) + 1)
        except (FileNotFoundError, NotADirectoryError):
            if is_web_address(name):
                address = re.sub(":/+", "://", name, count=1)
                raise BadImage(f"{address} is a web address; expected a local file, so download it first") from None
            raise BadImage(f"{name} does not exist", hint="Check the path.") from None
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            raise BadImage(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not content:
        raise BadImage(f"{name} is empty, {EXPECTED}")
    if len(content) > max_bytes:
        raise BadImage(f"{name} is larger than {max_bytes:,} bytes")
    return content, name


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


@contextmanager
def _as_bad_image(name: str) -> Iterator[None]:
    try:
        yield
    except BadImage:
        raise
    except Exception as error:  # decoders raise whatever comes: OSError, SyntaxError, struct.error, zlib.error ...
        raise BadImage(f"{name} is damaged or incomplete ({str(error) or type(error).__name__})") from error


STRIP_PIXELS: Final = 2**20  # converted at a time, so that a large image is never in memory twice
_OF_16_BITS: Final = np.rint(np.arange(2**16) * (255 / 65535)).astype(np.uint8)
_WITH_ALPHA: Final = frozenset(("RGBA", "RGBa", "LA", "La", "PA"))


def small_rgb(image: Image.Image, factor: int = 1) -> Image.Image:
    """Return an image as RGB, its sides divided by `factor`; an RGB image is returned unchanged with a factor of 1."""
    if image.mode == "RGB" and "transparency" not in image.info:
        return image.reduce(factor) if factor > 1 else image
    scale = _scale_of(image)
    width, height = -(-image.width // factor), -(-image.height // factor)
    out = Image.new("RGB", (width, height))
    for top, strip in _strips(image, factor):
        rgb = _strip_to_rgb(strip, scale)
        out.paste(rgb.reduce(factor) if factor > 1 else rgb, (0, top // factor))
    return out


def _strips(image: Image.Image, factor: int) -> Iterator[tuple[int, Image.Image]]:
    """Yield top row and pixels of strips, each a multiple of `factor` high but for the last."""
    rows = max(factor, STRIP_PIXELS // image.width // factor * factor)
    for top in range(0, image.height, rows):
        yield top, image.crop((0, top, image.width, min(top + rows, image.height)))


def _strip_to_rgb(strip: Image.Image, scale: float) -> Image.Image:
    if strip.mode.startswith("I;16"):
        return Image.fromarray(_OF_16_BITS[np.asarray(strip)], "L").convert("RGB")
    if strip.mode in ("I", "F"):
        levels = _levels(strip)
        return Image.fromarray(np.clip(np.rint(levels * scale), 0, 255).astype(np.uint8), "L").convert("RGB")
    if strip.mode in _WITH_ALPHA or "transparency" in strip.info:
        opaque = strip.convert("RGBA")
        white = Image.new("RGBA", opaque.size, (255, 255, 255, 255))
        return Image.alpha_composite(white, opaque).convert("RGB")
    return strip.convert("RGB")


def _levels(strip: Image.Image) -> np.ndarray:
    return np.nan_to_num(np.asarray(strip).astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)


def _scale_of(image: Image.Image) -> float:
    """Return the factor from grey levels of 32 bits or floats to 0 to 255: the smallest usual scale that fits."""
    if image.mode not in ("I", "F"):
        return 1.0
    top = max((float(_levels(strip).max(initial=0.0)) for _, strip in _strips(image, 1)), default=0.0)
    if image.mode == "F":
        return 255.0 if top <= 1.0 else 255 / max(255.0, top)
    return 255 / max(65535.0, top) if top > 255 else 1.0
