"""Training views of photos: the photo, its mirror image, random crops and lights."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageEnhance

from data.arrays import FloatArray
from recognize.starter.tower import IMAGE_PX, N_FEATURES, Tower, pixels_of

if TYPE_CHECKING:
    from recognize.evaluation.collection import Photo

log = logging.getLogger(__name__)

N_VIEWS = 8


def view_of(image: Image.Image, view: int, rng: np.random.Generator) -> FloatArray:
    """Return one view of a photo as input of the tower: 0 the photo, 1 its mirror image, others at random.

    Brightness, contrast and saturation vary by a quarter. Hue is a field mark and does not vary.
    """
    if view == 0:
        return pixels_of(image)
    if view == 1:
        return np.ascontiguousarray(pixels_of(image)[:, :, ::-1])
    width, height = image.size
    area, shape = rng.uniform(0.45, 1), np.exp(rng.uniform(np.log(0.8), np.log(1.25)))
    w, h = min(width, width * np.sqrt(area * shape)), min(height, height * np.sqrt(area / shape))
    left, top = rng.uniform(0, width - w), rng.uniform(0, height - h)
    box = (left, top, left + w, top + h)
    crop = image.resize((IMAGE_PX, IMAGE_PX), Image.Resampling.BICUBIC, box=box)
    for enhance, amount in ((ImageEnhance.Brightness, 0.25), (ImageEnhance.Contrast, 0.25), (ImageEnhance.Color, 0.3)):
        crop = enhance(crop).enhance(rng.uniform(1 - amount, 1 + amount))
    pixels = pixels_of(crop)
    return np.ascontiguousarray(pixels[:, :, ::-1]) if rng.random() < 0.5 else pixels


def write_frozen(folder: Path, photos: tuple[Photo, ...], work: Path, tower: Tower) -> None:
    """Write the features of `N_VIEWS` views of each photo to `frozen.npy` in the work folder, float32."""
    rng = np.random.default_rng(1)
    features = np.zeros((N_VIEWS, len(photos), N_FEATURES), dtype=np.float32)
    for view in range(N_VIEWS):
        for i, photo in enumerate(photos):
            with Image.open(folder / photo.path) as image:
                features[view, i] = tower.features_of_pixels(view_of(image.convert("RGB"), view, rng))
        log.info("view %d of %d", view + 1, N_VIEWS)
    np.save(work / "frozen.partial.npy", features)
    (work / "frozen.partial.npy").replace(work / "frozen.npy")
