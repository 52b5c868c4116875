"""Image files: checked before they are decoded, upright, always 8-bit RGB; all faults raise `BadImage`."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, sqrt
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import numpy as np
from PIL import Image

from data.errors import BadImage
from data.images import RAW
from data.images.exif import read_shot
from data.images.header import EXPECTED, NO_VIDEO, START_OF_SCAN, VIDEO, markers_of, open_picture
from data.images.memory import check_shape, room_to_decode

if TYPE_CHECKING:
    from PIL import ImageCms

ENCODER_SIDE: Final = 512  # least pixels of the shorter side of photos and reference photos, whole or before a crop
MAX_BYTES: Final = 100 * 2**20
MAX_TIFF_BYTES: Final = 400 * 2**20
"""Of files that are not read into memory: 60 megapixels of 16 bits."""
LEAST_ROWS: Final = 0.95
"""Share of the rows of a JPEG cut short that must be readable."""
NEAR_SRGB: Final = 6
"""Largest difference of a colour, of 255, for which it is not converted to sRGB."""
MAX_PIXELS: Final = 200_000_000  # the largest phone cameras
MAX_KEPT_PIXELS: Final = 8_000_000
"""Of an image that is shrunk: dozens wait for an encoder at once."""
_BITS, _PLANES = 258, 284
_TIFF: Final = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
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
    max_bytes: int | None = None,
    min_side: int | None = None,
) -> Image.Image:
    """Return the image in a file or in bytes: upright, RGB, transparency on white, the first frame of several.

    Args:
        source: a path, or the bytes of an image file.
        max_pixels: limit of pixels, checked before decoding.
        max_bytes: limit of the file size; default: `MAX_BYTES`, of TIFF and RAW files `MAX_TIFF_BYTES`.
        min_side: if given, the image is shrunk by whole factors while its shorter side keeps at least this many
            pixels; JPEGs are then decoded at 1/2, 1/4 or 1/8 of their size, which is much faster.

    Raises:
        BadImage: if it is missing, a folder, empty, too large, damaged, or not an image of a supported format.
    """
    return _read(source, max_pixels, max_bytes, min_side, is_whole=True).image


def read_photo(
    source: Path | str | bytes,
    *,
    max_pixels: int = MAX_PIXELS,
    max_bytes: int | None = None,
    min_side: int | None = None,
) -> Photo:
    """Return the image as from `read_image`, with its place and date.

    Also of a JPEG cut short of which `LEAST_ROWS` can be read; the rest is grey, and a note says so.
    """
    return _read(source, max_pixels, max_bytes, min_side, is_whole=False)


def _read(
    source: Path | str | bytes, max_pixels: int, max_bytes: int | None, min_side: int | None, *, is_whole: bool
) -> Photo:
    name = "the image" if isinstance(source, bytes) else str(source)
    with ExitStack() as stack, _as_bad_image(name):
        file, exif, note = _opened(source, max_bytes, stack)
        opened = open_picture(file, name)
        width, height = opened.size
        if width * height > max_pixels:
            raise BadImage(f"{name} has {width} x {height} pixels; the limit is {max_pixels:,}")
        check_shape(width, height, name)
        tags: Any = getattr(opened, "tag_v2", {})
        if tags.get(_PLANES) == 2 and 16 in tags.get(_BITS, ()):  # whose pixels Pillow gets wrong
            raise BadImage(f"{name} has planes of 16 bits, which are not supported: save it as a JPEG")
        if min_side is not None:
            opened.draft(None, (min_side, min_side))
        jpeg = file.getvalue() if opened.format in ("JPEG", "MPO") and isinstance(file, io.BytesIO) else b""
        scans = _scans(opened, jpeg)
        with room_to_decode(opened, name, scans=scans, full_size=(width, height)):
            shot = read_shot(opened, None if isinstance(source, bytes) else Path(source), exif)  # decodes a PNG
            try:
                opened.load()
            except OSError as error:
                if is_whole or not jpeg or "truncated" not in str(error):
                    raise
                opened.close()
                opened, note = _load_cut(jpeg, scans, min_side, error)
            image = small_rgb(opened, 1 if min_side is None else _factor(opened.size, min_side))
        profile = opened.info.get("icc_profile")
        if profile and opened.mode in ("RGB", "RGBA") and (to_srgb := _to_srgb(profile)) is not None:
            image = to_srgb.apply(image)
        image.info.clear()  # a copy would be saved with the comment of the photo
        if shot.orientation in _ORIENTATIONS:
            image = image.transpose(_ORIENTATIONS[shot.orientation])
    size = (height, width) if shot.orientation in _ON_THEIR_SIDE else (width, height)
    scale = max(width, height) / max(image.size)
    notes = (note, *shot.notes) if note else shot.notes
    return Photo(image=image, place=shot.place, date=shot.date, notes=notes, scale=scale, size=size)


def _scans(image: Image.Image, jpeg: bytes) -> list[bytes]:
    """Return the headers of the scans of a JPEG: number of components, components, first and last coefficient, bits.

    A JPEG that is not progressive, with all components in its first scan, has no other.
    """
    scans = []
    for kind, at in markers_of(jpeg):
        if kind == START_OF_SCAN:
            scans.append(jpeg[at + 2 : at + max(8, int.from_bytes(jpeg[at : at + 2], "big"))].ljust(6, b"\xff"))
            if "progressive" not in image.info and scans[0][:1] == bytes([len(image.getbands())]):
                break
    return scans


def _load_cut(jpeg: bytes, scans: Sequence[bytes], min_side: int | None, error: OSError) -> tuple[Image.Image, str]:
    """Return a JPEG cut short with the pixels that can be read, a flat colour below, and a note.

    Of one in several scans, that of the finest details must have begun: all rows can be read then.

    Raises:
        OSError: `error`, if less than `LEAST_ROWS` can be read.
    """
    image = open_picture(io.BytesIO(jpeg + b"\xff\xd9"), "")
    if min_side is not None:
        image.draft(None, (min_side, min_side))
    if len(scans) > 1:
        if not any(scan[1] == scans[0][1] and scan[-2] == 63 and scan[-1] & 15 == 0 for scan in scans):
            raise error
        missing = "the finest details are missing"
    else:
        share = _share_of_rows(jpeg)
        if share < LEAST_ROWS:
            raise error
        missing = f"{100 * share:.0f} % of the rows could be read"
    image.load()
    return image, f"Damaged: the file is cut short, {missing}."


def _share_of_rows(jpeg: bytes) -> float:
    """Return the share of the rows of a JPEG that can be read, at least in part."""
    # The decoder wants to see some bytes ahead. At an eighth of the size, a block of 8 x 8 pixels is one.
    image: Any = open_picture(io.BytesIO(jpeg + bytes(8)), "")
    image.draft(None, (1, 1))
    noise = Image.frombytes(image.mode, image.size, os.urandom(image.width * image.height * len(image.getbands())))
    image.load_prepare()
    image.im.paste(noise.im, (0, 0, *image.size))
    with suppress(OSError):
        image.load()
    image.tile = []
    is_read = (np.asarray(image) != np.asarray(noise)).reshape(image.height, -1).any(axis=1)
    at_a_time = max(layer[2] for layer in image.layer)
    n_rows = (ceil(int(is_read.sum()) / at_a_time) + 1) * at_a_time
    return float(min(1.0, n_rows / image.height))


@lru_cache(maxsize=8)
def _to_srgb(profile: bytes) -> ImageCms.ImageCmsTransform | None:
    """Return the conversion of RGB pixels with a colour profile; None for damaged profiles, and those near sRGB."""
    if profile[16:20] != b"RGB ":
        return None
    from PIL import ImageCms

    try:
        given, srgb = ImageCms.ImageCmsProfile(io.BytesIO(profile)), ImageCms.createProfile("sRGB")
        transform = ImageCms.buildTransform(given, srgb, "RGB", "RGB")
    except (ImageCms.PyCMSError, OSError):
        return None
    levels = np.moveaxis(np.indices((9, 9, 9)), 0, -1).reshape(27, 27, 3) * 31
    colours = Image.fromarray(levels.astype(np.uint8))
    change = np.abs(np.asarray(transform.apply(colours)).astype(int) - levels).max()
    return transform if change > NEAR_SRGB else None


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


def _opened(
    source: Path | str | bytes, max_bytes: int | None, stack: ExitStack
) -> tuple[BinaryIO, Image.Exif | None, str]:
    """Return the file of an image, EXIF data that it lacks itself, and a note.

    Only TIFF files are read from disk piece by piece; pipes and devices are never opened, they may not end.
    """
    exif, note, limit = None, "", MAX_BYTES if max_bytes is None else max_bytes
    file: BinaryIO
    if isinstance(source, bytes):
        file, size, name = io.BytesIO(_without_zeros(source)), len(source), "the image"
    else:
        path, name = Path(source), str(source)
        try:
            state = path.stat()
            if S_ISDIR(state.st_mode):
                raise BadImage(f"{name} is a folder, {EXPECTED}")
            if not S_ISREG(state.st_mode):
                raise BadImage(f"{name} is not a regular file, {EXPECTED}")
            if path.suffix.lower() in VIDEO:
                raise BadImage(f"{name} is {NO_VIDEO}")
            size = state.st_size
            file = stack.enter_context(path.open("rb"))
            is_raw = path.suffix.lower() in RAW and size > 0
            if is_raw or file.read(4) in _TIFF:
                limit = MAX_TIFF_BYTES if max_bytes is None else max_bytes
                file.seek(0)
            else:
                file.seek(0)
                content = file.read(min(size, limit) + 1)  # `read(n)` allocates n bytes first
                file, size = io.BytesIO(_without_zeros(content)), len(content)
            if is_raw and size <= limit:
                from data.images.raw import open_raw

                content, exif, note = stack.enter_context(open_raw(path))
                file = io.BytesIO(_without_zeros(content))
        except (FileNotFoundError, NotADirectoryError):
            if is_web_address(name):
                address = re.sub(":/+", "://", name, count=1)
                raise BadImage(f"{address} is a web address; expected a local file, so download it first") from None
            raise BadImage(f"{name} does not exist", hint="Check the path.") from None
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            raise BadImage(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not size:
        raise BadImage(f"{name} is empty, {EXPECTED}")
    if size > limit:
        raise BadImage(f"{name} is larger than {limit:,} bytes: save it as a JPEG, or as a smaller picture")
    return file, exif, note


def _without_zeros(content: bytes) -> bytes:
    """Return a JPEG without zeros at its end, where cards that fail or copies cut short leave them for pixels."""
    return content.rstrip(b"\0") if content.startswith(b"\xff\xd8") and content.endswith(bytes(16)) else content


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
