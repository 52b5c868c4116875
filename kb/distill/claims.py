"""Claims of a sentence, checked against its evidence word by word."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Literal

from data.lexicon.tables import column
from data.lexicon.word_groups import equations, group_of, variants, words_of

ClaimKind = Literal["colour", "number", "part", "shade"]
SexAge = Literal["", "both", "male", "female", "juvenile"]

# Part words that claim nothing by themselves.
_EMPTY_PARTS = frozenset((
    "plumage", "appearance", "body", "feather", "feathering", "morph", "marking", "markings", "hue", "shade", "outline",
    "colour", "color", "colouration", "coloration", "colouring", "coloring", "silhouette", "side",
))  # fmt: skip
_SHADES = frozenset(
    ("dark", "pale", "bright", "dull", "drab", "darker", "paler", "brighter", "duller", "pallid", "coloured", "colored")
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBER_WORDS = {word: str(value) for value, word in enumerate(_NUMBERS, start=1)}
_OWNERS: dict[str, SexAge] = {"male": "male", "female": "female", "juvenile": "juvenile", "both": "both"}
_SEX_AGE = {word: _OWNERS[owner] for word, owner in column("sexes", "claim").items()}
_FIRST_YEAR = re.compile(r"\bfirst[- ](?:year|winter|summer|plumage)\b", re.IGNORECASE)
# Before a sex or age that is only compared with: "duller than the male", "unlike the young".
_BEFORE_COMPARED = frozenset(("than", "to", "from", "unlike", "like", "resembles", "resemble", "resembling", "as"))
_REACH = 3
_PREFIX = 4  # letters that two shades share: black and blackish


def claims(text: str) -> dict[str, ClaimKind]:
    """Return word -> kind for each colour, part and number in a sentence.

    Example:
        >>> claims("The male has a red crown and is 20 cm long.")
        {'red': 'colour', 'crown': 'part', '20': 'number'}
    """
    found: dict[str, ClaimKind] = {}
    for word in words_of(text):
        group = group_of(word)
        if group == "colour":
            found[word] = "shade" if word in _SHADES else "colour"
        elif group == "part" and not _EMPTY_PARTS & {word, *variants(word)}:
            found[word] = "part"
    return found | dict.fromkeys(_NUMBER.findall(text), "number")


def unsupported(text: str, evidence: Iterable[str]) -> dict[str, ClaimKind]:
    """Return the claims of a sentence that its evidence does not make, by word.

    Plurals, comparatives, synonyms of the lexicon, shades of a colour and number words count as the same.

    Example:
        >>> unsupported("It has a scarlet beak and a black tail.", ["Its bill is yellow, its tail blackish."])
        {'scarlet': 'colour'}
    """
    passages = list(evidence)
    words = {word for passage in passages for word in words_of(passage)}
    forms = {form for word in words for form in _forms(word)}
    colours = {form[:_PREFIX] for form in forms if len(form) >= _PREFIX and group_of(form) == "colour"}
    numbers = {number for passage in passages for number in _NUMBER.findall(passage)}
    numbers |= {_NUMBER_WORDS[word] for word in words & _NUMBER_WORDS.keys()}

    def is_stated(word: str, kind: ClaimKind) -> bool:
        if kind == "number":
            return word in numbers
        return bool(_forms(word) & forms) or (kind != "part" and len(word) >= _PREFIX and word[:_PREFIX] in colours)

    return {word: kind for word, kind in claims(text).items() if not is_stated(word, kind)}


@cache
def _synonyms() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for one, other in equations("synonym"):
        table.setdefault(one, set()).add(other)
        table.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in table.items()}


def _forms(word: str) -> frozenset[str]:
    plain = {word, *variants(word)}
    return frozenset(plain.union(*(_synonyms().get(form, frozenset()) for form in plain)))


def sexes_ages(text: str) -> set[SexAge]:
    """Return the sexes and ages in a text, including the ones compared with.

    Example:
        >>> sorted(sexes_ages("The female is duller than the male."))
        ['female', 'male']
    """
    named: set[SexAge] = {_SEX_AGE[word] for word in words_of(text) if word in _SEX_AGE}
    return named | {"juvenile"} if _FIRST_YEAR.search(text) else named


def colours_by_sex_age(text: str) -> dict[str, set[SexAge]]:
    """Return colour -> the sexes and ages with that colour; `""` if none is named before it.

    Example:
        >>> colours_by_sex_age("The male is black, the female brown and duller than the male, with a white chin.")
        {'black': {'male'}, 'brown': {'female'}, 'white': {'female'}}
    """
    words = words_of(text)
    owner: SexAge = ""
    found: dict[str, set[SexAge]] = {}
    for i, word in enumerate(words):
        if word in _SEX_AGE and not _BEFORE_COMPARED & set(words[max(0, i - _REACH) : i]):
            # "males and females have"
            joined = i >= 2 and words[i - 1] == "and" and words[i - 2] in _SEX_AGE
            owner = "both" if joined else _SEX_AGE[word]
        elif group_of(word) == "colour" and word not in _SHADES:
            found.setdefault(word, set()).add(owner)
    return found


def swapped(text: str, evidence: Iterable[str]) -> dict[str, tuple[SexAge, SexAge]]:
    """Return colour -> (sex or age in the sentence, sex or age in its evidence) for each difference.

    Example:
        >>> swapped("The female is black.", ["The male is black, the female brown."])
        {'black': ('female', 'male')}
    """
    evident = colours_by_sex_age(" ".join(evidence))
    found: dict[str, tuple[SexAge, SexAge]] = {}
    for colour, owners in colours_by_sex_age(text).items():
        known = evident.get(colour, set())
        for owner in owners - {"", "both"}:
            if known and not known & {owner, "", "both"}:
                found[colour] = (owner, min(known))
    return found
