"""Everyday and misspelt words of queries."""

from __future__ import annotations

import pytest

from kb.lookup.wording import corrected, in_lexicon_words


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("GRAY bird, rust-colored tummy", "grey bird, rusty belly"),
        ("top of the head is reddish brown", "crown is reddish-brown"),
        ("stubby beak, light brown chest", "short beak, buff chest"),
        ("graylag", "greylag"),
        ("", ""),
    ],
)
def test_everyday_words_are_read_as_words_of_the_lexicon(typed: str, read: str) -> None:
    assert in_lexicon_words(typed) == read


@pytest.mark.parametrize(
    ("typed", "right"),
    [("yelow", "yellow"), ("breeast", "breast"), ("whiet", "white"), ("strealed", "streaked"), ("chesnut", "chestnut")],
)
def test_one_wrong_letter_is_corrected(typed: str, right: str) -> None:
    assert corrected(typed) == right


@pytest.mark.parametrize("word", ["bills", "whiter", "reed", "wihte" * 3, "Ünder", "red"])
def test_known_short_and_unlike_words_are_not_corrected(word: str) -> None:
    assert corrected(word, is_known={"reed"}.__contains__) == word


def test_words_of_names_and_summaries_are_not_corrected() -> None:
    assert in_lexicon_words("boobook") == "boobook"
    assert in_lexicon_words("crowl") == "crown"
    assert in_lexicon_words("crowl", is_known={"crowl"}.__contains__) == "crowl"
