"""RAW photos of cameras: the JPEG that a camera keeps inside, or else the developed sensor data."""

from __future__ import annotations

import io
import mmap
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from PIL import Image

from data.errors import BadImage
from data.images.header import END_OF_IMAGE, markers_of, open_picture, quiet
from data.images.memory import hold_memory

LEAST_SIDE: Final = 300
"""Pixels of the shorter side of a preview that is used; older cameras keep thumbnails alone."""
BYTES_A_PIXEL: Final = 6
"""Memory that developing takes: 16 bits of the sensor, and four colours of 16 bits and three of 8 at half the size."""
_START: Final = b"\xff\xd8\xff"
_MOST_STARTS: Final = 500
_MOST_HEAD: Final = 2**18
_BYTE_ORDERS: Final = {b"II": b"*\x00", b"MM": b"\x00*"}


@contextmanager
def open_raw(path: Path) -> Iterator[tuple[bytes, Image.Exif | None, str]]:
    """Give the largest JPEG in a RAW photo, the EXIF data of the photo (None: those of the JPEG), and a note on it.

    Formats differ in where the JPEG lies, so it is looked for everywhere. The file is mapped, not read. Without a JPEG
    of `LEAST_SIDE` pixels the sensor data are developed by `rawpy`.

    Raises:
        BadImage: without such a JPEG and without `rawpy`, or for a file that it cannot read.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as data:
        with quiet():
            exif = _exif_of(data)
        width, height, start = max(_previews(data), default=(0, 0, 0))
        if min(width, height) >= LEAST_SIDE:
            end = next((at for kind, at in markers_of(data, start) if kind == END_OF_IMAGE), len(data))
            yield data[start:end], exif, f"RAW photo: read from its preview of {width} x {height} pixels."
            return
    exif = exif or Image.Exif()
    exif[0x0112] = 1  # it is developed upright
    yield _developed(path), exif, "RAW photo: developed from the sensor data."


def _previews(data: mmap.mmap) -> Iterator[tuple[int, int, int]]:
    """Yield width, height and start of the JPEGs in a file; sensor data may look like starts, but open as none."""
    at = -1
    for _ in range(_MOST_STARTS):
        at = data.find(_START, at + 1)
        if at < 0:
            return
        with suppress(Exception):  # decoders raise whatever comes
            yield *open_picture(io.BytesIO(data[at : at + _MOST_HEAD]), "preview").size, at


def _exif_of(data: mmap.mmap) -> Image.Exif | None:
    """Return the EXIF data of a RAW photo; None for a format that has them in its JPEG."""
    exif = Image.Exif()
    try:
        if data[4:12] == b"ftypcrx ":  # CR3 keeps each of its directories as a file of its own
            parts = [data[at + 4 : at + 2**16] if (at := data.find(b"CMT%d" % n)) >= 0 else b"" for n in (1, 2, 4)]
            exif.load(parts[0])
            for tag, part in ((0x8769, parts[1]), (0x8825, parts[2])):
                inner = Image.Exif()
                inner.load(part)
                exif.get_ifd(tag).update(inner)
            return exif
        if (order := _BYTE_ORDERS.get(data[:2])) is None:
            return None
        data[2:4] = order  # of a private copy: some makers have numbers of their own there
        data.seek(0)
        exif.load_from_fp(data)  # type: ignore[arg-type]  # it reads and seeks
        for tag in (0x8769, 0x8825):  # read while the file is mapped
            exif.get_ifd(tag)
    except Exception:  # damaged directories
        return None
    return exif


def _developed(path: Path) -> bytes:
    """Return the upright picture of the sensor data, at half their size, as the bytes of an image file."""
    try:
        import rawpy
    except ImportError:
        raise BadImage(
            f"{path} is a RAW photo without a preview: pip install '.[raw]' in Fieldmark's folder, or export JPEGs"
        ) from None
    try:
        with rawpy.RawPy() as raw:
            raw.open_file(str(path))
            n_bytes = BYTES_A_PIXEL * raw.sizes.raw_width * raw.sizes.raw_height
            with hold_memory(n_bytes, str(path)):
                raw.unpack()
                pixels = raw.postprocess(half_size=True, use_camera_wb=True)
    except rawpy.LibRawError as error:
        why = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else error
        raise BadImage(f"{path} is a RAW photo without a preview, damaged or of an unknown kind ({why})") from error
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "BMP")
    return out.getvalue()
