"""Sex, stage of life and side that the words of a sentence describe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from data.lexicon.appearance import Appearance, without_articles
from data.lexicon.tables import BIRDS

OWN: Final = ""
"""Males and adults, which stand for the species; also both sides."""
_COMPARED: Final = frozenset(("like", "unlike", "than", "resemble", "resembles", "resembling", "to", "as", "from"))
_ADVERBS: Final = frozenset(("above", "below", "beneath", "underneath", "ventrally", "dorsally"))
_JOINING: Final = frozenset(("and", "but", "while", "whereas"))
_PRONOUNS: Final = frozenset(("it", "they", "its", "their"))


def owners_of_words(words: Sequence[str], looks: Appearance, *, before: str = OWN) -> list[str]:
    """Return the sex or stage of life that each word of a sentence describes: `female`, `young`, `larva`, or nothing.

    A word like "females" applies to the words after it, until males, adults or the end of the sentence; after "in" it
    applies to the words before it. Animals in a comparison ("paler than the female") do not count. A sentence that
    begins with a pronoun goes on with the owner of the one before.
    """
    owners = [OWN] * len(words)
    owner, since = before if words and words[0] in _PRONOUNS else OWN, 0
    for place, word in enumerate(words):
        named = OWN if word in looks.males or word in looks.adults else looks.others.get(word)
        near = without_articles(words[max(0, place - 3) : place]) if named is not None else []
        if named is not None and not _COMPARED.intersection(near[-1:]) and not _is_adjective(word, near, looks):
            named = _joined(named, word, near, owner, looks)
            if near[-1:] == ["in"] and place > 2 and owner == OWN:
                owners[since:place] = [named] * (place - since)
                owner = OWN
            else:
                owner = named
            since = place + 1
            if looks.group != BIRDS:  # read as measured
                _take_looks_before(owners, words, place, named, looks)
        owners[place] = owner
    return owners


def _take_looks_before(owners: list[str], words: Sequence[str], place: int, owner: str, looks: Appearance) -> None:
    """Give the looks directly before a word to its owner: "a black caterpillar"."""
    at = place - 1
    while at >= 0 and looks.has_look(words[at]):
        owners[at] = owner
        at -= 1


def is_owner(word: str, looks: Appearance) -> bool:
    """Return whether a word stands for organisms of one sex or stage of life."""
    return word in looks.males or word in looks.adults or word in looks.others


def sides_of_words(words: Sequence[str], looks: Appearance) -> list[str]:
    """Return the side that each word of a sentence describes: `upperside`, `underside` or neither.

    In "above orange, below brown" a side applies to the words after it, in "orange above and brown below" to those
    before it, as the first side of the sentence does.
    """
    sides = [OWN] * len(words)
    places = [place for place, word in enumerate(words) if word in looks.kept_apart]
    if not places:
        return sides
    is_behind = _is_behind(words, places[0], looks)
    since = 0
    for i, place in enumerate(places):
        end = places[i + 1] if i + 1 < len(places) else len(words)
        side = looks.kept_apart[words[place]]
        if not is_behind:
            sides[place:end] = [side] * (end - place)
            continue
        joints = [at for at in range(place + 1, end) if words[at] in _JOINING] if end < len(words) else []
        until = joints[-1] if joints else place + 1 if end < len(words) else end
        sides[since:until] = [side] * (until - since)
        since = until
    return sides


def _is_behind(words: Sequence[str], place: int, looks: Appearance) -> bool:
    """Return whether a side stands behind its looks: "orange above", "black spots on the underside"."""
    has_look = any(looks.has_look(word) for word in words[:place])
    is_adverb = words[place] in _ADVERBS or without_articles(words[:place])[-1:] in (["on"], ["of"])
    return has_look and is_adverb


def _is_adjective(word: str, before: Sequence[str], looks: Appearance) -> bool:
    """Return whether a word only qualifies the one before it: "young male", "female adult"."""
    return (word in looks.males or word in looks.adults) and bool(before) and before[-1] in looks.others


def _joined(named: str, word: str, before: Sequence[str], owner: str, looks: Appearance) -> str:
    """Return the sex or age of two that are named together; nothing for males and females."""
    if len(before) < 2 or before[-1] not in ("and", "or"):
        return named
    first = before[-2]
    if first in looks.males or first in looks.adults or word in looks.males or word in looks.adults:
        return OWN if first in looks.others or first in looks.males or first in looks.adults else named
    return "female and young" if first in looks.others and {named, owner} == {"female", "young"} else named
