"""Image files: checked before they are decoded, upright, always 8-bit RGB; all faults raise `BadImage`.

The memory that decoding takes is known from the header, and one budget for all threads bounds it.
"""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil, sqrt
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Final

import numpy as np
from PIL import Image

from data.errors import BadImage
from data.images.exif import read_shot
from data.images.header import EXPECTED, open_picture, unsupported_text

MAX_DECODED_BYTES: Final = 384 * 2**20
"""For one image: 100 megapixels of RGB, or a JPEG of any allowed size that is shrunk while it is decoded."""
MAX_SCANS: Final = 100
"""Of a progressive JPEG, which usually has 10; each scan passes over all pixels."""
MAX_RATIO: Final = 200
"""Longer to shorter side; a panorama has 10."""

_ONE_BYTE: Final = ("1", "L", "P")
_BUFFERS: Final = {"TIFF": 1.5, "HEIF": 2, "AVIF": 3, "WEBP": 4}
"""Memory as a multiple of the pixels, measured: these decoders have buffers of their own."""
_START_OF_SCAN: Final = b"\xff\xda"


class _Room:
    """Bytes that all threads together may take for decoding."""

    def __init__(self, size: int) -> None:
        self._free = size
        self._changed = threading.Condition()

    @contextmanager
    def take(self, n: int) -> Iterator[None]:
        """Wait until `n` bytes are free, and hold them for the block."""
        with self._changed:
            self._changed.wait_for(lambda: self._free >= n)
            self._free -= n
        try:
            yield
        finally:
            with self._changed:
                self._free += n
                self._changed.notify_all()


_ROOM: Final = _Room(2 * MAX_DECODED_BYTES)


def check_shape(width: int, height: int, name: str) -> None:
    """Raise `BadImage` for an image without pixels, or so narrow that it is no photo and cannot be shrunk."""
    if width < 1 or height < 1:
        raise BadImage(f"{name} has no pixels")
    if max(width, height) > MAX_RATIO * min(width, height) and width * height > 2**20:
        raise BadImage(f"{name} has {width} x {height} pixels; the longer side may be {MAX_RATIO} times the shorter")


@contextmanager
def room_to_decode(image: Image.Image, content: bytes, name: str, *, full_size: tuple[int, int]) -> Iterator[None]:
    """Hold the memory that an opened image takes while it is decoded and converted; wait for other threads.

    `full_size` is its size before `draft`.

    Raises:
        BadImage: if it would take more than `MAX_DECODED_BYTES`, or too long.
    """
    if image.format in ("JPEG", "MPO") and (n := content.count(_START_OF_SCAN)) > MAX_SCANS:
        raise BadImage(f"{name} is a JPEG of {n:,} scans; the limit is {MAX_SCANS}")
    needed = decoded_bytes(image, full_size)
    if needed > MAX_DECODED_BYTES:
        raise BadImage(
            f"{name} would take {needed >> 20:,} MiB of memory; the limit is {MAX_DECODED_BYTES >> 20} MiB. "
            "Save it as a smaller picture or as a plain JPEG"
        )
    with _ROOM.take(needed):
        yield


def decoded_bytes(image: Image.Image, full_size: tuple[int, int]) -> int:
    """Return the bytes that Pillow takes to decode an opened image."""
    mode = image.mode
    per_pixel = 1 if mode in _ONE_BYTE else 2 if mode.startswith("I;16") else 4  # RGB too has four
    pixels = int(image.width * image.height * per_pixel * _BUFFERS.get(image.format or "", 1))
    return pixels + _coefficients(image, full_size)


def _coefficients(image: Image.Image, full_size: tuple[int, int]) -> int:
    """Return the bytes of the coefficients of a progressive JPEG, all of which are held, whatever its final size."""
    if "progressive" not in image.info:
        return 0
    layers = getattr(image, "layer", None) or [(0, 1, 1)] * 3
    most = max(layer[1] for layer in layers) * max(layer[2] for layer in layers)
    return int(2 * full_size[0] * full_size[1] * sum(layer[1] * layer[2] for layer in layers) / most)


ENCODER_SIDE: Final = 512  # least pixels of the shorter side of photos and reference photos, whole or before a crop
MAX_BYTES: Final = 100 * 2**20
MAX_PIXELS: Final = 200_000_000  # the largest phone cameras
MAX_KEPT_PIXELS: Final = 8_000_000
"""Of an image that is shrunk: dozens wait for an encoder at once."""
_ORIENTATIONS: Final = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_ON_THEIR_SIDE: Final = (5, 6, 7, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Photo:
    """An image with its place and date."""

    image: Image.Image
    place: tuple[float, float] | None = None
    """Latitude and longitude in degrees, north and east positive."""
    date: str | None = None
    """ISO 8601, local time; with the offset from UTC where the camera noted it; or a day."""
    notes: tuple[str, ...] = ()
    """Sentences on what could not be read or used; up to a colon they name the kind."""
    scale: float = 1.0
    """Pixels of the upright file for each pixel of `image`, which may have been shrunk."""
    size: tuple[int, int] | None = None
    """Width and height of the upright file, in pixels."""


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
            shot = read_shot(opened, None if isinstance(source, bytes) else Path(source))  # decodes a PNG
            opened.load()
            image = small_rgb(opened, 1 if min_side is None else _factor(opened.size, min_side))
        if shot.orientation in _ORIENTATIONS:
            image = image.transpose(_ORIENTATIONS[shot.orientation])
    size = (height, width) if shot.orientation in _ON_THEIR_SIDE else (width, height)
    scale = max(width, height) / max(image.size)
    return Photo(image=image, place=shot.place, date=shot.date, notes=shot.notes, scale=scale, size=size)


def to_rgb(image: Image.Image) -> Image.Image:
    """Return an image of any mode as 8-bit RGB, transparency on white; an RGB image is returned unchanged.

    Raises:
        BadImage: if its pixels cannot be read.
    """
    with _as_bad_image("the image"):
        return small_rgb(image)


def is_web_address(name: str) -> bool:
    """Return whether a name is a web address rather than a path, also with one slash, as `Path` writes it."""
    return re.match(r"(https?|ftp):/", name, re.IGNORECASE) is not None


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
