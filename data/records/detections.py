"""Animals found in a photo by a detector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Box(NamedTuple):
    """A rectangle in the upright photo (EXIF orientation applied), in pixels from its top left corner.

    Half-open: the pixel in column x belongs to it where `left <= x < right`, and rows likewise, so the width is
    `right - left`. Pillow's `crop` takes it as it is. On the wire it is a list of four numbers in this order.
    """

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """One animal in a photo."""

    box: Box
    kind: str
    """The detector's class in lower case: `bird`."""
    score: float
    """Confidence of the detector, in [0, 1]; higher is better. Not a calibrated probability."""
