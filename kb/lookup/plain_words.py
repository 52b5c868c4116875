"""Everyday words: words of a query that need no explanation."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from data.lexicon.word_groups import groups
from kb.lookup.bm25 import stem
from kb.lookup.variant_words import variant_words

_LEXICON_GROUPS = ("stop", "colour", "size", "who", "compare")
_ADVERB = "ly"


@cache
def _plain_stems() -> frozenset[str]:
    lines = files("kb.lookup").joinpath("plain_words.txt").read_text(encoding="utf-8").splitlines()
    words = {word for line in lines for word in line.partition("#")[0].split()}
    of_variants = (word for word in variant_words().beside if "-" not in word)
    return frozenset(stem(word) for word in words.union(of_variants, *(groups()[name] for name in _LEXICON_GROUPS)))


def is_plain(word: str) -> bool:
    """Return whether a word is an everyday word, a word for a sex or age, or a number; a name of an organism is none.

    Compounds with hyphens are everyday words if all their parts are.

    Example:
        >>> [is_plain(word) for word in ("perched", "ducklings", "dark-coloured", "26")]
        [True, True, True, True]
        >>> [is_plain(word) for word in ("amplexus", "osmeterium", "Misumena", "zebras")]
        [False, False, False, False]
    """
    parts = word.lower().replace("’", "'").removesuffix("'s").removesuffix("'").split("-")
    return all(map(_is_plain, parts))


def _is_plain(part: str) -> bool:
    if not part or any(character.isdigit() for character in part) or len(part) == 1:
        return True
    stems = _plain_stems()
    roots = (part, part.removesuffix(_ADVERB)) if part.endswith(_ADVERB) else (part,)
    return any(stem(root) in stems for root in roots)
