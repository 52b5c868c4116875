"""BM25 ranking of texts by the words of a query, and postings: rows that have a word, in arrays."""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray
from data.lexicon.word_groups import equations, groups


@dataclass(frozen=True, slots=True)
class Postings:
    """Key -> rows and their values; key i has the postings `starts[i]:starts[i + 1]`."""

    keys: Mapping[str, int]
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    values: FloatArray

    @staticmethod
    def of(triples: Iterable[tuple[str, int, float]]) -> Postings:
        """Return the postings of `(key, row, value)`, each pair of key and row once, rows of a key in order."""
        held: dict[str, tuple[array[int], array[float]]] = {}
        for key, row, value in triples:
            rows, values = held.setdefault(key, (array("i"), array("f")))
            rows.append(row)
            values.append(value)
        starts = np.cumsum([0, *(len(rows) for rows, _ in held.values())], dtype=np.int64)
        every_row = np.frombuffer(b"".join(rows for rows, _ in held.values()), dtype=np.int32)
        every_value = np.frombuffer(b"".join(values for _, values in held.values()), dtype=np.float32)
        return Postings({key: i for i, key in enumerate(held)}, starts, every_row, every_value)

    def rows_of(self, key: str) -> tuple[IntArray, FloatArray]:
        """Return rows and values of a key; none for an unknown key."""
        i = self.keys.get(key)
        part = slice(0, 0) if i is None else slice(self.starts[i], self.starts[i + 1])
        return self.rows[part].astype(np.intp), self.values[part]


K1, B = 1.2, 0.75  # Robertson and Zaragoza 2009, the values most engines ship; not tuned here
WHOLE_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
"""A word of a query with its apostrophes, hyphens and full stops."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_STOP_WORDS = groups()["stop"]


@cache
def _synonyms() -> dict[str, str]:
    return {stem(other): stem(word) for word, other in equations("synonym")}


def tokens(text: str) -> list[str]:
    """Return the content words of a text in order: lower case, stemmed, synonyms unified."""
    words = (word.lower().replace("’", "'").removesuffix("'s") for word in _WORD.findall(text))
    stems = (stem(word) for word in words if word not in _STOP_WORDS)
    synonyms = _synonyms()
    return [synonyms.get(word, word) for word in stems]


@lru_cache(maxsize=1 << 16)  # words repeat
def stem(word: str) -> str:
    """Return a word without plural, -ing and -ed endings, for matching only."""
    word = word.replace("gray", "grey").replace("colour", "color")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) >= 3 and re.search(r"[aeiouy]", root):
            doubled = len(root) > 3 and root[-1] == root[-2] and root[-1] not in "lsz"
            return root[:-1] if doubled else root
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


class BM25:
    """An index over texts given as tokens: `postings` have the counts of words, `norm` is the weight of each length."""

    def __init__(self, texts: Iterable[Sequence[str]], *, typical: Sequence[bool] = ()) -> None:
        """Index the texts; their mean length is that of the `typical` ones, of all if none is."""
        lengths: list[int] = []

        def counted_words() -> Iterator[tuple[str, int, int]]:
            for row, words in enumerate(texts):
                lengths.append(len(words))
                yield from ((word, row, count) for word, count in Counter(words).items())

        self.postings = Postings.of(counted_words())
        length = np.asarray(lengths, dtype=np.float32)
        counted = length[np.asarray(typical, dtype=bool)] if any(typical) else length
        mean = float(counted.mean()) if counted.any() else 1.0
        self.norm: FloatArray = K1 * (1 - B + B * length / mean)

    @classmethod
    def kept(cls, postings: Postings, norm: FloatArray) -> BM25:
        """Return the index with these postings and weights of lengths."""
        index = cls(())
        index.postings, index.norm = postings, norm
        return index

    def scores(self, query: Sequence[str]) -> FloatArray:
        """Return the BM25 sum of every text, float32 `(n,)`, divided by the highest possible one for the query."""
        total = np.zeros(len(self.norm), dtype=np.float32)
        most = 0.0
        for word in dict.fromkeys(query):
            rows, counts = self.postings.rows_of(word)
            idf = math.log(1 + (len(self.norm) - len(rows) + 0.5) / (len(rows) + 0.5))
            most += idf * (K1 + 1)
            total[rows] += idf * counts * (K1 + 1) / (counts + self.norm[rows])
        return total / np.float32(most) if most else total

    def coverage(self, query: Sequence[str]) -> FloatArray:
        """Return the share of the distinct query words in each text, float32 `(n,)`."""
        n_words = np.zeros(len(self.norm), dtype=np.float32)
        words = list(dict.fromkeys(query))
        for word in words:
            n_words[self.postings.rows_of(word)[0]] += 1
        return n_words / np.float32(max(len(words), 1))
