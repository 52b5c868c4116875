"""Vocabulary of the facts: parts, colours, shades, patterns, shapes and sizes, from the lexicon and `words.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from data.lexicon.words import column, groups, near, rows

WORDS: Final[Mapping[str, Any]] = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


def word_lists(table: str) -> dict[str, tuple[str, ...]]:
    """Return key -> words of a table of `words.toml`."""
    return {key: tuple(words.split()) for key, words in WORDS[table].items()}


PHRASES: Final = tuple((re.compile(rf"\b(?:{phrase})\b"), part) for part, phrase in rows("part_phrases"))
"""Phrases in lower case and their parts. Tried in this order; each match becomes one word."""
PARTS: Final = frozenset(part for _, part in PHRASES)
MEMBERS: Final = word_lists("members")
NOT_THE_PART: Final = groups()["beside-part"]
"""Words after a part that name something beside it: "black wing edges" are not black wings."""
BAR_PARTS: Final = frozenset(word_lists("kinds")["bars"])

COLOURS: Final = column("colours", "fact")
"""Colour word -> the plain colour that it is a form of."""
TONES: Final = column("colours", "tone")
"""Colour word -> `dark` or `pale`."""
SHADES: Final = column("looks", "shade")
"""Shade word -> `dark`, `pale` or `bright`."""
PATTERNS: Final = column("looks", "fact")
"""Pattern word -> pattern."""
SHAPES: Final[Mapping[str, Mapping[str, str]]] = {
    part: {word: shape for of, word, shape in rows("shapes") if of == part} for part in PARTS | {"body"}
}
"""Part -> shape word -> shape."""
SIZES: Final = {word: size for part, word, size in rows("shapes") if part == "bird"}
"""Size word -> size of the whole bird."""

MIN_LIKENESS: Final = 0.6
"""Least likeness of near colours."""

_MIXED = word_lists("mixed")
_SINGLE = word_lists("single")


def admitted(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the colours that may be said for a run of colour words, the most specific first.

    Two texts agree on a colour where these overlap: "rusty brown" and "reddish" do not agree, "greyish-brown" and
    "brown" agree on brown.

    Example:
        >>> admitted(("greyish", "brown"))
        ('grey-brown', 'brown', 'grey')
        >>> admitted(("rusty",))
        ('rufous',)
    """
    *before, last = (COLOURS[word] for word in words)
    if before and before[-1] != last:
        return _MIXED.get(f"{before[-1]} {last}", (last,))
    return _SINGLE.get(last, (last,))


@cache
def are_near(one: str, other: str, *, at_least: float = MIN_LIKENESS) -> bool:
    """Return whether people use two colours of facts for one another.

    Example:
        >>> are_near("rufous", "orange"), are_near("white", "black")
        (True, False)
    """
    alike = near("near_colours")
    return any(
        a == b or alike.get(a, {}).get(b, 0.0) >= at_least for a in _basic_colours(one) for b in _basic_colours(other)
    )


def _basic_colours(colour: str) -> tuple[str, ...]:
    """Return the colours of field marks in a colour of facts: grey and brown of grey-brown."""
    marks = column("colours", "field_mark")
    pieces = [colour] if colour in marks else colour.split("-")
    return tuple(basic for piece in pieces if piece in marks for basic in marks[piece].split("+"))
