"""Images of any mode as 8-bit RGB on white, strip by strip, so that a large one is never in memory twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from PIL import Image

STRIP_PIXELS: Final = 2**20
_OF_16_BITS: Final = np.rint(np.arange(2**16) * (255 / 65535)).astype(np.uint8)
_WITH_ALPHA: Final = frozenset(("RGBA", "RGBa", "LA", "La", "PA"))


def small_rgb(image: Image.Image, factor: int = 1) -> Image.Image:
    """Return an image as RGB, its sides divided by `factor`; an RGB image is returned unchanged with a factor of 1."""
    if image.mode == "RGB" and "transparency" not in image.info:
        return image.reduce(factor) if factor > 1 else image
    scale = _scale_of(image)
    width, height = -(-image.width // factor), -(-image.height // factor)
    out = Image.new("RGB", (width, height))
    for top, strip in _strips(image, factor):
        rgb = _strip_to_rgb(strip, scale)
        out.paste(rgb.reduce(factor) if factor > 1 else rgb, (0, top // factor))
    return out


def _strips(image: Image.Image, factor: int) -> Iterator[tuple[int, Image.Image]]:
    """Yield top row and pixels of strips, each a multiple of `factor` high but for the last."""
    rows = max(factor, STRIP_PIXELS // image.width // factor * factor)
    for top in range(0, image.height, rows):
        yield top, image.crop((0, top, image.width, min(top + rows, image.height)))


def _strip_to_rgb(strip: Image.Image, scale: float) -> Image.Image:
    if strip.mode.startswith("I;16"):
        return Image.fromarray(_OF_16_BITS[np.asarray(strip)], "L").convert("RGB")
    if strip.mode in ("I", "F"):
        levels = _levels(strip)
        return Image.fromarray(np.clip(np.rint(levels * scale), 0, 255).astype(np.uint8), "L").convert("RGB")
    if strip.mode in _WITH_ALPHA or "transparency" in strip.info:
        opaque = strip.convert("RGBA")
        white = Image.new("RGBA", opaque.size, (255, 255, 255, 255))
        return Image.alpha_composite(white, opaque).convert("RGB")
    return strip.convert("RGB")


def _levels(strip: Image.Image) -> np.ndarray:
    return np.nan_to_num(np.asarray(strip).astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)


def _scale_of(image: Image.Image) -> float:
    """Return the factor from grey levels of 32 bits or floats to 0 to 255: the smallest usual scale that fits."""
    if image.mode not in ("I", "F"):
        return 1.0
    top = max((float(_levels(strip).max(initial=0.0)) for _, strip in _strips(image, 1)), default=0.0)
    if image.mode == "F":
        return 255.0 if top <= 1.0 else 255 / max(255.0, top)
    return 255 / max(65535.0, top) if top > 255 else 1.0
