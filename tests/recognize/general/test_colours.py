"""Colours of texts and photos."""

import numpy as np
from PIL import Image, ImageDraw

from data.arrays import rank_descending
from recognize.general.colours import BASIC, ColourWords
from training.creatures.butterflies import BUTTERFLIES

ENCODER = ColourWords()
INKS = {"red": (205, 30, 35), "yellow": (245, 215, 50), "blue": (50, 100, 200), "green": (60, 140, 60)}


def test_a_photo_of_a_colour_is_nearest_to_its_word_and_the_background_counts_less() -> None:
    words = ENCODER.encode_texts([f"The wings are {name}." for name in INKS])
    for colour, background in ((colour, ground) for colour in INKS for ground in ("white", INKS["green"])):
        picture = Image.new("RGB", (120, 90), background)
        ImageDraw.Draw(picture).ellipse((35, 20, 85, 70), fill=INKS[colour])
        assert list(INKS)[int((words @ ENCODER.encode_images([picture])[0]).argmax())] == colour, background


def test_a_text_without_a_colour_has_no_vector_and_shades_are_colours() -> None:
    vectors = ENCODER.encode_texts(["Two tails and long antennae.", "Chestnut wings.", "Brown wings."])
    assert not vectors[0].any()
    np.testing.assert_array_equal(vectors[1], vectors[2])
    np.testing.assert_allclose(np.linalg.norm(vectors[1]), 1, atol=1e-6)
    assert ENCODER.visible_words("Chestnut wings with a long tail") == ("chestnut",)


def test_vectors_do_not_depend_on_the_batch() -> None:
    pictures = [butterfly.draw(0) for butterfly in BUTTERFLIES[:3]]
    alone = [ENCODER.encode_images([picture])[0] for picture in pictures]
    np.testing.assert_array_equal(ENCODER.encode_images(pictures), alone)
    assert ENCODER.encode_images([]).shape == (0, len(BASIC))
    blank = ENCODER.encode_images([Image.new("RGB", (50, 50), INKS["blue"])])[0]
    assert BASIC[int(blank.argmax())] == "blue"


def test_colours_alone_rank_drawn_butterflies_far_above_chance() -> None:
    texts = ENCODER.encode_texts([butterfly.text for butterfly in BUTTERFLIES])
    places = []
    for at, butterfly in enumerate(BUTTERFLIES):
        for photo in ENCODER.encode_images([butterfly.draw(0)]):
            places.append(rank_descending(texts @ photo, len(BUTTERFLIES)).tolist().index(at))
    assert np.mean(places) <= 3, "by chance 5.5"
