"""Sex and age that the words of a sentence describe: adults or males, females, or young birds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from data.lexicon.tables import column
from recognize.explanation.plumage import without_articles

OWN: Final = ""
"""Of males and adults too: what a guide shows as the species."""

_SEX_AGE: Final = column("sexes", "field_mark")
_MALES: Final = frozenset(word for word, named in _SEX_AGE.items() if named in ("male", "both"))
_ADULTS: Final = frozenset(word for word, named in _SEX_AGE.items() if named == "adult")
_OTHERS: Final = {word: named for word, named in _SEX_AGE.items() if named in ("female", "young")}
_COMPARED: Final = frozenset(("like", "unlike", "than", "resemble", "resembles", "resembling", "to", "as", "from"))


def sex_age_words(words: Sequence[str]) -> list[str]:
    """Return the sex or age that each word of a sentence describes: `female`, `young`, `female and young`, or nothing.

    What is said behind such a word is of these birds, until males, adults or the end of the sentence; with "in" before
    the word it is what stands before it that is, unless that is of others. A bird that others are compared with ("paler
    than the female") is not the one that is spoken of.

    Example:
        >>> sex_age_words("males are red and females brown".split())
        ['', '', '', '', 'female', 'female']
        >>> sex_age_words("the breast is red in males and brown in young birds".split())
        ['', '', '', '', '', '', 'young', 'young', 'young', '', '']
    """
    owners = [OWN] * len(words)
    owner, since = OWN, 0
    for place, word in enumerate(words):
        named = OWN if word in _MALES or word in _ADULTS else _OTHERS.get(word)
        before = without_articles(words[max(0, place - 3) : place])
        if named is not None and not _COMPARED.intersection(before[-1:]) and not _is_adjective(word, before):
            named = _joined(named, word, before, owner)
            if before[-1:] == ["in"] and place > 2 and owner == OWN:
                owners[since:place] = [named] * (place - since)
                owner = OWN
            else:
                owner = named
            since = place + 1
        owners[place] = owner
    return owners


def is_of_a_bird(word: str) -> bool:
    """Return whether a word names birds of one sex or age."""
    return word in _MALES or word in _ADULTS or word in _OTHERS


def _is_adjective(word: str, before: Sequence[str]) -> bool:
    """Return whether a word only goes with the one before it: "young male", "female adult"."""
    return (word in _MALES or word in _ADULTS) and bool(before) and before[-1] in _OTHERS


def _joined(named: str, word: str, before: Sequence[str], owner: str) -> str:
    """Return the sex or age where two are named together; nothing for males and females alike."""
    if len(before) < 2 or before[-1] not in ("and", "or"):
        return named
    first = before[-2]
    if first in _MALES or first in _ADULTS or word in _MALES or word in _ADULTS:
        return OWN if first in _OTHERS or first in _MALES or first in _ADULTS else named
    return "female and young" if first in _OTHERS and {named, owner} == {"female", "young"} else named
