"""Parts of a bird in texts and facts, and the parts that a claim on another part holds for."""

from __future__ import annotations

import re
from collections.abc import Mapping

from data.lexicon.tables import rows
from data.lexicon.word_groups import groups


def word_set(text: str) -> frozenset[str]:
    """Return the words of a line as a set."""
    return frozenset(text.split())


PHRASES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"\b(?:{phrase})\b"), part) for part, phrase in rows("part_phrases")
)
"""Phrase in lower case -> part. Tried in this order, each match becomes one word."""

PARTS: frozenset[str] = frozenset(part for _, part in PHRASES)

MEMBERS: Mapping[str, tuple[str, ...]] = {
    "upperparts": ("back", "nape", "rump"),
    "underparts": ("breast", "belly"),
    "hood": ("head",),
    "cap": ("crown",),
    "bib": ("throat",),
    "throat": ("chin",),
}
"""A part -> the parts that what is said of it holds for as well. `throat` for `chin`: many say the one for both.

What is said of the head or of the whole bird does not hold for each part of it: tried on hand-labelled facts, one in
five that were got that way was wrong.
"""

WHOLES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "upperparts": (("back", "nape"), ("back", "wings")),
    "underparts": (("breast", "belly"),),
    "head": (("crown", "nape"), ("crown", "face"), ("forehead", "crown")),
    "body": (("back", "breast", "belly"),),
}
"""A part -> the parts that bear it out, if another text says the same of all of one set."""

NOT_THE_PART = groups()["beside-part"]
"""A part before one of these is only where something else is: "black wing edges" are not black wings."""

BAR_PARTS = frozenset(("tail", "flanks", "belly", "breast", "underparts", "back", "upperparts", "undertail"))
"""Where bars are a pattern; on a wing they are wing bars or nothing."""
