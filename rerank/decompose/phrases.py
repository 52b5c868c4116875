"""Clauses of a query as grammatical yes/no questions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from data.lexicon.taxa import organisms
from data.lexicon.word_groups import group_of, variants

NAME: Final = "\N{SYMBOL FOR UNIT SEPARATOR}"
"""Stands for a name in a clause; further names follow it with their numbers."""
_NAMES: Final = re.compile(rf"{NAME}(\d+)")
_DETERMINERS: Final = frozenset((
    "a", "an", "the", "its", "their", "his", "her", "some", "many", "several", "few", "both", "each", "every", "any",
    "no", "this", "that", "these", "those", "another", "one", "two", "three", "four", "five", "six", "seven", "eight",
    "nine", "ten", "pair", "couple", "group", "flock",
))  # fmt: skip
_PREPOSITIONS: Final = frozenset((
    "about", "above", "across", "after", "against", "along", "amid", "among", "around", "at", "before", "behind",
    "below", "beneath", "beside", "between", "beyond", "by", "down", "during", "for", "from", "in", "inside", "into",
    "near", "next", "of", "off", "on", "onto", "out", "outside", "over", "past", "through", "to", "toward", "towards",
    "under", "underneath", "up", "upon", "while", "with", "within", "without",
))  # fmt: skip
_UNCOUNTED: Final = frozenset(
    ("plumage", "fur", "hair", "skin", "down", "feathering", "coloration", "colouration", "colouring")
)
_WORD: Final = re.compile(r"[^\s,.;:]+")


def shows(clauses: Sequence[str], names: Sequence[str], *, subject: str) -> str:
    """Return the question whether an image shows what the clauses say, in which `NAME` and a position stand for names.

    `subject` is the thing that the query is about, for clauses without a noun: "sitting in snow".
    """
    things = [_with_article(clause, names) for clause in clauses if not _needs_subject(clause)]
    doings = [clause for clause in clauses if _needs_subject(clause)]
    if doings:
        whole = [thing for thing in things if NAME in thing]
        things = [thing for thing in things if NAME not in thing]
        subject = f"{', '.join(whole)}," if whole else subject
        subject = f"{subject.rstrip(',')} with {_listed(things)}," if things else subject
        text = f"{subject} {_listed(doings)}"
    else:
        text = _listed(things)
    return f"Does this image show {_NAMES.sub(lambda found: names[int(found[1])], text)}?"


def in_lower_case(text: str) -> str:
    """Return a text with its first word in lower case where that is no name: "A frog", "Two frogs"."""
    first, gap, others = text.partition(" ")
    return f"{first.lower()}{gap}{others}" if first.lower() in _DETERMINERS else text


def head_noun(text: str) -> str:
    """Return the short noun phrase at the beginning of a query; empty if it begins otherwise."""
    words: list[str] = []
    for word in _WORD.findall(text):
        if word.lower() in _PREPOSITIONS or (words and (_is_participle(word) or word.lower() in _LINKS)):
            break
        words.append(word)
    if not 1 < len(words) <= 4 or words[0].lower() not in _DETERMINERS:
        return ""
    return " ".join([words[0].lower(), *words[1:]])


_LINKS: Final = frozenset(
    ("whose", "having", "showing", "has", "have", "that", "which", "who", "is", "are", "and", "or")
)


def with_indefinite_article(name: str) -> str:
    """Return a name with "a" or "an"."""
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def is_marked_by(word: str) -> bool:
    """Return whether "with" belongs to the word before it: "tagged with green", not "a red bird with"."""
    return word.lower().endswith("ed") and group_of(word.lower()) != "colour" and not _is_animal(word)


def _needs_subject(clause: str) -> bool:
    """Return whether a clause has no noun that an image could show: "sitting in snow", "at night"."""
    words = _WORD.findall(clause)
    if not words or words[0].startswith(NAME):
        return False
    is_placed = len(words) > 1 and words[1].lower() in _PREPOSITIONS
    return words[0].lower() in _PREPOSITIONS or _is_participle(words[0]) or (is_placed and is_marked_by(words[0]))


def _is_participle(word: str) -> bool:
    lower = word.lower()
    return lower.endswith("ing") and len(lower) > 4 and group_of(lower) != "part" and not _is_animal(lower)


def _is_animal(word: str) -> bool:
    return any(form in organisms() for form in (word.lower(), *variants(word.lower())))


def _with_article(clause: str, names: Sequence[str]) -> str:
    """Return a clause with the article that it lacks, its first word in lower case where that is no name."""
    if clause.partition(" ")[0].lower() in _DETERMINERS:
        return in_lower_case(clause)
    if found := _NAMES.match(clause):
        name = names[int(found[1])]
        return clause if name.endswith("s") else with_indefinite_article(name).removesuffix(name) + clause
    head = ""
    for word in _WORD.findall(clause):
        if word.lower() in _PREPOSITIONS:
            break
        head = word.lower()
    is_one = group_of(head) == "part" and not head.endswith("s") and head not in _UNCOUNTED
    return with_indefinite_article(clause) if is_one else clause


def _listed(phrases: Sequence[str]) -> str:
    return f"{', '.join(phrases[:-1])} and {phrases[-1]}" if len(phrases) > 1 else "".join(phrases)
