"""Differences that the untrained encoders can see."""

import time
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageOps

from data.errors import ConfigError
from data.lexicon.described_colours import find_colours
from data.lexicon.palette import COLOURS, name_pixels
from recognize.encoders.plain.colours import PlainColours
from recognize.encoders.plain.foreground import SIDE, find_subject
from recognize.encoders.plain.look import PlainLook
from recognize.encoders.plain.words import PlainWords, stem
from recognize.encoders.profiles import load_encoders

SHADES = {
    "black": (15, 15, 18), "white": (248, 248, 246), "grey": (125, 126, 128), "brown": (100, 70, 48),
    "red": (205, 20, 30), "orange": (238, 130, 30), "yellow": (246, 216, 45), "green": (45, 140, 60),
    "blue": (40, 85, 190), "pink": (240, 150, 172), "purple": (108, 40, 138),
}  # fmt: skip


def bird(body: Any, *, background: str = "white", head: Any = None, belly: Any = None, x: int = 0) -> Any:
    picture = Image.new("RGB", (120, 120), background)
    draw = ImageDraw.Draw(picture)
    draw.ellipse((35 + x, 25, 85 + x, 95), fill=body)
    if head:
        draw.ellipse((45 + x, 12, 75 + x, 42), fill=head)
    if belly:
        draw.ellipse((42 + x, 62, 78 + x, 100), fill=belly)
    return picture


@pytest.mark.parametrize("name", SHADES)
def test_a_typical_pixel_goes_by_its_name(name: Any) -> None:
    shares = name_pixels(np.array([SHADES[name]], dtype=np.uint8))[0]
    assert COLOURS[int(shares.argmax())] == name
    assert shares.sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("background", ["white", "skyblue", "darkgreen"])
def test_the_subject_outweighs_the_background(background: str) -> None:
    weights = find_subject(bird("firebrick", background=background)).weights.reshape(SIDE, SIDE)
    assert weights.sum() == pytest.approx(1, abs=1e-4)
    assert weights[20:44, 20:44].sum() > 0.6
    assert weights[:4].sum() < 0.05


@pytest.mark.parametrize("name", SHADES)
def test_a_drawn_bird_is_nearest_to_the_text_of_its_colour(name: Any) -> None:
    encoder = PlainColours()
    background = "white" if name != "white" else "darkgreen"
    photo = encoder.encode_images([bird(SHADES[name], background=background)])[0]
    texts = encoder.encode_texts([f"The plumage is {other} all over." for other in SHADES])
    assert list(SHADES)[int((texts @ photo).argmax())] == name


def test_where_a_colour_is_said_to_be_counts() -> None:
    encoder = PlainColours()
    texts = encoder.encode_texts(["Crown red. Belly black.", "Crown black. Belly red."])
    hooded, vested = encoder.encode_images(
        [bird("grey", head="red", belly="black"), bird("grey", head="black", belly="red")]
    )
    assert texts[0] @ hooded > texts[1] @ hooded
    assert texts[1] @ vested > texts[0] @ vested


@pytest.mark.parametrize(
    ("one", "other"),
    [("crimson crown", "red crown"), ("chestnut back", "rufous back"), ("gray tail", "grey tail"),
     ("red-crowned", "red crown"), ("Upperparts: azure", "upperparts blue")],
)  # fmt: skip
def test_words_for_one_colour_mean_the_same(one: str, other: str) -> None:
    assert np.array_equal(find_colours(one), find_colours(other))


def test_what_is_said_of_females_counts_less() -> None:
    assert find_colours("Female brown.").sum() < find_colours("Body brown.").sum()


def test_a_text_without_colours_is_a_zero_row() -> None:
    assert not PlainColours().encode_texts(["A small bird with a loud song."]).any()


def test_a_picture_and_its_mirror_image_look_alike() -> None:
    picture = bird("teal", x=12, head="red").resize((SIDE, SIDE))
    row, mirrored = PlainLook().encode_images([picture, ImageOps.mirror(picture)])
    assert row @ mirrored == pytest.approx(1, abs=1e-5)


def test_the_same_bird_elsewhere_is_nearer_than_another_one() -> None:
    encoder = PlainLook()
    cardinal, moved, jay = encoder.encode_images([bird("crimson"), bird("crimson", x=6), bird("royalblue")])
    assert cardinal @ moved > cardinal @ jay + 0.3


@pytest.mark.parametrize(
    ("words", "root"),
    [(("frog", "frogs"), "frog"), (("berry", "berries"), "berry"), (("streak", "streaks", "streaked", "streaking"),
     "streak"), (("spot", "spotted", "spots"), "spot"), (("grass",), "grass"), (("pelvis",), "pelvis")],
)  # fmt: skip
def test_forms_of_a_word_share_a_stem(words: Any, root: str) -> None:
    assert {stem(word) for word in words} == {root}


def test_texts_that_share_rare_words_are_nearer_than_those_that_share_common_ones() -> None:
    encoder = PlainWords()
    query, rare, common = encoder.encode_texts(
        ["frogs in amplexus position", "Amplexus is the mating embrace of frogs.", "The position of the bird."]
    )
    assert query @ rare > 2 * (query @ common)


def test_an_unknown_profile_lists_those_there_are() -> None:
    with pytest.raises(ConfigError, match=r'Unknown profile "big"\. Expected one of starter, plain, paper, best'):
        load_encoders("big")


def test_a_hundred_photos_a_second_on_one_core() -> None:
    encoders = load_encoders("plain")
    photo = Image.effect_noise((420, 300), 60).convert("RGB")
    for encoder in (*encoders.text_image, encoders.visual):
        encoder.encode_images([photo])
    start = time.process_time()
    for encoder in (*encoders.text_image, encoders.visual):
        encoder.encode_images([photo] * 20)
    assert (time.process_time() - start) / 20 < 0.010
