"""Word senses: technical terms versus everyday words, such as the cap of a bird and of a bottle.

`senses.txt` lists words with an everyday meaning and the groups of organisms for which the technical sense holds. The
nouns of a query show which groups it is about.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from data.lexicon.taxa import organisms
from data.lexicon.word_groups import VISUAL_GROUPS, group_of, groups
from data.words import singulars

_ANIMALS = "animals"
_NO_ANIMALS = frozenset(("plants", "fungi"))
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SenseLists:
    """Contents of `senses.txt`."""

    organisms: dict[str, str]
    """Noun in the singular -> group."""
    classes: dict[str, str]
    """Class by scientific name, in lower case -> group."""
    everyday: dict[str, frozenset[str]]
    """Word -> groups for which the technical sense holds."""
    before_a_group: frozenset[str]
    after_displaying: frozenset[str]
    too_general: frozenset[str]
    """Words too general to look up."""
    life: frozenset[str]
    """Words of definitions about organisms, besides their names."""
    needs_no_definition: frozenset[str]


@cache
def sense_lists() -> SenseLists:
    """Return the lists, read once."""
    classes: dict[str, str] = {}
    everyday: dict[str, frozenset[str]] = {}
    others: dict[str, set[str]] = {}
    heading: list[str] = []
    for line in files("kb.lookup").joinpath("senses.txt").read_text(encoding="utf-8").splitlines():
        text = line.partition("#")[0].strip()
        if text.startswith("["):
            heading = text.strip("[]").split()
        elif text and heading[0] == "classes":
            classes |= {word: heading[1] for word in text.split() if word not in classes}
        elif heading == ["everyday"] and text:
            word, _, listed = text.partition("=")
            everyday[word] = frozenset(listed.split(","))
        elif text:
            others.setdefault(heading[0], set()).update(text.split())
    return SenseLists(
        organisms=dict(organisms()),
        classes=classes,
        everyday=everyday,
        before_a_group=frozenset(others["before-a-group"]) | groups()["before-a-group"],
        after_displaying=frozenset(others["after-displaying"]),
        too_general=frozenset(others["too-general"]),
        life=frozenset(others["life"]),
        needs_no_definition=frozenset(others["needs-no-definition"]),
    )


def group_of_class(class_name: str | None) -> str | None:
    """Return the group of a class by scientific name, or None if it is not listed."""
    return sense_lists().classes.get((class_name or "").lower())


def group_of_noun(word: str) -> str | None:
    """Return the group of organisms that a noun (singular or plural) names, or None."""
    organisms = sense_lists().organisms
    return next((organisms[form] for form in singulars(_bare(word)) if form in organisms), None)


def groups_in(words: Sequence[str]) -> frozenset[str]:
    """Return the groups of organisms that the words name; hyphenated words count by their last part."""
    parts = ((word, _WORD.findall(_bare(word))) for word in words)
    found = (group_of_noun(word) or group_of_noun(letters[-1]) for word, letters in parts if letters)
    return frozenset(filter(None, found))


def senses_of(word: str) -> frozenset[str] | None:
    """Return the groups for which the technical sense holds, or None for words without another sense."""
    key = _bare(word)
    roots = [
        key.removesuffix(ending) for ending in ("ed", "ing") if key.endswith(ending) and len(key) > len(ending) + 2
    ]
    forms = [*singulars(key), *(root + end for root in roots for end in ("", "e", "s", "es"))]
    everyday = sense_lists().everyday
    return next((everyday[form] for form in forms if form in everyday), None)


class QueryWords:
    """Groups of organisms and looks among the words of a query.

    Each word is judged once and counted, so that the other words of a name are known without a look at all of them.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._groups = [groups_in([word]) for word in words]
        self._is_look = [_describes_looks(word) for word in words]
        self._is_left = [True] * len(words)
        self._n_of_group = Counter(group for found in self._groups for group in found)
        self._n_not_looks = self._is_look.count(False)

    def remove(self, places: range) -> None:
        """Leave out the words of a term from now on."""
        for place in places:
            if self._is_left[place]:
                self._is_left[place] = False
                self._n_of_group.subtract(self._groups[place])
                self._n_not_looks -= not self._is_look[place]

    def besides(self, places: range) -> tuple[frozenset[str], bool]:
        """Return the groups that the other words name, and whether all of them describe looks."""
        mine = [place for place in places if self._is_left[place]]
        own = Counter(group for place in mine for group in self._groups[place])
        groups_left = frozenset(group for group, n in self._n_of_group.items() if n > own[group])
        return groups_left, self._n_not_looks == sum(not self._is_look[place] for place in mine)


def is_technical_sense(word: str, *, others: tuple[Collection[str], bool], following: str) -> bool:
    """Return whether a name has its technical sense in a query.

    Words without an everyday sense always have. Others have if the query is about a group with such a part, or names no
    organism and all other words describe looks ("a black cap"), but not before a noun that makes another name ("comb
    jelly", "velvet ant").

    Args:
        word: one or several words of the query.
        others: the groups that the other words name (`QueryWords.besides`), and whether all of them describe looks.
        following: next word, empty at the end.
    """
    lists = sense_lists()
    key = _bare(word)
    senses = senses_of(key)
    if senses is None:
        return True
    following = following.lower()
    if key == "displaying" and following and following not in lists.after_displaying:
        return False
    if following and " " not in key and not key.endswith(("ed", "ing", "y")) and group_of_noun(following) is not None:
        return False
    mentioned, is_of_looks = frozenset(others[0]), others[1]
    if not mentioned:
        return is_of_looks
    if _ANIMALS in senses:
        return bool(mentioned - _NO_ANIMALS)
    return bool(mentioned & senses)


def is_own_name(name: str, group: str | None, *, before: str = "", following: str = "") -> bool:
    """Return whether words of a query are the name of a species, whatever their everyday senses.

    The everyday senses were listed for other groups (a monarch is a butterfly as well as a bird), so they are no reason
    to miss the species of this one, except before the noun of another ("monarch flycatcher"). A name with its capital
    ("a Merlin on a post") counts inside a sentence, but not as a part of a longer name ("Merlin Street").

    Args:
        name: words of the query.
        group: group of organisms of the species, None if it is not known.
        before: word before the name, empty at the start.
        following: next word, empty at the end.
    """
    senses = senses_of(name)
    follower = group_of_noun(following) if following else None
    if senses is None or follower not in (None, group):
        return False
    is_of_another_group = group is not None and not senses & {group, _ANIMALS}
    is_beside_capitals = not before or before[0].isupper() or following[:1].isupper()
    return is_of_another_group or (name[:1].isupper() and not is_beside_capitals)


def _describes_looks(word: str) -> bool:
    parts = _WORD.findall(_bare(word))
    stop = groups()["stop"]
    return all(part in stop or group_of(part) in VISUAL_GROUPS for part in parts)


def _bare(word: str) -> str:
    return word.lower().replace("’", "'").removesuffix("'s").removesuffix("'")
