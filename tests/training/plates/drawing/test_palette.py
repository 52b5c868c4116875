"""Inks and their mixtures."""

from __future__ import annotations

import pytest

from tests.training.plates.colour_words import colour_word
from training.plates.drawing.palette import INKS, colour, ink


def test_an_unknown_ink_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"Unknown ink 'infrared'.*cardinal, "):
        ink("infrared")


def test_a_mixture_is_computed_from_left_to_right() -> None:
    assert colour("black") == INKS["black"]
    assert colour("black + 100% red") == INKS["red"]
    assert colour("black + 50% white + 50% black") == (82, 82, 82)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("cardinal", "red"), ("yellow", "yellow"), ("blue", "blue"), ("black", "black"), ("white", "white"),
        ("grey", "grey"), ("bottle green", "green"), ("orange", "orange"), ("pink", "pink"), ("brown", "brown"),
        ("buff", "buff"), ("royal blue", "blue"), ("violet", "purple"),
    ],
)  # fmt: skip
def test_an_ink_has_the_colour_of_its_name(name: str, word: str) -> None:
    assert colour_word(INKS[name]) == word
