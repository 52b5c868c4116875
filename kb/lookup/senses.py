"""Word senses: technical terms versus everyday words, such as the cap of a bird and of a bottle (`senses.txt`)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files

from data.lexicon.taxa import organisms
from data.lexicon.word_groups import VISUAL_GROUPS, group_of, groups
from data.words import singulars

_ANIMALS = "animals"
_NO_ANIMALS = frozenset(("plants", "fungi"))
LETTERS_ALONE = re.compile(r"[^\W\d_]+")


@cache
def word_lists(file: str) -> Mapping[str, Sequence[str]]:
    """Return heading -> lines below it, without comments, of a word list beside this module; "" before any heading."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in files("kb.lookup").joinpath(f"{file}.txt").read_text(encoding="utf-8").splitlines():
        text = line.partition("#")[0].strip()
        if text.startswith("["):
            heading = text.strip("[]")
        elif text:
            found.setdefault(heading, []).append(text)
    return found


@cache
def sense_words(heading: str) -> frozenset[str]:
    """Return the words of `senses.txt` below a heading."""
    return frozenset(word for line in word_lists("senses")[heading] for word in line.split())


@cache
def _everyday() -> Mapping[str, frozenset[str]]:
    """Return word -> groups for which the technical sense holds."""
    pairs = (line.partition("=") for line in word_lists("senses")["everyday"])
    return {word: frozenset(listed.split(",")) for word, _, listed in pairs}


def may_precede_a_group(word: str) -> bool:
    """Return whether a word may stand before the name of a whole group, as in "tagged swans"."""
    return word.lower() in sense_words("before-a-group") | groups()["before-a-group"]


def group_of_class(class_name: str | None) -> str | None:
    """Return the group of a class by scientific name, or None if it is not listed."""
    headings = (heading for heading in word_lists("senses") if heading.startswith("classes "))
    known = (heading for heading in headings if (class_name or "").lower() in sense_words(heading))
    return next((heading.removeprefix("classes ") for heading in known), None)


def group_of_noun(word: str) -> str | None:
    """Return the group of organisms that a noun (singular or plural) names, or None."""
    known = organisms()
    return next((known[form] for form in singulars(_bare(word)) if form in known), None)


def groups_in(words: Sequence[str]) -> frozenset[str]:
    """Return the groups of organisms that the words name; hyphenated words count by their last part."""
    parts = ((word, LETTERS_ALONE.findall(_bare(word))) for word in words)
    found = (group_of_noun(word) or group_of_noun(letters[-1]) for word, letters in parts if letters)
    return frozenset(filter(None, found))


def senses_of(word: str) -> frozenset[str] | None:
    """Return the groups for which the technical sense holds, or None for words without another sense."""
    key = _bare(word)
    roots = [key.removesuffix(end) for end in ("ed", "ing") if key.endswith(end) and len(key) > len(end) + 2]
    forms = [*singulars(key), *(root + end for root in roots for end in ("", "e", "s", "es"))]
    everyday = _everyday()
    return next((everyday[form] for form in forms if form in everyday), None)


class QueryWords:
    """Groups of organisms and looks among the words of a query; each word is judged once."""

    def __init__(self, words: Sequence[str]) -> None:
        judged = ((groups_in([word]), _describes_looks(word)) for word in words)
        self.in_capitals = all(word.isupper() for word in words if word.isalpha())
        # Words that are looks and name no organism change no answer.
        self._telling = {place: found for place, found in enumerate(judged) if found != (frozenset(), True)}

    def remove(self, places: range) -> None:
        """Leave out the words of a term from now on."""
        for place in places:
            self._telling.pop(place, None)

    def besides(self, places: range) -> tuple[frozenset[str], bool]:
        """Return the groups that the other words name, and whether all of them describe looks."""
        others = [found for place, found in self._telling.items() if place not in places]
        return frozenset().union(*(named for named, _ in others)), all(is_look for _, is_look in others)


def is_technical_sense(word: str, *, others: tuple[Collection[str], bool], following: str) -> bool:
    """Return whether a name has its technical sense in a query; `others` are those of `QueryWords.besides`.

    Words with an everyday sense have if the query is about a group with such a part, or names no organism and all other
    words describe looks ("a black cap"), but not before a noun that makes another name ("comb jelly").
    """
    key = _bare(word)
    senses = senses_of(key)
    if senses is None:
        return True
    following = following.lower()
    if key == "displaying" and following and following not in sense_words("after-displaying"):
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
    """Return whether words of a query are the name of a species of a group, whatever their everyday senses.

    These were listed for other groups (a monarch is a butterfly as well as a bird), so they are no reason to miss the
    species of this one, except before the noun of another ("monarch flycatcher"). A name with its capital ("a Merlin on
    a post") counts inside a sentence, but not as a part of a longer name ("Merlin Street").
    """
    senses = senses_of(name)
    follower = group_of_noun(following) if following else None
    if senses is None or follower not in (None, group):
        return False
    is_of_another_group = group is not None and not senses & {group, _ANIMALS}
    is_beside_capitals = not before or before[0].isupper() or following[:1].isupper()
    return is_of_another_group or (name[:1].isupper() and not is_beside_capitals)


def _describes_looks(word: str) -> bool:
    parts = LETTERS_ALONE.findall(_bare(word))
    stop = groups()["stop"]
    return all(part in stop or group_of(part) in VISUAL_GROUPS for part in parts)


def _bare(word: str) -> str:
    return word.lower().replace("’", "'").removesuffix("'s").removesuffix("'")
