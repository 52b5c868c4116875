"""Untrained sentence space: the words and pairs of words of a text."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final
from zlib import crc32

import numpy as np

from data.arrays import FloatArray

_DIM: Final = 1024
_TOKEN: Final = re.compile(r"[a-zà-ÿ0-9]+")
_PAIR_WEIGHT: Final = 0.7  # a pair repeats its words, so it counts less than a rare word

_STOP_TEXT: Final = """
a about above after again all also although an and any are as at be because been before being below between both but by
can do does each few find for found from further get has have he her here his how i if in into is it its like look
looking may me more most much near nor not of off often on one only or other our out over own photo photos picture
pictures same she show showing shows so some such than that the their them then there these they this those through to
too under up usually very was we were what when where which while who why will with within you
"""
_STOP_WORDS: Final = frozenset(_STOP_TEXT.split())
# Stems in nearly every description of an animal, with a low weight: a stand-in for a fitted idf.
_COMMON_TEXT: Final = """
bird animal species adult male female sex plumage colour color small large medium long short size body head tail wing
bill beak back upperpart underpart leg eye breast belly white black brown grey dark pale light position juvenile
immature genu family
"""
_COMMON: Final[dict[str, float]] = dict.fromkeys(_COMMON_TEXT.split(), 0.45)


class PlainWords:
    """A stand-in for a trained sentence model: hashed counts of word stems and of neighbours.

    Words that all descriptions share count less. Texts without a common word have similarity 0.

    Example:
        >>> encoder = PlainWords()
        >>> toad, crest, query = encoder.encode_texts(
        ...     ["The mating embrace of frogs.", "Long feathers on the crown.", "frog in an embrace"]
        ... )
        >>> bool(query @ toad > 0.5), bool(abs(query @ crest) < 0.1)
        (True, True)
    """

    name = "plain-words"
    space = "fieldmark-plain-words/1"
    dim = _DIM
    max_tokens = None

    def count_tokens(self, text: str) -> int:
        return len(_TOKEN.findall(text.lower()))

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        rows = np.zeros((len(texts), _DIM), dtype=np.float32)
        for i, text in enumerate(texts):
            row = np.zeros(_DIM, dtype=np.float64)
            # Sorted, so that equal counts are added in the same order whatever the order of the words.
            for feature, weight in sorted(_weights(text).items()):
                code = crc32(feature.encode())
                row[code % _DIM] += weight if code & 0x8000_0000 else -weight
            length = np.sqrt((row * row).sum())
            if length > 0:
                rows[i] = row / length
        return rows


def _weights(text: str) -> dict[str, float]:
    stems = [stem(token) for token in _TOKEN.findall(text.lower()) if token not in _STOP_WORDS]
    counts: dict[str, int] = {}
    for word in stems:
        counts[word] = counts.get(word, 0) + 1
    for first, second in pairwise(stems):
        pair = f"{first} {second}"
        counts[pair] = counts.get(pair, 0) + 1
    return {feature: _commonness(feature) * (1 + float(np.log(count))) for feature, count in counts.items()}


def _commonness(feature: str) -> float:
    words = feature.split()
    weight = max(_COMMON.get(word, 1.0) for word in words)
    return weight * (_PAIR_WEIGHT if len(words) == 2 else 1.0)


def stem(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed", "ish"):
        if len(word) > len(ending) + 3 and word.endswith(ending):
            word = word[: -len(ending)]
            return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz" else word
    return word
