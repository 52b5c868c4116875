"""Views of photos for training, of made pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from data.arrays import FloatArray
from data.images.views import MARGIN, crop_to
from data.records import Box, Detection
from recognize.detect.nanodet import MIN_SCORE
from recognize.evaluation.collection import Photo
from recognize.starter.tower import IMAGE_PX, pixels_of
from training.starter.views import N_VIEWS, birds_in, view_of, write_frozen

BOX = Box(left=100, top=60, right=200, bottom=140)
RANDOM = range(4, N_VIEWS)


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


def test_the_crop_has_a_margin_of_a_tenth_of_the_box_on_each_side(picture: Image.Image) -> None:
    """The bird takes 1 / 1.2 of each side, and no part of the crop is red."""
    red, green, _ = seen(picture, BOX, 1)
    assert (green < 0).mean() == pytest.approx(1 / 1.2**2, abs=0.01)
    assert red.max() < 0


@pytest.mark.parametrize("view", [2, 3])
def test_views_2_and_3_are_mirror_images_of_views_0_and_1(picture: Image.Image, view: int) -> None:
    mirrored, plain = seen(picture, BOX, view), seen(picture, BOX, view - 2)
    np.testing.assert_array_equal(mirrored, plain[:, :, ::-1])
    assert (mirrored != plain).any()


@pytest.mark.parametrize("view", range(4))
def test_the_first_four_views_do_not_depend_on_the_seed(picture: Image.Image, view: int) -> None:
    np.testing.assert_array_equal(seen(picture, BOX, view, seed=1), seen(picture, BOX, view, seed=2))


@pytest.mark.parametrize("view", RANDOM)
def test_random_views_are_the_same_for_the_same_seed_and_differ_by_seed(picture: Image.Image, view: int) -> None:
    first, again, other = (seen(picture, BOX, view, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).mean() > 0.01


@pytest.mark.parametrize("view", range(N_VIEWS))
def test_every_view_fits_the_tower(picture: Image.Image, view: int) -> None:
    pixels = seen(picture, BOX, view)
    assert (pixels.shape, pixels.dtype) == ((3, IMAGE_PX, IMAGE_PX), np.float32)
    assert pixels.flags.c_contiguous
    assert -1 <= pixels.min() < pixels.max() <= 1


def is_red(pixels: FloatArray) -> Any:
    """Return where red is brighter than the other colours, whatever the light."""
    return pixels[0] - pixels[1:].max(axis=0) > 0.5


def test_random_crops_stay_near_the_bird_and_random_photos_do_not(picture: Image.Image) -> None:
    """Margins of crops are at most 30 % of the box, and red begins at 40 %."""
    for view in RANDOM:
        shares = [is_red(seen(picture, BOX, view, seed)).mean() for seed in range(8)]
        assert max(shares) < 0.001 if view % 2 else min(shares) > 0.2


@pytest.mark.parametrize("view", range(N_VIEWS))
def test_a_photo_without_a_bird_gives_views_of_the_photo(picture: Image.Image, view: int) -> None:
    pixels = seen(picture, None, view)
    assert is_red(pixels).mean() > 0.2
    if view < 4:
        np.testing.assert_array_equal(pixels, seen(picture, None, view - view % 2))


class FixedDetector:
    """Stand-in for the detector: gives the same animals in each photo, or those of its turn."""

    def __init__(self, *turns: tuple[Detection, ...]) -> None:
        self.turns = iter(turns)

    def detect(self, images: list[Image.Image]) -> list[tuple[Detection, ...]]:
        return [next(self.turns) for _ in images]


def animal(kind: str, score: float, left: float) -> Detection:
    return Detection(box=Box(left=left, top=0, right=left + 10, bottom=10), kind=kind, score=score)


@pytest.fixture
def photos(tmp_path: Path, picture: Image.Image) -> tuple[Photo, ...]:
    for name, shown in (("a.png", picture), ("b.png", picture.rotate(180))):
        shown.save(tmp_path / name)
    return tuple(Photo(path=name, species="Aus aus", source="x") for name in ("a.png", "b.png"))


def test_the_bird_of_a_photo_is_its_first_sure_one(tmp_path: Path, photos: tuple[Photo, ...]) -> None:
    detector: Any = FixedDetector(
        (animal("cat", 0.9, 1), animal("bird", 0.8, 2), animal("bird", 0.7, 3)),
        (animal("bird", MIN_SCORE - 0.01, 4), animal("cat", 0.9, 5)),
    )
    first, second = birds_in(tmp_path, photos, detector)
    assert (first is not None and first.left, second) == (2, None)


def test_the_file_has_the_features_of_all_views(
    tmp_path: Path, photos: tuple[Photo, ...], picture: Image.Image
) -> None:
    class MeanTower:
        """Features: mean colours of the left and the right half."""

        n_features = 6

        def features_of_pixels(self, pixels: FloatArray) -> FloatArray:
            return np.concatenate([half.mean(axis=(1, 2)) for half in np.split(pixels, 2, axis=2)])

    tower: Any = MeanTower()
    write_frozen(tmp_path, photos, (BOX, None), tmp_path, tower)
    found = np.load(tmp_path / "frozen.npy")
    assert (found.shape, found.dtype) == ((N_VIEWS, 2, 6), np.float32)
    for view in range(4):
        assert found[view, 0] == pytest.approx(tower.features_of_pixels(seen(picture, BOX, view)), abs=1e-6)
    np.testing.assert_array_equal(found[0, 1], found[1, 1])  # without a bird, the crop is the photo
    assert len(np.unique(found[4:], axis=0)) == len(found[4:])
    assert not (tmp_path / "frozen.partial.npy").exists()
