"""General encoders: what the small models that ship can compare of any group of organisms.

Photos are compared by the features of trunks that were trained on everyday pictures, not by those tuned on birds; texts
by the colours that they name, the only words that mean the same in every group. Nothing here was trained on species.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, as_unit_rows
from data.contracts import Encoders
from data.lexicon.words import column
from recognize.detect.birds import NanoDet
from recognize.starter.encoders import PREPROCESSING, StarterWords, Weights
from recognize.tower import Tower

if TYPE_CHECKING:
    from PIL.Image import Image


Colours = NDArray[np.float64]

_PX: Final = 48
_NEAR_EDGE: Final = 25.0
"""Distance from the colours of the edge at which a pixel counts fully as not of the background, in CIELAB units."""
_MIDDLE: Final = 0.6
"""Width of the middle of a photo, as a share of half of its side."""
_SHADES: Final[dict[str, tuple[tuple[int, int, int], ...]]] = {
    "white": ((245, 245, 245),),
    "black": ((20, 20, 20),),
    "grey": ((128, 128, 128), (80, 80, 80), (180, 180, 180)),
    "brown": ((110, 70, 40), (150, 110, 70), (80, 50, 30)),
    "red": ((200, 30, 35), (150, 20, 30)),
    "orange": ((235, 125, 30), (200, 95, 40)),
    "yellow": ((245, 210, 50), (230, 220, 120)),
    "green": ((60, 140, 60), (100, 120, 50), (30, 90, 50)),
    "blue": ((50, 100, 200), (90, 160, 225), (30, 45, 110)),
    "purple": ((110, 60, 150),),
    "pink": ((240, 150, 170),),
}
BASIC: Final = tuple(_SHADES)
"""The basic colours (Berlin & Kay, 1969)."""
# Colours of the lexicon that are shades of a basic one.
_SHADE_OF: Final = {
    "buff": "brown", "chestnut": "brown", "horn": "brown", "bronze": "brown", "rufous": "orange", "cream": "yellow",
    "olive": "green", "turquoise": "blue", "silvery": "grey",
}  # fmt: skip
# Means over 2,591 photos of birds and the texts of their species: an uncommon colour counts more.
_MEAN_PHOTO: Final = np.array([0.155, 0.272, 0.622, 0.386, 0.057, 0.073, 0.116, 0.179, 0.071, 0.007, 0.026])
_MEAN_TEXT: Final = np.array([0.461, 0.409, 0.155, 0.333, 0.170, 0.135, 0.213, 0.178, 0.150, 0.032, 0.076])
_WORD: Final = re.compile(r"[a-z]+")
_TO_XYZ: Final = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
_WHITE: Final = np.array([0.9505, 1.0, 1.089])


@dataclass(frozen=True)
class ColourWords:
    """A `TextImageEncoder` of colours."""

    name = "colours"
    space = "fieldmark-colours/1"
    max_tokens = None

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return len(BASIC)

    def count_tokens(self, text: str) -> int:
        """Return the number of words; there is no limit."""
        return len(_WORD.findall(text.lower()))

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows, zero for texts without a colour."""
        return _rows([_of_text(text) for text in texts])

    def visible_words(self, text: str) -> tuple[str, ...]:
        """Return the colours that a text names."""
        return tuple(word for word in _WORD.findall(text.lower()) if word in _basic_of())

    def encode_images(self, images: Sequence[Image]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows."""
        return _rows([_of_photo(image) for image in images])


def _rows(found: Sequence[Colours]) -> FloatArray:
    return as_unit_rows(np.array(found, dtype=np.float32).reshape(len(found), len(BASIC)))


def _of_text(text: str) -> Colours:
    counts = np.zeros(len(BASIC))
    for word in _WORD.findall(text.lower()):
        if (basic := _basic_of().get(word)) is not None:
            counts[BASIC.index(basic)] += 1
    shares = np.log1p(counts)
    length = float(np.linalg.norm(shares))
    found: Colours = shares / length - _MEAN_TEXT if length else shares
    return found


def _of_photo(image: Image) -> Colours:
    pixels = np.asarray(image.convert("RGB").resize((_PX, _PX), reducing_gap=3.0), dtype=np.float64)
    colours = _lab(pixels)
    shades, owners = _shades()
    nearest = owners[_distances(colours.reshape(-1, 3), shades).argmin(axis=1)]
    edge = np.concatenate([colours[0], colours[-1], colours[:, 0], colours[:, -1]])[::4]
    unlike_edge = np.clip(_distances(colours.reshape(-1, 3), edge).min(axis=1) / _NEAR_EDGE, 0, 1)
    across = (np.arange(_PX) - (_PX - 1) / 2) / (_PX / 2)
    middle = np.exp(-(across[:, None] ** 2 + across[None, :] ** 2) / _MIDDLE**2).ravel()
    weights = middle * (unlike_edge + 1e-3)  # a picture of one colour has that colour
    shares = np.bincount(nearest, weights, minlength=len(BASIC)) / weights.sum()
    found: Colours = np.sqrt(shares) - _MEAN_PHOTO
    return found


def _distances(colours: Colours, others: Colours) -> Colours:
    found: Colours = np.sqrt(((colours[:, None] - others) ** 2).sum(axis=2))
    return found


def _lab(rgb: Colours) -> Colours:
    """Return sRGB values of 0 to 255 in CIELAB."""
    share = rgb / 255
    linear = np.where(share > 0.04045, ((share + 0.055) / 1.055) ** 2.4, share / 12.92)
    xyz = np.einsum("...i,ji->...j", linear, _TO_XYZ) / _WHITE
    bent = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    light = 116 * bent[..., 1] - 16
    return np.stack([light, 500 * (bent[..., 0] - bent[..., 1]), 200 * (bent[..., 1] - bent[..., 2])], axis=-1)


@cache
def _shades() -> tuple[Colours, NDArray[np.intp]]:
    shades = np.array([shade for of in _SHADES.values() for shade in of], dtype=np.float64)
    return _lab(shades), np.repeat(np.arange(len(BASIC)), [len(of) for of in _SHADES.values()])


@cache
def _basic_of() -> dict[str, str]:
    """Return word -> basic colour."""
    found = {word: _SHADE_OF.get(colour, colour) for word, colour in column("colours", "fact").items()}
    return {word: colour for word, colour in found.items() if colour in BASIC}


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
        visual=TowerFeatures(weights.general),
        sentence=StarterWords(weights),
        observer=NanoDet(is_tiled=False),
    )
