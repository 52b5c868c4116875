"""Field marks of all species, and the share of a query's marks that each species has."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from data.arrays import FloatArray, IntArray
from data.lexicon.marks import every_mark
from data.lexicon.near import near_colours, near_parts
from data.lexicon.plumage import kind_of
from data.lexicon.tables import column
from data.lexicon.word_groups import groups

# Chosen on the tuning half of benchmarks/descriptions.py.
SOME_PART = 0.25
"""Likeness of a look on a part to the same look on another part, or where no part is named."""
MARKING = 0.6
"""Likeness of a marking of a colour (white tips) to the colour of the whole part."""
CONFLICT = -0.3
"""Points of a mark that a species contradicts: a white breast where the query has a red one."""

PartLook = tuple[str, str]

_BREAK = re.compile(r"\s*[,;.]\s*|\s+with\s+")
_LIST_OF_PARTS = re.compile(r"\b(?:the )?((?:[a-z-]+(?:, | and |, and )(?:the )?)+[a-z-]+) (is|are) ([^,.;]+)")
_PARTS = frozenset((*column("parts", "field_mark"), "wingbars", "bars"))
_BIRDS = groups()["bird-noun"]


class MarkIndex:
    """The marks of each species, rows as in `texts`.

    Example:
        >>> index = MarkIndex(["The breast is rufous and the belly is white.", "A bird with a white breast."])
        >>> [round(float(points), 2) for points in index.scores("orange breast")[0]]
        [0.7, -0.3]
    """

    def __init__(self, texts: Iterable[str]) -> None:
        postings: dict[PartLook, dict[int, float]] = {}
        self.size = 0
        for row, text in enumerate(texts):
            self.size += 1
            for part, look, likeness in marks_of_text(text):
                rows = postings.setdefault((part, look), {})
                rows[row] = max(likeness, rows.get(row, 0.0))
        self._postings: dict[PartLook, tuple[IntArray, FloatArray]] = {
            key: (np.fromiter(rows, dtype=np.intp), np.fromiter(rows.values(), dtype=np.float32))
            for key, rows in postings.items()
        }

    def scores(self, description: str) -> tuple[FloatArray, FloatArray]:
        """Return the fit of each species to the marks of a description, and the share of them that its text lacks.

        Both are float32 `(n,)`, rare marks count more. A fit of 1 has all marks, one below 0 contradicts them. Without
        marks in the description all fits are 0 and all shares 1.
        """
        fit = np.zeros(self.size, dtype=np.float32)
        missing = np.zeros(self.size, dtype=np.float32)
        most = 0.0
        for part, look in marks_of_query(description):
            likeness = self._likeness(part, look)
            n_alike = float(np.maximum(likeness, 0).sum())
            rarity = math.log(1 + (self.size - n_alike + 0.5) / (n_alike + 0.5))
            fit += np.float32(rarity) * likeness
            missing += np.float32(rarity) * ((likeness >= 0) & (likeness <= SOME_PART))
            most += rarity
        return (fit / np.float32(most), missing / np.float32(most)) if most else (fit, missing + 1)

    def _likeness(self, part: str, look: str) -> FloatArray:
        """Return the likeness of each species' most similar mark; `CONFLICT` where only other looks of the part are."""
        likeness = np.zeros(self.size, dtype=np.float32)
        differs = np.zeros(self.size, dtype=bool)
        looks = {look: 1.0, **(near_colours().get(look, {}) if kind_of(look) == "colour" else {})}
        parts = {part: 1.0, **near_parts().get(part, {})} if part else {}
        for (other_part, other_look), (rows, shares) in self._postings.items():
            same_kind = kind_of(other_look) == kind_of(look)
            if other_part == part and part and same_kind and kind_of(look) != "pattern":
                differs[rows] |= shares == 1
            if other_look in looks:
                alike = looks[other_look] * parts.get(other_part, SOME_PART if kind_of(look) == "colour" else 0.0)
                likeness[rows] = np.maximum(likeness[rows], alike * shares)
        return np.where(differs & (likeness < -CONFLICT), np.float32(CONFLICT), likeness)


def marks_of_query(description: str) -> list[PartLook]:
    """Return the part and look of each mark in a description, in order.

    Example:
        >>> marks_of_query("grey bird, belly white, long, pointed bill")
        [('plumage', 'grey'), ('belly', 'white'), ('bill', 'long'), ('bill', 'pointed')]
    """
    return list(dict.fromkeys((part, look) for piece in _phrases(description) for part, look, _ in _marks(piece)))


def marks_of_text(text: str) -> set[tuple[str, str, float]]:
    """Return part, look and likeness to a plain look of each mark in a name or summary.

    Example:
        >>> sorted(marks_of_text("The back and wings are black."))
        [('back', 'black', 1.0), ('wings', 'black', 1.0)]
    """
    return set(_marks(_without_lists(text)))


def _marks(text: str) -> Iterator[tuple[str, str, float]]:
    for mark in every_mark(text):
        for look in mark.look.split(" and "):
            yield mark.part, look or mark.part, MARKING if mark.marking else 1.0


def _phrases(description: str) -> Iterator[str]:
    """Yield the phrases between commas, each with a part or a bird; a phrase without one belongs to the next."""
    held: list[str] = []
    for phrase in _BREAK.split(description):
        held.append(phrase)
        if any(word in _PARTS or word in _BIRDS for word in re.findall(r"[a-z-]+", phrase)):
            yield " ".join(held)
            held = []
    if held:
        yield " ".join(held)


def _without_lists(text: str) -> str:
    """Return a text with "the back and wings are black" as two sentences."""

    def expand(found: re.Match[str]) -> str:
        words = re.findall(r"[a-z-]+", found[1])
        parts: Sequence[str] = [word for word in words if word not in ("and", "the")]
        if len(parts) < 2 or not all(part in _PARTS for part in parts):
            return found[0]
        return ". ".join(f"The {part} {found[2]} {found[3]}" for part in parts)

    return _LIST_OF_PARTS.sub(expand, text.lower())
