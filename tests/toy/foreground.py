"""Likely place of the bird in a picture: pixels near the middle, unlike the rim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from PIL import Image

from data.arrays import FloatArray
from data.images.decode import to_rgb
from tests.toy.palette import to_lab

SIDE: Final = 64
_RIM: Final = 4  # pixels of background on each side
_SHARPNESS: Final = 6.0  # how strongly a colour of the rim counts against a pixel; by eye on drawings and photos
_SPREAD: Final = 0.32  # standard deviation of the weight of the middle, in sides

_axis = (np.arange(SIDE) + 0.5) / SIDE - 0.5
_MIDDLE: Final = np.exp(-(_axis[:, None] ** 2 + _axis[None, :] ** 2) / (2 * _SPREAD**2)).reshape(-1)
_IS_RIM: Final = (np.abs(_axis)[:, None] > 0.5 - _RIM / SIDE) | (np.abs(_axis)[None, :] > 0.5 - _RIM / SIDE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A small picture with a weight for each pixel."""

    pixels: np.ndarray
    """`(SIDE * SIDE, 3)` uint8, rows from the top."""
    lab: FloatArray
    """The same in L*a*b*."""
    weights: FloatArray
    """`(SIDE * SIDE,)`, sum 1."""

    @property
    def thirds(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The weights of the upper, middle and lower third of the subject, each with sum 1."""
        rows = self.weights.reshape(SIDE, SIDE).sum(axis=1)
        below = np.cumsum(rows)
        position = np.repeat((below - rows / 2), SIDE)  # 0 at the subject's top, 1 at its foot
        parts = []
        for centre in (0.12, 0.5, 0.88):
            part = self.weights * np.exp(-((position - centre) ** 2) / (2 * 0.16**2))
            parts.append((part / part.sum()).astype(np.float32))
        return parts[0], parts[1], parts[2]


def find_subject(image: Image.Image) -> Subject:
    """Return the picture at `SIDE` x `SIDE` with a weight for each pixel: low in the colours of the rim and far out."""
    small = to_rgb(image).resize((SIDE, SIDE), Image.Resampling.BOX)
    pixels = np.asarray(small, dtype=np.uint8).reshape(-1, 3)
    lab = to_lab(pixels)
    background = _share_of_rim(lab)
    weights = _MIDDLE / (1 + _SHARPNESS * background)
    return Subject(pixels=pixels, lab=lab, weights=(weights / weights.sum()).astype(np.float32))


def _share_of_rim(lab: FloatArray) -> np.ndarray:
    """Return for each pixel the share of its colour on the rim, times 8."""
    cells = np.stack([lab[:, 0] / 12.5, (lab[:, 1] + 100) / 12.5, (lab[:, 2] + 100) / 12.5], axis=1)
    low = np.floor(cells).astype(np.intp)
    code = (low[:, 0] * 32 + low[:, 1]) * 32 + low[:, 2]
    counts = np.bincount(code[_IS_RIM.reshape(-1)], minlength=16 * 32 * 32).reshape(16, 32, 32).astype(np.float64)
    smooth = counts.copy()
    for axis in range(3):  # neighbours count half: a background is never of one colour
        smooth = smooth + 0.5 * (np.roll(smooth, 1, axis) + np.roll(smooth, -1, axis))
    share = smooth.reshape(-1)[code] / max(1.0, float(_IS_RIM.sum()))
    clipped: np.ndarray = np.minimum(share, 1.0) * 8
    return clipped
