"""Memory that decoding an image takes: known from its header, within one budget for all threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from PIL import Image

from data.errors import BadImage

MAX_DECODED_BYTES: Final = 384 * 2**20
"""For one image: 100 megapixels of RGB, or a JPEG of any allowed size that is shrunk while it is decoded."""
MAX_SCANS: Final = 100
"""Of a progressive JPEG, which usually has 10; each scan passes over all pixels."""
MAX_RATIO: Final = 200
"""Longer to shorter side; a panorama has 10."""

_BITS, _ROWS, _STRIP_BYTES, _TILE_WIDTH = 258, 278, 279, 322
_ONE_BYTE: Final = ("1", "L", "P")
_BUFFERS: Final = {"HEIF": 2, "AVIF": 3, "WEBP": 4}
"""Memory as a multiple of the pixels, measured: these decoders have buffers of their own."""


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
def room_to_decode(
    image: Image.Image, name: str, *, scans: Sequence[bytes], full_size: tuple[int, int]
) -> Iterator[None]:
    """Hold the memory that an opened image takes while it is decoded and converted; wait for other threads.

    `scans` are those of a JPEG, `full_size` is its size before `draft`.

    Raises:
        BadImage: if it would take more than `MAX_DECODED_BYTES`, or too long.
    """
    if len(scans) > MAX_SCANS:
        raise BadImage(f"{name} is a JPEG of {len(scans):,} scans; the limit is {MAX_SCANS}")
    with hold_memory(decoded_bytes(image, full_size, has_scans=len(scans) > 1), name):
        yield


@contextmanager
def hold_memory(needed: int, name: str) -> Iterator[None]:
    """Hold a number of bytes for decoding an image; wait for other threads.

    Raises:
        BadImage: for more than `MAX_DECODED_BYTES`.
    """
    if needed > MAX_DECODED_BYTES:
        raise BadImage(
            f"{name} would take {needed >> 20:,} MiB of memory; the limit is {MAX_DECODED_BYTES >> 20} MiB. "
            "Save it as a smaller picture or as a plain JPEG"
        )
    with _ROOM.take(needed):
        yield


def decoded_bytes(image: Image.Image, full_size: tuple[int, int], *, has_scans: bool = False) -> int:
    """Return the bytes that Pillow takes to decode an opened image, perhaps a JPEG of several scans."""
    mode = image.mode
    per_pixel = 1 if mode in _ONE_BYTE else 2 if mode.startswith("I;16") else 4  # RGB too has four
    pixels = int(image.width * image.height * per_pixel * _BUFFERS.get(image.format or "", 1))
    if image.format == "TIFF":
        return pixels + _strip_bytes(image)
    return pixels + (_coefficients(image, full_size) if has_scans or "progressive" in image.info else 0)


def _strip_bytes(image: Image.Image) -> int:
    """Return the bytes of the largest strip of a compressed TIFF, packed and unpacked; tiles are small."""
    tags: Any = getattr(image, "tag_v2", {})
    if image.info.get("compression") == "raw" or _TILE_WIDTH in tags:
        return 0
    n_bits = sum(tags.get(_BITS, (8,))) * (1 if len(tags.get(_BITS, (8,))) > 1 else len(image.getbands()))
    unpacked = image.width * min(image.height, tags.get(_ROWS, image.height)) * n_bits // 8
    return int(unpacked + max(tags.get(_STRIP_BYTES, (0,))))


def _coefficients(image: Image.Image, full_size: tuple[int, int]) -> int:
    """Return the bytes of the coefficients of a JPEG of several scans, which are all held, whatever its final size."""
    layers = getattr(image, "layer", None) or [(0, 1, 1)] * 3
    most = max(layer[1] for layer in layers) * max(layer[2] for layer in layers)
    return int(2 * full_size[0] * full_size[1] * sum(layer[1] * layer[2] for layer in layers) / most)
