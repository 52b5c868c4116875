"""Comparison of names: folded spellings, stems of epithets, and the nearest of many names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from rapidfuzz import fuzz
from rapidfuzz.process import extract_iter

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
    """Return a name for comparison: without case, accents, spaces, hyphens and apostrophes, `grey` for `gray`."""
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


def near_names(wanted: str, names: Iterable[str]) -> list[str]:
    """Return the folded names with a likeness of at least `MIN_LIKENESS`, nearest first."""
    names = list(names)
    alike = {name for name, *_ in extract_iter(wanted, names, scorer=fuzz.ratio, score_cutoff=100 * MIN_LIKENESS)}
    alike.update(name for name in names if _is_part(wanted, name))
    return sorted(alike, key=lambda name: (-likeness(wanted, name), len(name), name))


def likeness(wanted: str, folded: str) -> float:
    """Return the similarity of two folded names in [0, 1]; a name that contains the other is similar."""
    return max(fuzz.ratio(wanted, folded) / 100, MIN_LIKENESS if _is_part(wanted, folded) else 0.0)


def _is_part(wanted: str, folded: str) -> bool:
    return len(wanted) >= 4 and (folded.startswith(wanted) or folded.endswith(wanted))
