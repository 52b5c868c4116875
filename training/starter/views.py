"""Training views: each photo as it is, mirrored, in random crops and lights; and their features."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageEnhance

from data.arrays import FloatArray
from recognize.starter.tower import IMAGE_PX, N_FEATURES, Tower, pixels_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recognize.evaluation.protocol import Photo
    from training.starter.backbone import Backbone

log = logging.getLogger(__name__)

N_VIEWS = 8
N_TOP_BLOCKS = 3
"""How many of the trunk's last blocks may be tuned; what goes into them is kept for each view."""
_BATCH = 16


def view_of(image: Image.Image, view: int, rng: np.random.Generator) -> FloatArray:
    """Return one view of a picture as the tower wants it: 0 the picture, 1 its mirror image, others at random.

    Brightness, contrast and saturation vary by a quarter, hue not at all: it is a field mark.
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


def write_frozen(folder: Path, photos: tuple[Photo, ...], work: Path, tower: Tower, seed: int = 1) -> None:
    """Write to `work` the untuned trunk's features of `N_VIEWS` views of each photo: `frozen.npy`, float32."""
    rng = np.random.default_rng(seed)
    features = np.zeros((N_VIEWS, len(photos), N_FEATURES), dtype=np.float32)
    for view in range(N_VIEWS):
        for i, photo in enumerate(photos):
            with Image.open(folder / photo.path) as image:
                features[view, i] = tower.features_of_pixels(view_of(image.convert("RGB"), view, rng))
        log.info("view %d of %d", view + 1, N_VIEWS)
    np.save(work / "frozen.partial.npy", features)
    (work / "frozen.partial.npy").replace(work / "frozen.npy")


def write_views(folder: Path, photos: tuple[Photo, ...], work: Path, backbone: Backbone, seed: int = 1) -> None:
    """Write to `work` the maps that enter the last blocks (`maps.npy`, float16) of the same views as `write_frozen`.

    With 1.4 GB of disk the blocks below are run once, and each round of tuning costs a fifth of training the whole.
    """
    import torch

    rng = np.random.default_rng(seed)
    side = -(-IMAGE_PX // 32)
    channels = int(backbone._blocks[-N_TOP_BLOCKS]._depthwise_conv.in_channels) // 6
    shape = (N_VIEWS, len(photos), channels, side, side)
    maps = np.lib.format.open_memmap(work / "maps.partial.npy", "w+", np.float16, shape)
    with torch.inference_mode():
        for view in range(N_VIEWS):
            for first in range(0, len(photos), _BATCH):
                rows = []
                for photo in photos[first : first + _BATCH]:
                    with Image.open(folder / photo.path) as image:
                        rows.append(view_of(image.convert("RGB"), view, rng))
                batch = torch.from_numpy(np.stack(rows)).contiguous(memory_format=torch.channels_last)
                maps[view, first : first + len(rows)] = backbone.below(batch, N_TOP_BLOCKS).numpy()
    maps.flush()
    (work / "maps.partial.npy").replace(work / "maps.npy")


def read_maps(work: Path) -> NDArray[np.float16]:
    """Return what `write_views` wrote, mapped: `(N_VIEWS, n_photos, channels, side, side)`."""
    maps: NDArray[np.float16] = np.load(work / "maps.npy", mmap_mode="r")
    return maps


def features_of(maps: NDArray[np.float16], backbone: Backbone, n_views: int = N_VIEWS) -> FloatArray:
    """Return the features of the first views through the trunk's last blocks, `(n_views, n_photos, 1280)`."""
    import torch

    out = np.zeros((n_views, maps.shape[1], N_FEATURES), dtype=np.float32)
    with torch.inference_mode():
        for view in range(n_views):
            for first in range(0, maps.shape[1], 64):
                batch = torch.from_numpy(maps[view, first : first + 64].astype(np.float32))
                out[view, first : first + 64] = backbone.above(batch, N_TOP_BLOCKS).numpy()
    return out
