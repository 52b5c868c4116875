"""Colours that a description names, and the part of the body that has each."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from data.arrays import FloatArray
from data.lexicon.marks import sentences_of_words
from tests.toy.palette import COLOUR_WORDS, N_COLOURS

N_REGIONS: Final = 3  # upper, middle, lower third of a bird as it perches

# Words of a part -> share of the upper, middle and lower third of an image that it fills. By eye.
_THIRDS: Final[dict[str, tuple[float, float, float]]] = {
    "crown cap forecrown forehead crest head nape hindcrown": (0.9, 0.1, 0.0),
    "face cheek ear-coverts auriculars lores lore mask supercilium eyebrow eyestripe": (0.6, 0.0, 0.0),
    "throat chin bib gorget neck collar": (0.6, 0.2, 0.0),
    "bill beak mandible culmen eye iris eye-ring eyering cere casque wattle": (0.25, 0.0, 0.0),
    "back mantle upperparts wing wings coverts primaries secondaries wingbar wingbars rump scapulars shoulder flight": (
        0.2,
        0.9,
        0.4,
    ),
    "breast chest underparts underpart flank flanks side sides": (0.2, 0.9, 0.4),
    "belly abdomen vent undertail crissum thighs": (0.0, 0.4, 0.8),
    "uppertail tail rectrices": (0.0, 0.2, 0.6),
    "leg legs tarsi foot feet toes tarsus": (0.0, 0.0, 0.25),
    "plumage body overall bird male female adult": (0.7, 1.0, 0.7),
}
PART_WORDS: Final = {word: third for words, third in _THIRDS.items() for word in words.split()}
_NO_PART: Final = (0.3, 0.4, 0.3)
_OTHER_PLUMAGE: Final = {"female", "females", "juvenile", "juveniles", "immature", "immatures", "chick", "young"}
_OTHER_PLUMAGE_WEIGHT: Final = 0.4  # photos show males and adults more often
_REACH: Final = 5  # words between a colour and its part


def count_words(text: str) -> int:
    """Return the number of words in a text, compounds as one."""
    return len(re.findall(r"[a-z]+(?:-[a-z]+)*", text.lower()))


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
