"""Words: nouns in the singular and the plural, and the nearest of known words to a misspelt one."""

from __future__ import annotations

import re
from collections.abc import Iterable

_IRREGULAR = {
    "geese": ["goose"], "mice": ["mouse"], "feet": ["foot"], "teeth": ["tooth"], "larvae": ["larva"], "pupae": ["pupa"],
    "oxen": ["ox"], "youngs": ["young"],
}  # fmt: skip


NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def capitalised(text: str) -> str:
    """Return the text with its first letter as a capital."""
    return text[:1].upper() + text[1:]


def without_qualifier(title: str) -> str:
    """Return the title of a page without the parenthesis at its end: `Rut` of `Rut (mammals)`."""
    return re.sub(r"\s*[(（][^()（）]*[)）]$", "", title)


def plural(n: int, noun: str, many: str | None = None) -> str:
    """Return `1 photo`, `2 photos`, `11,131 species`."""
    return f"{n:,} {noun if n == 1 else many or noun + 's'}"


def singulars(word: str) -> list[str]:
    """Return possible singulars of a word: itself first, then without plural endings (finches, finch, finche)."""
    forms = [word]
    if word.endswith("ies"):
        forms.append(word[:-3] + "y")
    if word.endswith("ves"):
        forms += [word[:-3] + "f", word[:-3] + "fe"]
    if word.endswith("es"):
        forms.append(word[:-2])
    if word.endswith("s"):
        forms.append(word[:-1])
    return forms + _IRREGULAR.get(word, [])


def nearest(word: str, known: Iterable[str], n: int = 5, *, at_least: float = 0.6) -> list[str]:
    """Return up to `n` known words at least so similar to a word, nearest first, shorter ones before longer ones."""
    found = likenesses(word, known, at_least=at_least)
    return sorted(found, key=lambda name: (-found[name], len(name), name))[:n]


def likenesses(word: str, known: Iterable[str], *, at_least: float) -> dict[str, float]:
    """Return known word -> its likeness to a word, in [0, 1]: of the letters that both have in the same order."""
    from rapidfuzz import fuzz, process  # not at the start of every command

    found = process.extract(
        word, list(dict.fromkeys(known)), scorer=fuzz.ratio, score_cutoff=100 * at_least, limit=None
    )
    return {name: score / 100 for name, score, _ in found}
