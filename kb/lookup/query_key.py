"""Keys of queries: queries of the same meaning share the answer of a web search."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Protocol

from kb.lookup.bm25 import stem, tokens
from kb.lookup.mentions import Mention

QueryKey = tuple[str, ...]

_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_NEGATIONS = frozenset(("no", "not", "neither", "nor"))
# Words around the contents of a query.
_EMPTY = frozenset(
    tokens("photo photograph picture image showing shown seen visible clearly performing doing exhibiting engaged")
)
_COMMON_STEM = 5  # letters shared by forms of one word: albino, albinism


class Names(Protocol):
    """Finds the names in a query, such as `NameFinder`."""

    def find(self, query: str) -> list[Mention]:
        """Return the names in a query, in order."""


def query_key(query: str, names: Names) -> QueryKey:
    """Return the contents of a query: species by id, other words by stem, without "photo of", "showing", "a".

    The order of words counts, except between species and terms alone. So another species, a variant, a number, a sex or
    a "not" make another key.

    Example:
        >>> class NoNames:
        ...     def find(self, query: str) -> list[Mention]:
        ...         return []
        >>> query_key("A photo of frogs in amplexus", NoNames()) == query_key("frog in amplexus", NoNames())
        True
        >>> query_key("an albino robin", NoNames()) == query_key("a robin", NoNames())
        False
    """
    words = list(_WORD.finditer(query))
    ids: dict[int, str] = {}  # place of a word -> the name that it belongs to
    are_names = True
    inside: dict[Mention, list[int]] = defaultdict(list)
    for mention in names.find(query):
        end = mention.start + len(mention.text)
        inside[mention] = [i for i, word in enumerate(words) if mention.start <= word.start() < end]
    for mention, places in inside.items():
        if mention.kind == "species":
            ids |= dict.fromkeys(places, mention.ids[0])
        elif mention.kind == "term" and len(places) == 1 and _is_form_of(mention.text, mention.ids[0]):
            ids[places[0]] = mention.ids[0]
    key: list[str] = []
    for i, word in enumerate(words):
        if i in ids:
            if ids.get(i - 1) != ids[i]:
                key.append(ids[i])
        elif word[0].lower() in _NEGATIONS:
            key.append(word[0].lower())
            are_names = False
        elif found := [token for token in tokens(word[0]) if token not in _EMPTY]:
            key += found
            are_names = False
    return tuple(sorted(key) if are_names else key)


def _is_form_of(word: str, term_id: str) -> bool:
    """Return whether a word is a form of a term's own name, not only another name of it."""
    name = term_id.removeprefix("term:")
    return "-" not in name and stem(word.lower())[:_COMMON_STEM] == stem(name)[:_COMMON_STEM]
