"""Words that the starter pair can compare with photos."""

import pytest

from recognize import load_encoders
from recognize.starter.lexicon import visible_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a bird with a conical bill and a forked tail", ("conical", "forked")),
        ("a black and white bird swimming", ("black", "white")),
        ("a crested bird", ("crested",)),
        ("red", ("red",)),
        ("mouse-grey upperparts, fox sparrow", ("grey", "sparrow")),
        ("three herons in flight", ("herons",)),
    ],
)
def test_looks_and_kinds_of_birds_are_visible(text: str, words: tuple[str, ...]) -> None:
    assert visible_words(text) == words


@pytest.mark.parametrize(
    "text",
    [
        "Two frogs in amplexus. A smaller frog or toad that sits on the back of a larger one.",
        "standing in water",
        "a bird in flight",
        "a nest with blue eggs",
        "green 26",
        "a bill",
        "an eagle with a fish in its yellow bill",
        "",
    ],
)
def test_behaviour_places_and_other_animals_are_not(text: str) -> None:
    assert visible_words(text) == ()


def test_the_starter_pair_says_what_it_sees() -> None:
    (pair,) = load_encoders("starter").text_image
    assert pair.visible_words("a red crown") == ("red",)  # type: ignore[attr-defined]
