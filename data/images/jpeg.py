"""JPEGs for models: small enough, upright, without camera metadata.

Judges of re-ranking and the reader of recognition send the same ones.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Final

from PIL import Image

from data.images import MAX_SIDE
from data.images.decode import MAX_BYTES, read_image
from data.images.views import MARGIN, crop_to
from data.records import Box

MAX_SENT_BYTES: Final = 600_000
QUALITY: Final = 88
# All APPn segments except APP0 (JFIF), APP2 (colour profile) and APP14 (Adobe's colours), and comments.
_DROPPED: Final = frozenset((0xE1, *range(0xE3, 0xEE), 0xEF, 0xFE))
_START_OF_SCAN: Final = 0xDA
_ORIENTATION: Final = 0x0112


def jpeg_of(path: Path, box: Box | None = None, *, max_side: int = MAX_SIDE) -> bytes:
    """Return a photo as a JPEG file of at most `max_side` pixels, upright, without place, date and comments.

    A JPEG that is already small and upright keeps its pixels: decoding and encoding a photo again takes longer than all
    other work for a question. With a box, in pixels of the upright file, it is the crop to this bird.

    Raises:
        BadImage: if it cannot be read.
    """
    content = _small_jpeg(path, max_side) if box is None else None
    if content is not None:
        return content
    picture = read_image(path, min_side=max_side) if box is None else crop_to(read_image(path), box, MARGIN)
    picture.thumbnail((max_side, max_side), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=QUALITY)
    return out.getvalue()


def _small_jpeg(path: Path, max_side: int) -> bytes | None:
    """Return the bytes of a small, upright RGB JPEG without its metadata; None for any other file."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_SENT_BYTES + 1)
    except (OSError, ValueError):
        return None  # `read_image` reports the error
    if not content.startswith(b"\xff\xd8\xff") or len(content) > min(MAX_SENT_BYTES, MAX_BYTES):
        return None
    read_image(content, min_side=64)  # raises for an incomplete one; fast at an eighth of the size
    try:
        with Image.open(io.BytesIO(content)) as opened:
            is_upright = opened.getexif().get(_ORIENTATION, 1) == 1
            if not is_upright or opened.mode != "RGB" or max(opened.size) > max_side or opened.format != "JPEG":
                return None
    except Exception:  # a broken tag: `read_image` ignores it
        return None
    return _without_metadata(content)


def _without_metadata(content: bytes) -> bytes | None:
    kept = [content[:2]]
    at = 2
    while at + 4 <= len(content):
        if content[at] != 0xFF:
            return None
        kind = content[at + 1]
        if kind == 0xFF:  # padding
            at += 1
            continue
        if kind == _START_OF_SCAN:
            kept.append(content[at:])
            return b"".join(kept)
        end = at + 2 + int.from_bytes(content[at + 2 : at + 4], "big")
        if kind not in _DROPPED:
            kept.append(content[at:end])
        at = end
    return None
