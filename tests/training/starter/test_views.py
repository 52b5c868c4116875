from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from data.arrays import FloatArray
from data.images.views import MARGIN, crop_to
from data.records import Box
from recognize.tower import pixels_of
from training.collection import Photo
from training.starter.views import VIEWS, features_of_views, view_of

BOX = Box(left=100, top=60, right=200, bottom=140)


@pytest.fixture(scope="module")
def picture() -> Image.Image:
    """A red photo with a green margin of 40 % around a bird that is blue at the left and black at the right."""
    pixels = np.zeros((240, 320, 3), dtype=np.uint8)
    pixels[:, :, 0] = 255
    pixels[60 - 32 : 140 + 32, 100 - 40 : 200 + 40] = (0, 255, 0)
    pixels[60:140, 100:150] = (0, 0, 255)
    pixels[60:140, 150:200] = 0
    return Image.fromarray(pixels)


def seen(picture: Image.Image, box: Box | None, view: int, seed: int = 0) -> FloatArray:
    return view_of(picture, box, view, np.random.default_rng(seed))


def test_view_0_is_the_photo_and_view_1_the_crop_of_the_recogniser(picture: Image.Image) -> None:
    np.testing.assert_array_equal(seen(picture, BOX, 0), pixels_of(picture))
    np.testing.assert_array_equal(seen(picture, BOX, 1), pixels_of(crop_to(picture, BOX, MARGIN)))


class MeanTower:
    """Features: mean colours of the left and the right half."""

    n_features = 6

    def features_of_pixels(self, pixels: FloatArray) -> FloatArray:
        return np.concatenate([half.mean(axis=(1, 2)) for half in np.split(pixels, 2, axis=2)])


def test_features_of_all_views(tmp_path: Path, picture: Image.Image) -> None:
    for name, shown in (("a.png", picture), ("b.png", picture.rotate(180))):
        shown.save(tmp_path / name)
    photos = tuple(Photo(path=name, species="Aus aus", source="x") for name in ("a.png", "b.png"))
    tower: Any = MeanTower()
    found = features_of_views(tmp_path, photos, (BOX, None), tower)
    assert (found.shape, found.dtype) == ((len(VIEWS), 2, 6), np.float32)
    for view in (0, 1):
        assert found[view, 0] == pytest.approx(tower.features_of_pixels(seen(picture, BOX, view)), abs=1e-6)
    np.testing.assert_array_equal(found[0, 1], found[1, 1])  # without a bird, the crop is the photo
    assert len(np.unique(found[2:].reshape(-1, 6), axis=0)) == 4
