"""Claims of a sentence, checked against its evidence word by word."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Literal

from data.lexicon.marks import every_mark
from data.lexicon.tables import BIRDS, column
from data.lexicon.word_groups import equations, group_of, variants, words_of

ClaimKind = Literal["colour", "number", "part", "shade"]
SexAge = str  # sex, stage of life, or part of a plant; empty for adults and the species in general
# Part words that claim nothing by themselves.
_EMPTY_PARTS = frozenset((
    "plumage", "appearance", "body", "feather", "feathering", "morph", "marking", "markings", "hue", "shade", "outline",
    "colour", "color", "colouration", "coloration", "colouring", "coloring", "silhouette", "side",
))  # fmt: skip
_SHADES = frozenset(
    ("dark", "pale", "bright", "dull", "drab", "darker", "paler", "brighter", "duller", "pallid", "coloured", "colored")
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBER_WORDS = {word: str(value) for value, word in enumerate(NUMBERS, start=1)}
_FIRST_YEAR = re.compile(r"\bfirst[- ](?:year|winter|summer|plumage)\b", re.IGNORECASE)
# Before a sex or age that is only compared with: "duller than the male", "unlike the young".
_BEFORE_COMPARED = frozenset(("than", "to", "from", "unlike", "like", "resembles", "resemble", "resembling", "as"))
_REACH = 3
_STAGES = frozenset(("larva", "pupa"))  # so unlike the adult that no colour of theirs holds for the species in general
_PREFIX = 4  # letters that two shades share: black and blackish


def claims(text: str, group: str = BIRDS) -> dict[str, ClaimKind]:
    """Return word -> kind for each colour, part and number in a sentence, in the words of a group of organisms."""
    found: dict[str, ClaimKind] = {}
    for word in words_of(text):
        name = group_of(word, group)
        if name == "colour":
            found[word] = "shade" if word in _SHADES else "colour"
        elif name == "part" and not _EMPTY_PARTS & {word, *variants(word)}:
            found[word] = "part"
    return found | dict.fromkeys(_NUMBER.findall(text), "number")


def unsupported(text: str, evidence: Iterable[str], group: str = BIRDS) -> dict[str, ClaimKind]:
    """Return the claims of a sentence that its evidence does not make, by word.

    Plurals, comparatives, synonyms of the lexicon, shades of a colour and number words count as the same.
    """
    passages = list(evidence)
    words = {word for passage in passages for word in words_of(passage)}
    forms = {form for word in words for form in _forms(word, group)}
    colours = {form[:_PREFIX] for form in forms if len(form) >= _PREFIX and group_of(form, group) == "colour"}
    numbers = {number for passage in passages for number in _NUMBER.findall(passage)}
    numbers |= {_NUMBER_WORDS[word] for word in words & _NUMBER_WORDS.keys()}

    def is_stated(word: str, kind: ClaimKind) -> bool:
        if kind == "number":
            return word in numbers
        return bool(_forms(word, group) & forms) or (
            kind != "part" and len(word) >= _PREFIX and word[:_PREFIX] in colours
        )

    return {word: kind for word, kind in claims(text, group).items() if not is_stated(word, kind)}


@cache
def _synonyms(group: str) -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for one, other in equations("synonym", group):
        table.setdefault(one, set()).add(other)
        table.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in table.items()}


def _forms(word: str, group: str) -> frozenset[str]:
    plain = {word, *variants(word)}
    return frozenset(plain.union(*(_synonyms(group).get(form, frozenset()) for form in plain)))


def sexes_ages(text: str, group: str = BIRDS) -> set[SexAge]:
    """Return the sexes and stages of life in a text, including the ones compared with."""
    owners = column("sexes", "claim", group=group)
    named = {owners[word] for word in words_of(text) if word in owners}
    return named | {"juvenile"} if group == BIRDS and _FIRST_YEAR.search(text) else named


def colours_by_sex_age(text: str, group: str = BIRDS) -> dict[str, set[SexAge]]:
    """Return colour -> the sexes and stages with that colour; `""` if none is named before it.

    Of plants, the leaves, flowers or fruits next to the colour.
    """
    owners = column("sexes", "claim", group=group)
    if group == "plants":
        return _of_marks(((mark.look_word, owners.get(mark.part_word, "")) for mark in every_mark(text, group)), group)
    found: dict[str, set[SexAge]] = {}
    words = words_of(text)
    owner: SexAge = ""
    for i, word in enumerate(words):
        if word in owners and not _BEFORE_COMPARED & set(words[max(0, i - _REACH) : i]):
            joined = i >= 2 and words[i - 1] == "and" and words[i - 2] in owners  # "males and females have"
            owner = "both" if joined else owners[word]
        elif group_of(word, group) == "colour" and word not in _SHADES:
            found.setdefault(word, set()).add(owner)
    return found


def swapped(text: str, evidence: Iterable[str], group: str = BIRDS) -> dict[str, tuple[SexAge, SexAge]]:
    """Return colour -> (sex or stage in the sentence, sex or stage in its evidence) for each difference."""
    evident = colours_by_sex_age(" ".join(evidence), group)
    found: dict[str, tuple[SexAge, SexAge]] = {}
    for colour, owners in colours_by_sex_age(text, group).items():
        known = evident.get(colour, set())
        for owner in owners - {"both"}:
            is_other = not known <= _STAGES if owner == "" else known & {owner, "", "both"}
            if known and not is_other:
                found[colour] = (owner, min(known))
    return found


def swapped_sides(text: str, evidence: Iterable[str], group: str) -> dict[str, tuple[str, str]]:
    """Return colour -> (side in the sentence, side in its evidence) for each difference."""
    stated, evident = (
        _of_marks(((mark.look_word, mark.side) for mark in every_mark(part, group)), group)
        for part in (text, " ".join(evidence))
    )
    return {
        colour: (side, min(known))
        for colour, sides in stated.items()
        for side in sides - {""}
        if (known := evident.get(colour, set())) and side not in known and "" not in known
    }


def _of_marks(marks: Iterable[tuple[str, str]], group: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for look, kind in marks:
        if look and group_of(look, group) == "colour":
            found.setdefault(look, set()).add(kind)
    return found
