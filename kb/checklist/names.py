"""Comparison of names: folded spellings, stems of epithets, and the nearest of many names."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

N_COMPARED: Final = 200  # names that are compared letter by letter
MIN_LIKENESS: Final = 0.8  # below it, names of quite other taxa look alike
_FOLDED_LETTERS = str.maketrans(
    {"ø": "o", "ð": "d", "ł": "l", "ß": "ss", "æ": "ae", "œ": "oe", "þ": "th", "đ": "d", "ı": "i"}
    | dict.fromkeys("ʻʼʽ", "")  # glottal stops of Hawaiian and other names, letters to Unicode
)
_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]+")
ENDINGS: Final = ("", "iensis", "ensis", "oides", "ii", "is", "us", "um", "er", "ra", "rum", "a", "e", "i")
"""Endings of epithets, which follow the genus' gender or differ between authors."""
_ENDING = re.compile(rf"(?:{'|'.join(filter(None, ENDINGS))})$")


@lru_cache(maxsize=1 << 16)  # the tables repeat their names, and titles are compared again and again
def fold(name: str) -> str:
    """Return a name for comparison: without case, accents, spaces, hyphens and apostrophes, `grey` for `gray`.

    Example:
        >>> fold("Black-crowned Night-Heron") == fold("black crowned night heron")
        True
        >>> fold("Rüppell’s Gray Parrot")
        'ruppellsgreyparrot'
    """
    lowered = name.lower()
    if not lowered.isascii():
        decomposed = unicodedata.normalize("NFKD", lowered.translate(_FOLDED_LETTERS))
        lowered = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
        if not lowered.isascii():  # other scripts: their letters must not vanish, or all such names would be equal
            return re.sub(r"[\W_]+", "", lowered).replace("gray", "grey")
    return _NOT_ALPHANUMERIC.sub("", lowered).replace("gray", "grey")


def epithet_stem(scientific_name: str) -> str:
    """Return the last word of a binomial without its ending, which follows the genus' gender (`alba`, `albus`)."""
    epithet = scientific_name.rsplit(" ", 1)[-1].lower()
    return _ENDING.sub("", epithet) or epithet


class NearNames:
    """Finds the nearest of many folded names."""

    def __init__(self, names: Iterable[str]) -> None:
        """Count the letter pairs of each name."""
        self._names = list(names)
        self._holders: dict[str, list[tuple[int, int]]] = {}  # letter pair -> (name, how often it has the pair)
        for number, name in enumerate(self._names):
            for pair, count in Counter(_letter_pairs(name)).items():
                self._holders.setdefault(pair, []).append((number, count))

    def to(self, wanted: str) -> list[str]:
        """Return names with a similarity of at least `MIN_LIKENESS`, nearest first."""
        pairs = Counter(_letter_pairs(wanted))
        total = sum(pairs.values())
        shared: dict[int, int] = {}
        for pair, count in pairs.items():
            for number, others in self._holders.get(pair, ()):
                shared[number] = shared.get(number, 0) + (count if count < others else others)
        coarse = [(-2 * n / (total + len(self._names[i]) - 1), self._names[i]) for i, n in shared.items()]
        coarse.sort()
        scored = [(likeness(wanted, name), name) for _, name in coarse[:N_COMPARED]]
        scored.sort(key=lambda item: (-item[0], len(item[1]), item[1]))
        return [name for score, name in scored if score >= MIN_LIKENESS]


def _letter_pairs(folded: str) -> Iterator[str]:
    return (folded[i : i + 2] for i in range(len(folded) - 1))


def likeness(wanted: str, folded: str) -> float:
    """Return the similarity of two folded names in [0, 1]; a name that contains the other is similar."""
    ratio = SequenceMatcher(None, wanted, folded, autojunk=False).ratio()
    if len(wanted) >= 4 and (folded.startswith(wanted) or folded.endswith(wanted)):
        return max(ratio, 0.8)
    return ratio
