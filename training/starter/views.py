"""Training views of photos: the photo, the crop to its bird, mirror images, random crops, lights and small sizes."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import numpy as np
from PIL import Image, ImageEnhance

from data.arrays import FloatArray
from data.images.views import MARGIN, crop_to
from data.records import Box
from recognize.detect.birds import BIRD, MIN_SCORE, NanoDet
from recognize.tower import IMAGE_PX, Tower, pixels_of
from training.collection import Photo

log = logging.getLogger(__name__)

VIEWS: Final = (0, 1, 4, 5)
"""Views of a photo, see `view_of`; even ones are of the whole photo, odd ones of the crop. 0 and 1 are those of the
recogniser, 4 and 5 are random."""
_LIGHTS: Final = ((ImageEnhance.Brightness, 0.25), (ImageEnhance.Contrast, 0.25), (ImageEnhance.Color, 0.3))
_SMALL: Final = (0.15, 0.35)  # shares of random views of photos and of crops that are made as small as distant birds
_SMALL_PX: Final = (36, 140)


def birds_in(folder: Path, photos: Sequence[Photo], detector: NanoDet) -> list[Box | None]:
    """Return the box of the surest bird in each photo, if any."""
    found: list[Box | None] = []
    for start in range(0, len(photos), 16):
        images = []
        for photo in photos[start : start + 16]:
            with Image.open(folder / photo.path) as image:
                images.append(image.convert("RGB"))
        for detections in detector.detect(images):
            sure = (each.box for each in detections if each.kind == BIRD and each.score >= MIN_SCORE)
            found.append(next(sure, None))
    return found


def view_of(image: Image.Image, box: Box | None, view: int, rng: np.random.Generator) -> FloatArray:
    """Return one view of a photo as input of the tower.

    Brightness, contrast and saturation vary by a quarter. Hue is a field mark and does not vary.
    """
    is_crop = bool(view % 2)
    if view < 4:
        pixels = pixels_of(crop_to(image, box, MARGIN) if is_crop and box is not None else image)
        return _mirrored(pixels) if view >= 2 else pixels
    region = _near(image, box, rng) if is_crop and box is not None else _anywhere(image, rng)
    if rng.random() < _SMALL[is_crop]:
        picture = _made_small(image, region, rng)
    else:
        picture = image.resize((IMAGE_PX, IMAGE_PX), Image.Resampling.BICUBIC, box=region)
    for enhance, amount in _LIGHTS:
        picture = enhance(picture).enhance(rng.uniform(1 - amount, 1 + amount))
    pixels = pixels_of(picture)
    return _mirrored(pixels) if rng.random() < 0.5 else pixels


def _mirrored(pixels: FloatArray) -> FloatArray:
    return np.ascontiguousarray(pixels[:, :, ::-1])


def _anywhere(image: Image.Image, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """Return a random region of half to all of a photo."""
    width, height = image.size
    area, shape = rng.uniform(0.45, 1), np.exp(rng.uniform(np.log(0.8), np.log(1.25)))
    w, h = min(width, width * np.sqrt(area * shape)), min(height, height * np.sqrt(area / shape))
    left, top = rng.uniform(0, width - w), rng.uniform(0, height - h)
    return left, top, left + w, top + h


def _near(image: Image.Image, box: Box, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """Return a box with other margins."""
    across, down = box.right - box.left, box.bottom - box.top
    margins = rng.uniform(-0.05, 0.3, 4)
    return (
        max(0, box.left - margins[0] * across), max(0, box.top - margins[1] * down),
        min(image.width, box.right + margins[2] * across), min(image.height, box.bottom + margins[3] * down),
    )  # fmt: skip


def _made_small(image: Image.Image, region: tuple[float, float, float, float], rng: np.random.Generator) -> Image.Image:
    """Return a region as a distant bird looks: few pixels, compressed, enlarged again."""
    px = int(np.exp(rng.uniform(*np.log(_SMALL_PX))))
    small = image.resize((px, px), Image.Resampling.BICUBIC, box=region)
    stored = io.BytesIO()
    small.save(stored, "JPEG", quality=int(rng.integers(50, 95)))
    return Image.open(stored).convert("RGB").resize((IMAGE_PX, IMAGE_PX), Image.Resampling.BICUBIC)


def features_of_views(folder: Path, photos: Sequence[Photo], boxes: Sequence[Box | None], tower: Tower) -> FloatArray:
    """Return the features of `VIEWS` of each photo, `(n_views, n_photos, n_features)`."""
    features = np.zeros((len(VIEWS), len(photos), tower.n_features), dtype=np.float32)

    def encode(i: int) -> None:
        with Image.open(folder / photos[i].path) as image:
            rgb = image.convert("RGB")
        for at, view in enumerate(VIEWS):
            features[at, i] = tower.features_of_pixels(view_of(rgb, boxes[i], view, np.random.default_rng([view, i])))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for n, _ in enumerate(pool.map(encode, range(len(photos))), start=1):
            if n % 500 == 0:
                log.info("features of %d of %d photos", n, len(photos))
    return features
