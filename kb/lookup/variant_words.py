"""Words for variants, from `variants.txt`, and the table `sexes` of the lexicon."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from data.lexicon.tables import column
from data.lexicon.word_groups import words_of

SEXES_AND_AGES = frozenset(("male", "female", "juvenile"))
_LONGEST = 3  # words of a phrase
_ORDINALS = {"1st": "first", "2nd": "second", "3rd": "third", "4th": "fourth"}
_ORDINAL = re.compile(r"\b(?:1st|2nd|3rd|4th)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantWords:
    """Contents of `variants.txt`; phrases are joined by hyphens."""

    anywhere: Mapping[str, str]
    """Word -> kind of variant, wherever the word stands in a query."""
    beside: Mapping[str, str]
    """Word -> kind of variant beside the name of a species; also `adult`."""
    breeding: frozenset[str]
    """Words for the breeding plumage in descriptions."""
    winter_genera: frozenset[str]
    """Genera, in lower case, whose adults look different in winter."""

    @property
    def phrases(self) -> Collection[str]:
        """All words and phrases."""
        return self.anywhere.keys() | self.beside.keys() | self.breeding


@cache
def variant_words() -> VariantWords:
    """Return the words, read once.

    Example:
        >>> words = variant_words()
        >>> words.beside["duckling"], words.beside["drake"], words.anywhere["non-breeding"]
        ('juvenile', 'male', 'nonbreeding')
    """
    found: dict[str, dict[str, str]] = {"beside": dict(column("sexes", "subject"))}
    kind, where = "", ""
    for line in files("kb.lookup").joinpath("variants.txt").read_text(encoding="utf-8").splitlines():
        text = line.partition("#")[0].strip()
        if text.startswith("["):
            kind, where = text.strip("[]").split()
        elif text:
            found.setdefault(where, {}).update(dict.fromkeys(text.split(), kind))
    return VariantWords(
        anywhere=found["anywhere"],
        beside=found["beside"],
        breeding=frozenset(found["text"]),
        winter_genera=frozenset(found["genera"]),
    )


def variant_words_in(text: str) -> list[str]:
    """Return the words of a text in lower case, those of a phrase of `variants.txt` joined; longer phrases first.

    Example:
        >>> variant_words_in("A 1st winter gull, not in non-breeding plumage")
        ['a', 'first-winter', 'gull', 'not', 'in', 'non-breeding', 'plumage']
    """
    return list(_joined(words_of(_ORDINAL.sub(lambda found: _ORDINALS[found[0].lower()], text))))


def kinds_of(words: Collection[str]) -> frozenset[str]:
    """Return the kinds of variants that a sentence of a description states: `breeding` too, and `adult`.

    Example:
        >>> sorted(kinds_of(variant_words_in("In winter males are dull.")))
        ['male', 'nonbreeding']
    """
    table = variant_words()
    found = {table.anywhere.get(word) or table.beside.get(word, "") for word in words}
    found |= {"breeding"} if table.breeding.intersection(words) else set()
    return frozenset("nonbreeding" if kind == "winter" else kind for kind in found if kind)


def _joined(words: list[str]) -> Iterator[str]:
    phrases, place = variant_words().phrases, 0
    while place < len(words):
        lengths = range(min(_LONGEST, len(words) - place), 1, -1)
        length = next((n for n in lengths if "-".join(words[place : place + n]) in phrases), 1)
        yield "-".join(words[place : place + length])
        place += length
