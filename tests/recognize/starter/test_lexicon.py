"""Features of a text: words, and pairs of part and attribute."""

from typing import Any

from recognize.starter.lexicon import ATTRIBUTES, PARTS, pairs_of, sentences_of


def pair_name(pair: int) -> str:
    """Return a pair in words."""
    part, attribute = divmod(pair, len(ATTRIBUTES))
    return f"{ATTRIBUTES[attribute]} {PARTS[part]}"


def pairs(text: Any) -> Any:
    return {pair_name(pair) for words in sentences_of(text) for pair in pairs_of(words)}


def test_synonyms_give_the_same_pair() -> None:
    assert pairs("The beak is gray.") == pairs("grey bill") == {"grey bill"}


def test_a_pair_does_not_cross_sentences() -> None:
    for end in (".", ";", "!", "?", "\n"):
        assert pairs(f"red crown{end} black tail") == {"red crown", "black tail"}


def test_words_more_than_five_apart_form_no_pair() -> None:
    assert pairs("red one two three four crown") == {"red crown"}
    assert pairs("red one two three four five crown") == set()
