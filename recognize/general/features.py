"""Photos in the features of the tower, without the metric of birds."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from data.arrays import FloatArray, as_unit_rows
from data.contracts import Encoders
from recognize.detect.nanodet import NanoDet
from recognize.general.colours import ColourWords
from recognize.starter.encoders import PREPROCESSING, StarterWords, Weights
from recognize.starter.tower import Tower

if TYPE_CHECKING:
    from PIL.Image import Image


N_TRUNKS: Final = 3
"""Networks whose features the tower joins; each counts the same."""
DIM: Final = 512
"""Signed sums of features; 256 lose .04 of top-1 on birds as an unknown group, 1,024 gain nothing. All
features, without sums, gain .01."""
_SIGNS: Final = b"fieldmark-features"  # the seed of the signs: another one is another space


@dataclass(frozen=True)
class TowerFeatures:
    """Photos by the square roots of their features, which make rare features count, in random signed sums."""

    tower: Tower
    name = "features"

    @property
    def space(self) -> str:
        """Tower, preprocessing and what follows it."""
        return f"fieldmark-features/{self.tower.digest}/{PREPROCESSING}-root-signs-{DIM}"

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return DIM

    @cached_property
    def _signs(self) -> FloatArray:
        return signs(self.tower.n_features)

    def encode_images(self, images: Sequence[Image]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows."""
        return summed(self.tower.features(images), self._signs)


def summed(features: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return the unit rows of features `(n, n_features)`; the product runs row by row, so no row depends on another."""
    roots = np.sqrt(np.maximum(features, 0)).reshape(len(features), N_TRUNKS, features.shape[1] // N_TRUNKS)
    lengths = np.maximum(np.linalg.norm(roots, axis=2, keepdims=True), np.float32(1e-9))
    even = (roots / lengths).reshape(features.shape)
    return as_unit_rows(np.einsum("ni,ij->nj", even, matrix))


@lru_cache(maxsize=2)
def signs(n_features: int) -> FloatArray:
    """Return the `(n_features, DIM)` signs, +1 or -1: they keep angles nearly (Achlioptas, 2003) and need no file."""
    bits = np.unpackbits(np.frombuffer(hashlib.shake_256(_SIGNS).digest(n_features * DIM // 8), dtype=np.uint8))
    found: FloatArray = (2 * bits.astype(np.float32) - 1).reshape(n_features, DIM)
    return found


def load_general() -> Encoders:
    """Return the general encoders; files are read on first use.

    Photos are compared whole: crops to what the detector takes for a bird make features of birds worse (.72 instead of
    .73 of top-1), and it knows no butterfly, frog or flower. It names animals that the knowledge base does not hold.
    """
    weights = Weights()
    return Encoders(
        profile="general",
        text_image=(ColourWords(),),
        visual=TowerFeatures(weights.tower),
        sentence=StarterWords(weights),
        observer=NanoDet(is_tiled=False),
    )
