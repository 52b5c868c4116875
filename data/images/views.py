"""Views of the birds in a photo, and one vector for each bird from its views.

A bird has two views: the photo and the crop to its box. A bird that is small or has others beside it has a region
around its box in place of the photo. Photos and reference photos are encoded by the same rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from data.arrays import FloatArray, as_unit_rows
from data.contracts import Detector, ImageEncoder
from data.records import Box, Detection

if TYPE_CHECKING:
    from PIL.Image import Image

MARGIN: Final = 0.1
"""Added to each side of a box for the crop, as a share of the box."""
WIDE_MARGIN: Final = 0.5
"""Added to each side of a box for the region that replaces the photo."""
SMALL: Final = 0.4
"""A bird is small if both sides of its box are shorter than this share of the photo's."""

CLEAR: Final = 0.5
"""Lowest score of the second and further birds of a photo."""

Views = tuple["Image", ...]
"""Pictures of one bird."""


def views_mark(detector: Detector | None) -> str:
    """Return the detector and the rule of views in one string; empty without a detector, where photos are whole."""
    return "" if detector is None else f"{detector.name}/photo-crop-{MARGIN}-{WIDE_MARGIN}-{SMALL}"


def boxes_of(detections: Sequence[Detection]) -> list[Box]:
    """Return the boxes of the birds of a photo, the best first: the best detection, and all that are clear."""
    birds = [each for each in detections if each.kind == "bird"]
    return [bird.box for number, bird in enumerate(birds) if not number or bird.score >= CLEAR]


def views_of(picture: Image, boxes: Sequence[Box]) -> list[Views]:
    """Return the views of each bird of a photo, in the order of its boxes; without boxes the photo alone, once."""
    if not boxes:
        return [(picture,)]
    return [
        (picture if len(boxes) == 1 and not is_small(box, picture) else crop_to(picture, box, WIDE_MARGIN),
         crop_to(picture, box, MARGIN))
        for box in boxes
    ]  # fmt: skip


def views_of_anchor(picture: Image, detector: Detector | None) -> Views:
    """Return the views of the best bird of a reference photo, or the photo alone."""
    return views_of(picture, [] if detector is None else boxes_of(detector.detect([picture])[0]))[0]


def is_small(box: Box, picture: Image) -> bool:
    """Return whether a box is small in its picture."""
    return max((box.right - box.left) / picture.width, (box.bottom - box.top) / picture.height) < SMALL


def crop_to(picture: Image, box: Box, margin: float) -> Image:
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
