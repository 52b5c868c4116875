"""Colours that a description names, and the part of the body that has each."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from data.arrays import FloatArray
from data.lexicon.palette import COLOUR_WORDS, N_COLOURS
from data.lexicon.tables import column
from data.lexicon.word_groups import equations

N_REGIONS: Final = 3  # upper, middle, lower third of a bird as it perches

# Part in the lexicon -> share of the upper, middle and lower third of an image that it fills. By eye.
_THIRDS: Final[dict[str, tuple[float, float, float]]] = {
    "crown": (0.9, 0.1, 0.0),
    "face": (0.6, 0.0, 0.0),
    "throat": (0.6, 0.2, 0.0),
    "bill": (0.25, 0.0, 0.0),
    "back": (0.2, 0.9, 0.4),
    "breast": (0.2, 0.9, 0.4),
    "belly": (0.0, 0.4, 0.8),
    "tail": (0.0, 0.2, 0.6),
    "legs": (0.0, 0.0, 0.25),
    "body": (0.7, 1.0, 0.7),
}
PART_WORDS: Final[dict[str, tuple[float, float, float]]] = {
    word: _THIRDS[third] for word, third in column("parts", "third").items()
}
_NO_PART: Final = (0.3, 0.4, 0.3)
_OTHER_PLUMAGE: Final = column("sexes", "plain").keys()
_OTHER_PLUMAGE_WEIGHT: Final = 0.4  # photos show males and adults more often
_REACH: Final = 5  # words between a colour and its part

_TOKEN: Final = re.compile(r"[a-z]+(?:-[a-z]+)*")
_SENTENCE: Final = re.compile(r"[.;!?]\s+|\n")  # not at a colon: "crown: red"


def count_words(text: str) -> int:
    """Return the number of words in a text, compounds as one."""
    return len(_TOKEN.findall(text.lower()))


def sentences_of_words(text: str) -> list[list[str]]:
    """Return the words of each sentence, lower case; compounds are split (`red-capped` gives `red`, `cap`)."""
    sentences = _SENTENCE.split(text.lower())
    return [[piece for token in _TOKEN.findall(sentence) for piece in _pieces(token)] for sentence in sentences]


def find_colours(text: str) -> FloatArray:
    """Return the described area of each colour in each third: `(3, 16)` float32, zero where no colour is named."""
    found = np.zeros((N_REGIONS, N_COLOURS), dtype=np.float64)
    for tokens in sentences_of_words(text):
        weight = _OTHER_PLUMAGE_WEIGHT if _OTHER_PLUMAGE & set(tokens) else 1.0
        for position, token in enumerate(tokens):
            colours = COLOUR_WORDS.get(token)
            if colours is None:
                continue
            area = np.array(_area_of_part_near(tokens, position))
            for colour in colours:
                found[:, colour] += weight * area / len(colours)
    return found.astype(np.float32)


def _pieces(token: str) -> list[str]:
    """Return a compound as one word if it is a colour or part (`olive-green`), else its pieces (`red-capped`)."""
    if token in COLOUR_WORDS or token in PART_WORDS:
        return [token]
    return [_PARTICIPLES.get(piece, piece) for piece in token.split("-")]


_PARTICIPLES: Final = dict(equations("participle"))  # the part in "red-capped"


def _area_of_part_near(tokens: list[str], position: int) -> tuple[float, float, float]:
    """Return the area of the nearest part; one after the colour wins ("red crown") over one before ("crown is red")."""
    for distance in range(1, _REACH + 1):
        ahead = position + distance
        if ahead < len(tokens) and tokens[ahead] in PART_WORDS:
            return PART_WORDS[tokens[ahead]]
        behind = position - distance
        if behind >= 0 and tokens[behind] in PART_WORDS:
            return PART_WORDS[tokens[behind]]
    return _NO_PART
