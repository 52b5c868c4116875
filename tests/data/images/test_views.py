"""Views of birds, and the vectors from them."""

from collections.abc import Sequence

import numpy as np
import pytest
from PIL import Image

from data.arrays import FloatArray, as_unit_rows
from data.images.views import MARGIN, crop_to, encode_views, views_of
from data.records import Box


class MeanColour:
    """An encoder whose vectors are mean colours."""

    name, space, dim = "mean colour", "mean-colour/1", 3

    def encode_images(self, images: Sequence[Image.Image]) -> FloatArray:
        return as_unit_rows([np.asarray(image, dtype=np.float64).mean(axis=(0, 1)) for image in images])


def photo(*birds: tuple[Box, tuple[int, int, int]]) -> Image.Image:
    """Return a dark blue picture of 200 by 100 pixels with rectangles for birds."""
    picture = Image.new("RGB", (200, 100), (0, 0, 60))
    for box, colour in birds:
        picture.paste(colour, tuple(map(int, box)))
    return picture


RED = (Box(20, 10, 120, 90), (255, 0, 0))
SMALL_RED = (Box(20, 20, 40, 30), (255, 0, 0))
SMALL_GREEN = (Box(150, 60, 170, 80), (0, 255, 0))


def test_a_large_bird_has_the_photo_and_the_crop_as_views_and_a_small_one_a_region_around_it() -> None:
    picture = photo(RED)
    (views,) = views_of(picture, [RED[0]])
    assert views[0] is picture
    assert views[1].size == (100 * (1 + 2 * MARGIN), 80 * (1 + 2 * MARGIN))
    assert crop_to(photo(), Box(150, 0, 200, 100), MARGIN).size == (55, 100), "inside the photo"
    assert crop_to(photo(), Box(200, 100, 200, 100), MARGIN).size == (1, 1)
    ((wide, crop),) = views_of(photo(SMALL_RED), [SMALL_RED[0]])
    assert (wide.size, crop.size) == ((40, 20), (24, 12))
    for wide, crop in views_of(photo(RED, SMALL_GREEN), [RED[0], SMALL_GREEN[0]]):
        assert crop.width < wide.width < 200, "birds beside each other"


def test_the_vector_of_a_bird_is_the_mean_of_its_views_and_each_bird_of_each_photo_has_a_row() -> None:
    encoder, picture = MeanColour(), photo(RED)
    views = encoder.encode_images([picture, crop_to(picture, RED[0], MARGIN)])
    rows = encode_views(encoder, views_of(picture, [RED[0]]))
    assert rows == pytest.approx(as_unit_rows(views.mean(0)[None]), abs=1e-6)
    assert (encode_views(encoder, views_of(picture, [])) == encoder.encode_images([picture])).all(), "no box"
    two = views_of(photo(SMALL_RED, SMALL_GREEN), [SMALL_RED[0], SMALL_GREEN[0]])
    rows = encode_views(encoder, [*two, *views_of(photo(), []), *views_of(picture, [RED[0]])])
    assert rows.argmax(axis=1).tolist() == [0, 1, 2, 0]
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-6)


def test_no_birds_give_no_rows() -> None:
    class Nothing(MeanColour):
        def encode_images(self, images: Sequence[Image.Image]) -> FloatArray:
            return np.zeros((len(images), 3), dtype=np.float32)

    assert encode_views(Nothing(), []).shape == (0, 3)
