"""Pictures for models: the views of the birds in a photo for encoders, and JPEGs for chat models.

A bird has two views: the photo and the crop to its box. A bird that is small or has others beside it has a region
around its box in place of the photo. Photos and reference photos are encoded by the same rule. Judges of re-ranking and
the reader of recognition send the same JPEGs: small enough, upright, without camera metadata.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from PIL import Image

from data.arrays import FloatArray, as_unit_rows
from data.contracts import Detector, ImageEncoder
from data.images import MAX_SIDE
from data.images.decode import MAX_BYTES, read_image, read_photo
from data.images.header import START_OF_SCAN, markers_of
from data.records import Box, Detection

MARGIN: Final = 0.1
"""Added to each side of a box for the crop, as a share of the box."""
WIDE_MARGIN: Final = 0.5
"""Added to each side of a box for the region that replaces the photo."""
SMALL: Final = 0.4
"""A bird is small if both sides of its box are shorter than this share of the photo's."""

CLEAR: Final = 0.5
"""Lowest score of the second and further birds of a photo."""

Views = tuple[Image.Image, ...]
"""Pictures of one bird."""


def views_mark(detector: Detector | None) -> str:
    """Return the detector and the rule of views in one string; empty without a detector, where photos are whole."""
    return "" if detector is None else f"{detector.name}/photo-crop-{MARGIN}-{WIDE_MARGIN}-{SMALL}"


SOUGHT: Final = ("bird", "animal")
"""Kinds of detections that are identified: birds, and the animals of MegaDetector."""


def sought_in(detections: Sequence[Detection]) -> list[Detection]:
    """Return the birds of a photo, the best first: the best detection, and all that are clear."""
    birds = [each for each in detections if each.kind in SOUGHT]
    return [bird for number, bird in enumerate(birds) if not number or bird.score >= CLEAR]


def boxes_of(detections: Sequence[Detection]) -> list[Box]:
    """Return the boxes of the birds of a photo, the best first."""
    return [bird.box for bird in sought_in(detections)]


def views_of(picture: Image.Image, boxes: Sequence[Box]) -> list[Views]:
    """Return the views of each bird of a photo, in the order of its boxes; without boxes the photo alone, once."""
    if not boxes:
        return [(picture,)]
    return [
        (picture if len(boxes) == 1 and not is_small(box, picture) else crop_to(picture, box, WIDE_MARGIN),
         crop_to(picture, box, MARGIN))
        for box in boxes
    ]  # fmt: skip


def views_of_anchor(picture: Image.Image, detector: Detector | None) -> Views:
    """Return the views of the best bird of a reference photo, or the photo alone."""
    return views_of(picture, [] if detector is None else boxes_of(detector.detect([picture])[0]))[0]


def is_small(box: Box, picture: Image.Image) -> bool:
    """Return whether a box is small in its picture."""
    return max((box.right - box.left) / picture.width, (box.bottom - box.top) / picture.height) < SMALL


def crop_to(picture: Image.Image, box: Box, margin: float) -> Image.Image:
    """Return the part of a picture in a box, larger on each side by a share of the box, within the picture."""
    across, down = margin * (box.right - box.left), margin * (box.bottom - box.top)
    left, top = max(0, round(box.left - across)), max(0, round(box.top - down))
    right, bottom = min(picture.width, round(box.right + across)), min(picture.height, round(box.bottom + down))
    left, top = min(left, picture.width - 1), min(top, picture.height - 1)
    return picture.crop((left, top, max(right, left + 1), max(bottom, top + 1)))


def scaled(box: Box, factor: float) -> Box:
    """Return a box in a larger or smaller copy of its picture."""
    return Box(*(round(side * factor, 1) for side in box))


def encode_views(encoder: ImageEncoder, birds: Sequence[Views]) -> FloatArray:
    """Return a `(n, dim)` float32 unit row for each bird: the mean of the unit vectors of its views."""
    pictures = [view for views in birds for view in views]
    vectors = encoder.encode_images(pictures)
    if len(pictures) == len(birds):
        return vectors
    starts = np.cumsum([0, *(len(views) for views in birds[:-1])])
    return as_unit_rows(np.add.reduceat(as_unit_rows(vectors).astype(np.float64), starts, axis=0))


MAX_SENT_BYTES: Final = 600_000
QUALITY: Final = 88
# All APPn segments except APP0 (JFIF), APP2 (colour profile) and APP14 (Adobe's colours), and comments.
_DROPPED: Final = frozenset((0xE1, *range(0xE3, 0xEE), 0xEF, 0xFE))
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
    picture = read_photo(path, min_side=None if box else max_side).image
    picture = picture if box is None else crop_to(picture, box, MARGIN)
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
        return None  # `read_photo` reports the error
    if not content.startswith(b"\xff\xd8\xff") or len(content) > min(MAX_SENT_BYTES, MAX_BYTES):
        return None
    if not content.endswith(b"\xff\xd9"):  # such as a video behind the photo, which may hold a place
        return None
    try:
        read_image(content, min_side=64)  # not one that is cut short; fast at an eighth of the size
        with Image.open(io.BytesIO(content)) as opened:
            is_upright = opened.getexif().get(_ORIENTATION, 1) == 1
            if not is_upright or opened.mode != "RGB" or max(opened.size) > max_side or opened.format != "JPEG":
                return None
    except Exception:  # a broken tag: `read_photo` ignores it
        return None
    return _without_metadata(content)


def _without_metadata(content: bytes) -> bytes | None:
    kept = [content[:2]]
    for kind, at in markers_of(content):
        if kind == START_OF_SCAN:
            return b"".join((*kept, content[at - 2 :]))
        if kind not in _DROPPED:
            kept.append(content[at - 2 : at + int.from_bytes(content[at : at + 2], "big")])
    return None
