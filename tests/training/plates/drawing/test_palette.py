"""Inks have the colours of their names."""

from __future__ import annotations

import pytest

from tests.training.plates.colour_words import colour_word
from training.plates.drawing.palette import INKS, ink


def test_an_unknown_ink_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="cardinal, "):
        ink("infrared")


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("cardinal", "red"), ("yellow", "yellow"), ("blue", "blue"), ("black", "black"), ("white", "white"),
        ("grey", "grey"), ("bottle green", "green"), ("orange", "orange"), ("pink", "pink"), ("brown", "brown"),
        ("buff", "buff"), ("royal blue", "blue"), ("violet", "purple"),
    ],
)  # fmt: skip
def test_an_ink_has_the_colour_word_of_its_name(name: str, word: str) -> None:
    assert colour_word(INKS[name]) == word
