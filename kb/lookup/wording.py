"""Everyday wording of a query in the words of the lexicon, with misspelt words corrected."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache

from rapidfuzz.distance import OSA

from data.lexicon.tables import column
from data.lexicon.word_groups import VISUAL_GROUPS, groups, variants

MIN_LETTERS = 4  # of a word that is corrected: shorter ones are one letter away from too many others
LETTERS = re.compile(r"[a-z]+")
"""A word in lower case, or the part of it before a hyphen or an accent."""


def in_lexicon_words(text: str, *, is_known: Callable[[str], bool] = lambda word: False) -> str:
    """Return a description in lower case, spelling corrected and everyday words replaced by the lexicon's.

    Words that `is_known` are not corrected.
    """
    text = LETTERS.sub(lambda found: corrected(found[0], is_known), text.lower().replace("’", "'"))
    text = re.sub(r"\bgray", "grey", text)
    phrases, replacements = _everyday()
    return phrases.sub(lambda found: replacements[found[0]], text)


def corrected(word: str, is_known: Callable[[str], bool] = lambda word: False) -> str:
    """Return the word of the lexicon that is one slip after the first letter away, else or if it is known the word."""
    if len(word) < MIN_LETTERS or is_listed(word) or is_known(word):
        return word
    return next((near for near in _by_slip().get(word[0], ()) if is_one_slip(word, near)), word)


def is_one_slip(word: str, other: str) -> bool:
    """Return whether one letter is dropped, added, changed, or swapped with the next."""
    return OSA.distance(word, other, score_cutoff=1) == 1


def is_listed(word: str) -> bool:
    """Return whether a lower-case word, its singular or its base form is in the lexicon."""
    listed = _listed()
    return word in listed or any(form in listed for form in variants(word))


@cache
def _listed() -> frozenset[str]:
    return frozenset(_visual_words()).union(*groups().values())


@cache
def _by_slip() -> dict[str, tuple[str, ...]]:
    """Return first letter -> words that a slip may stand for, colours and parts first."""
    found: dict[str, dict[str, None]] = {}
    for word in _visual_words():
        if len(word) >= MIN_LETTERS:
            found.setdefault(word[0], {})[word] = None
    return {letter: tuple(words) for letter, words in found.items()}


@cache
def _visual_words() -> tuple[str, ...]:
    words: Iterable[str] = (
        *column("colours", "field_mark"),
        *column("parts", "field_mark"),
        *column("looks", "field_mark"),
        *("bird", "grayish", "greyish", "with"),
        *(word for words in column("everyday", "lexicon") for word in words.split()),
        *(word for name in VISUAL_GROUPS for word in sorted(groups()[name])),
    )
    return tuple(dict.fromkeys(piece for word in words for piece in word.split("-") if piece.isalpha()))


@cache
def _everyday() -> tuple[re.Pattern[str], dict[str, str]]:
    table = dict(column("everyday", "lexicon"))
    longest_first = sorted(table, key=lambda words: -len(words))
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])"), table
