"""Features of a text for the starter models, and the words that they can compare with photos."""

from typing import Any

from recognize import load_encoders
from recognize.starter.lexicon import ATTRIBUTES, PARTS, pairs_of, sentences_of, visible_words


def pair_name(pair: int) -> str:
    """Return a pair in words."""
    part, attribute = divmod(pair, len(ATTRIBUTES))
    return f"{ATTRIBUTES[attribute]} {PARTS[part]}"


def pairs(text: Any) -> Any:
    return {pair_name(pair) for words in sentences_of(text) for pair in pairs_of(words)}


def test_pairs_are_of_synonyms_within_five_words_of_a_sentence() -> None:
    assert pairs("The beak is gray.") == pairs("grey bill") == {"grey bill"}
    for end in (".", ";", "!", "?", "\n"):
        assert pairs(f"red crown{end} black tail") == {"red crown", "black tail"}
    assert pairs("red one two three four crown") == {"red crown"}
    assert pairs("red one two three four five crown") == set()


def test_looks_and_kinds_of_birds_are_visible_but_not_behaviour_places_and_other_animals() -> None:
    for text, words in (
        ("a bird with a conical bill and a forked tail", ("conical", "forked")),
        ("a black and white bird swimming", ("black", "white")),
        ("a crested bird", ("crested",)),
        ("red", ("red",)),
        ("mouse-grey upperparts, fox sparrow", ("grey", "sparrow")),
        ("three herons in flight", ("herons",)),
        ("Two frogs in amplexus. A smaller frog or toad that sits on the back of a larger one.", ()),
        ("a nest with blue eggs", ()),
        ("green 26", ()),
        ("a bill", ()),
        ("an eagle with a fish in its yellow bill", ()),
        ("", ()),
    ):
        assert visible_words(text) == words, text
    (pair,) = load_encoders("starter").text_image
    assert pair.visible_words("a red crown") == ("red",)  # type: ignore[attr-defined]
