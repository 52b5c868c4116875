"""Sixteen plain colours: their typical pixels, the words for them, and the share of each in a pixel."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

from data.arrays import FloatArray
from data.lexicon.tables import column

# A colour may have several typical pixels: plumage is lit and shaded. sRGB, chosen by eye, not tuned.
_SWATCHES: Final[dict[str, tuple[tuple[int, int, int], ...]]] = {
    "black": ((12, 12, 14), (38, 38, 40)),
    "white": ((250, 250, 250), (225, 225, 222)),
    "grey": ((128, 128, 130), (175, 176, 178), (85, 86, 90)),
    "brown": ((101, 72, 50), (72, 52, 38), (130, 100, 75)),
    "rufous": ((160, 78, 40), (125, 55, 28), (185, 100, 60)),
    "buff": ((222, 196, 155), (196, 168, 128), (235, 215, 185)),
    "red": ((200, 25, 30), (150, 15, 22), (225, 60, 50)),
    "orange": ((235, 125, 25), (245, 155, 60)),
    "yellow": ((245, 215, 40), (215, 185, 30), (250, 230, 120)),
    "olive": ((120, 120, 60), (90, 92, 45), (150, 145, 85)),
    "green": ((50, 135, 55), (30, 90, 40), (110, 180, 70)),
    "teal": ((25, 130, 130), (70, 185, 180)),
    "blue": ((35, 80, 180), (25, 45, 110), (90, 155, 220)),
    "purple": ((110, 45, 140), (75, 35, 90)),
    "pink": ((240, 150, 170), (225, 110, 140)),
    "slate": ((90, 105, 125), (120, 140, 160)),
}
COLOURS: Final[tuple[str, ...]] = tuple(_SWATCHES)
N_COLOURS: Final = len(COLOURS)

COLOUR_WORDS: Final[dict[str, tuple[int, ...]]] = {
    word: tuple(COLOURS.index(colour) for colour in mixture.split("+"))
    for word, mixture in column("colours", "field_mark").items()
}
"""Word, lower case -> positions in `COLOURS`; a mixture is shared out evenly."""

_BITS: Final = 5  # of each channel: 32,768 entries, finer than JPEG noise
_SOFTNESS: Final = 90.0  # squared Lab distance at which a colour's weight falls to 1/e


def name_pixels(pixels: np.ndarray) -> FloatArray:
    """Return the share of each colour in each pixel: `(n, 16)` float32, rows sum to 1, columns as in `COLOURS`.

    Args:
        pixels: `(n, 3)` uint8 sRGB.
    """
    coarse = pixels.astype(np.intp) >> (8 - _BITS)
    named: FloatArray = _table()[(coarse[:, 0] << (2 * _BITS)) | (coarse[:, 1] << _BITS) | coarse[:, 2]]
    return named


def to_lab(pixels: np.ndarray) -> FloatArray:
    """Return sRGB values `(n, 3)` in 0..255 as CIE L*a*b* (D65), float32."""
    linear = np.asarray(pixels, dtype=np.float64) / 255
    linear = np.where(linear <= 0.04045, linear / 12.92, ((linear + 0.055) / 1.055) ** 2.4)
    # Plain sums, not a matrix product: BLAS may round a row differently in another batch.
    r, g, b = linear[:, 0], linear[:, 1], linear[:, 2]
    x = (0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047
    y = 0.2126729 * r + 0.7151522 * g + 0.0721750 * b
    z = (0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883
    fx, fy, fz = (np.where(v > 0.008856, np.cbrt(v), 7.787 * v + 16 / 116) for v in (x, y, z))
    return np.stack([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)], axis=1).astype(np.float32)


@cache
def _table() -> FloatArray:
    levels = (np.arange(2**_BITS) + 0.5) * 2 ** (8 - _BITS)
    grid = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3)
    lab = to_lab(grid)
    nearest = np.stack(
        [
            np.min([np.sum((lab - swatch) ** 2, axis=1) for swatch in to_lab(np.array(_SWATCHES[name]))], axis=0)
            for name in COLOURS
        ],
        axis=1,
    )
    weights = np.exp(-(nearest - nearest.min(axis=1, keepdims=True)) / _SOFTNESS)
    table: FloatArray = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    return table
