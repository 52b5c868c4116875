"""The colours that describe birds: their names, what else they are called, and how a pixel is given to them."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

from data.arrays import FloatArray

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

# Everything that English calls a colour of plumage; a mixture is shared out evenly.
_CALLED: Final[dict[str, str]] = {
    "black": "black blackish jet ebony sooty inky dusky:black,grey blackcap melanistic",
    "white": "white whitish snowy ivory pearly silvery:white,grey silver:white,grey milky creamy:white,buff",
    "grey": "grey gray greyish grayish ashy ash smoky leaden pewter hoary",
    "brown": "brown brownish umber chocolate coffee dun earthy sepia bronze:brown,olive bronzy:brown,olive "
    "drab:brown,grey",
    "rufous": "rufous rufescent chestnut russet rusty rust cinnamon:rufous,buff bay ferruginous copper coppery auburn "
    "mahogany:rufous,brown reddish-brown maroon:rufous,red tawny:rufous,buff rufous-brown brick:rufous,red",
    "buff": "buff buffy buffish sandy sand tan beige cream fawn straw isabelline ochre:buff,orange "
    "ochraceous:buff,orange",
    "red": "red reddish:red,rufous crimson scarlet vermilion ruby carmine blood cherry",
    "orange": "orange orangish apricot flame amber:orange,yellow",
    "yellow": "yellow yellowish lemon golden gold canary citrine sulphur sulfur saffron:yellow,orange primrose",
    "olive": "olive olivaceous olive-green khaki",
    "green": "green greenish emerald lime grass-green",
    "teal": "teal turquoise aquamarine cyan sea-green",
    "blue": "blue bluish azure cobalt navy indigo:blue,purple cerulean ultramarine sapphire lapis sky-blue",
    "purple": "purple purplish violet lilac:purple,pink lavender:purple,pink magenta:purple,pink amethyst "
    "mauve:purple,pink",
    "pink": "pink pinkish rose rosy rosy-pink salmon:pink,orange flesh fleshy coral:pink,orange vinous:pink,rufous "
    "vinaceous:pink,rufous",
    "slate": "slate slaty slate-grey slate-gray slate-blue gunmetal blue-grey blue-gray bluish-grey bluish-gray",
}


def _read_called() -> dict[str, tuple[int, ...]]:
    words: dict[str, tuple[int, ...]] = {}
    for colour, called in _CALLED.items():
        for entry in called.split():
            word, _, mixture = entry.partition(":")
            names = mixture.split(",") if mixture else [colour]
            words[word] = tuple(COLOURS.index(name) for name in names)
    return words


COLOUR_WORDS: Final[dict[str, tuple[int, ...]]] = _read_called()
"""Word, lower case -> positions in `COLOURS`."""

_BITS: Final = 5  # of each channel: 32,768 entries, finer than JPEG noise
_SOFTNESS: Final = 90.0  # squared Lab distance at which a colour's weight falls to 1/e


def name_pixels(pixels: np.ndarray) -> FloatArray:
    """Return how far each pixel is each colour: `(n, 16)` float32, rows sum to 1, columns in the order of `COLOURS`.

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
