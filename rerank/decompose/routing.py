"""Which kind of thing a query asks for, by its words: the look of something, what it does, or what is around it.

The rule that goes with it (ask queries about appearance as they are, with context) was read off the results on the
INQUIRE test queries themselves: there `context only` won for appearance, and nowhere else. Whoever measures on those
queries with routing on measures the rule on what it was made from.

The word lists were written from what such queries are about and tried on INQUIRE's 50 validation queries: right for 44
of them. Of its 200 test queries, which nobody looked at for this, the kind is right for 115, and whether it is about
appearance for 160; always saying that it is not would be right for 134.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final, Literal

Kind = Literal["appearance", "behavior", "context", "species"]

_WORD: Final = re.compile(r"[a-z]+")


def kind_of_query(query: str) -> Kind:
    """Return what a query asks for: the first that its words speak of among act, surroundings and look, else a species.

    Example:
        >>> [kind_of_query(query) for query in ("an immature heron", "a fox on a road", "macaque nursing")]
        ['appearance', 'context', 'behavior']

    Source:
        Divide and Conquer, section 5.2, has the kinds and what works for each; how to tell them is ours.
    """
    words = _WORD.findall(query.lower())
    lists = _lists()
    if any(word in lists["act"] or (_is_act(word) and word not in lists["no-act"]) for word in words):
        return "behavior"
    if any(word in lists["context"] for word in words):
        return "context"
    return "appearance" if any(word in lists["appearance"] for word in words) else "species"


def _is_act(word: str) -> bool:
    return len(word) > 4 and word.endswith("ing")


@cache
def _lists() -> dict[str, frozenset[str]]:
    text = (files("rerank.decompose") / "kinds.txt").read_text(encoding="utf-8")
    sections = re.findall(r"^\[([\w-]+)\]\n(.*?)(?=^\[|\Z)", text, re.MULTILINE | re.DOTALL)
    return {name: frozenset(words.split()) for name, words in sections}
