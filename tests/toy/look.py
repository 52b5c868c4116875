"""Untrained visual space: the layout of colours and the directions of edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from PIL.Image import Image

from data.arrays import FloatArray
from tests.toy.foreground import SIDE, Subject, find_subject
from tests.toy.palette import N_COLOURS, name_pixels

_CELLS: Final = 4  # of the colour layout, on each side
_EDGE_CELLS: Final = 4
_DIRECTIONS: Final = 8
_N_WHOLE: Final = N_COLOURS
_N_LAYOUT: Final = _CELLS * _CELLS // 2 * N_COLOURS
_N_EDGES: Final = _EDGE_CELLS * _EDGE_CELLS * _DIRECTIONS
# The share of the squared length; tuned on photos of 1,407 birds, where it matters little.
_WHOLE_SHARE, _LAYOUT_SHARE, _EDGE_SHARE = 0.30, 0.50, 0.20


class PlainLook:
    """A stand-in for a trained visual model: colours, their layout, and the directions of edges.

    Birds face either way, so a picture and its mirror image give the same row, but for the rounding of pixels.

    Example:
        >>> from PIL import Image, ImageDraw
        >>> def bird(colour, x):
        ...     picture = Image.new("RGB", (80, 80), "white")
        ...     ImageDraw.Draw(picture).ellipse((x, 20, x + 40, 60), fill=colour)
        ...     return picture
        >>> rows = PlainLook().encode_images([bird("red", 18), bird("red", 22), bird("navy", 20)])
        >>> bool(rows[0] @ rows[1] > rows[0] @ rows[2])
        True
    """

    name = "plain-look"
    space = "fieldmark-plain-look/1"
    dim = _N_WHOLE + _N_LAYOUT + _N_EDGES

    def encode_images(self, images: Sequence[Image]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows, each from its own picture alone."""
        rows = np.zeros((len(images), self.dim), dtype=np.float32)
        for i, image in enumerate(images):
            subject = find_subject(image)
            named = name_pixels(subject.pixels) * subject.weights[:, None]
            whole = np.sqrt(named.sum(axis=0))
            layout = _in_cells(named.reshape(SIDE, SIDE, N_COLOURS), _CELLS)
            layout = (layout + layout[:, ::-1])[:, : _CELLS // 2]
            mass = np.sqrt(layout.sum(axis=2, keepdims=True))
            layout = np.sqrt(layout) - mass * _WHOLE_MEAN
            parts = (
                (whole - _WHOLE_MEAN, _WHOLE_SHARE),
                (layout.reshape(-1), _LAYOUT_SHARE),
                (_edges(subject), _EDGE_SHARE),
            )
            rows[i] = np.concatenate([_scaled(part, share) for part, share in parts])
            rows[i] = _scaled(rows[i], 1.0)
        return rows


def _scaled(values: FloatArray, share: float) -> FloatArray:
    length = np.sqrt((values * values).sum())
    scaled: FloatArray = values * np.float32(np.sqrt(share) / length if length > 1e-12 else 0)
    return scaled


def _in_cells(grid: FloatArray, cells: int) -> FloatArray:
    """Return the sums of `(side, side, c)` over `cells` x `cells` squares: `(cells, cells, c)`."""
    step = SIDE // cells
    summed: FloatArray = grid.reshape(cells, step, cells, step, -1).sum(axis=(1, 3))
    return summed


def _edges(subject: Subject) -> FloatArray:
    """Return how strong edges of each direction are in each cell, the same for the mirror image."""
    light = subject.lab[:, 0].reshape(SIDE, SIDE)
    dy, dx = np.gradient(light)
    strength = np.hypot(dx, dy) * subject.weights.reshape(SIDE, SIDE)
    angle = np.mod(np.arctan2(dy, dx), np.pi) / np.pi * _DIRECTIONS
    low = np.floor(angle).astype(np.intp) % _DIRECTIONS
    part = angle - np.floor(angle)
    by_direction = np.zeros((SIDE, SIDE, _DIRECTIONS), dtype=np.float32)
    rows, columns = np.indices((SIDE, SIDE))
    by_direction[rows, columns, low] += strength * (1 - part)
    by_direction[rows, columns, (low + 1) % _DIRECTIONS] += strength * part
    cells = _in_cells(by_direction, _EDGE_CELLS)
    # In the mirror a direction a becomes pi - a, which is bin -b.
    mirrored = cells[:, ::-1][:, :, -np.arange(_DIRECTIONS) % _DIRECTIONS]
    roots: FloatArray = np.sqrt(cells + mirrored).reshape(-1)
    centred: FloatArray = roots - roots.mean()
    return centred


# The mean of the square roots of the colour shares over 700 photos of birds, in the order of `COLOURS`.
_WHOLE_MEAN: Final[FloatArray] = np.array(
    (0.30, 0.20, 0.46, 0.39, 0.11, 0.26, 0.05, 0.06, 0.14, 0.31, 0.12, 0.05, 0.07, 0.04, 0.05, 0.18), dtype=np.float32
)
