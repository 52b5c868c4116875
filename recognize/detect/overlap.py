"""Distinct detections: one for each animal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from data.records import Box, Detection

SAME: Final = 0.4
"""Two boxes of a kind show one animal if their common part is this share of the smaller one."""


def distinct(detections: Iterable[Detection]) -> tuple[Detection, ...]:
    """Return the detections, highest score first, one for each animal."""
    kept: list[Detection] = []
    for each in sorted(detections, key=lambda detection: (-detection.score, detection.box)):
        if all(each.kind != other.kind or common_share(each.box, other.box) < SAME for other in kept):
            kept.append(each)
    return tuple(kept)


def common_share(a: Box, b: Box) -> float:
    """Return the common area of two boxes as a share of the smaller one."""
    across = min(a.right, b.right) - max(a.left, b.left)
    down = min(a.bottom, b.bottom) - max(a.top, b.top)
    smaller = min(_area(a), _area(b))
    return 0.0 if across <= 0 or down <= 0 or smaller <= 0 else across * down / smaller


def _area(box: Box) -> float:
    return (box.right - box.left) * (box.bottom - box.top)
