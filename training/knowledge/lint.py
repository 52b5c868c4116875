"""Checks of shipped facts for misleading statements: those found are left out.

A fact misleads if it contradicts the species' English name or another fact, or the way that birds are built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from data.records import Taxon
from data.starter.knowledge import Fact
from training.knowledge.claims import Sex, read_names
from training.knowledge.vocabulary import COLOURS, MEMBERS, SHAPES, WORDS, are_near, word_lists

Rule = Literal["name", "contradiction", "nonsense"]

EXCLUSIVE = [frozenset(shapes.split(", ")) for shapes in WORDS["exclusive"]["shapes"]]
PATTERN_PARTS = frozenset(WORDS["relative"]["no_pattern"].split())
MIN_LIKENESS_TO_NAME = 0.3
"""Least likeness to a colour in the name: a Red Kite may be rufous."""


@dataclass(frozen=True, slots=True, order=True)
class Statement:
    """One value of a fact: a colour, a shade of an unknown colour, a pattern or a shape."""

    part: str
    sex: Sex
    value: str


def statements_of(facts: Sequence[Fact]) -> list[Statement]:
    """Return the statements of facts, in order."""
    return [
        Statement(fact.part, fact.sex, value)
        for fact in facts
        for value in (*fact.colours, *filter(None, fact.shape.split(", ")), *_lone_shade(fact))
    ]


def _lone_shade(fact: Fact) -> list[str]:
    return [fact.shade] if fact.shade and not fact.colours else []


def misleading(taxon: Taxon, facts: Sequence[Fact]) -> dict[Statement, Rule]:
    """Return the statements that contradict the name, each other, or the way that birds are built."""
    statements = statements_of(facts)
    found: dict[Statement, Rule] = {}
    for statement in statements:
        if not _makes_sense(statement):
            found[statement] = "nonsense"
        elif _is_against_name(taxon, statement):
            found[statement] = "name"
        elif any(_is_against(statement, other) for other in statements):
            found[statement] = "contradiction"
    return found


def _makes_sense(statement: Statement) -> bool:
    """Return whether a part can have this shape or pattern: no long throat, no streaked bill."""
    part, value = statement.part, statement.value
    if value in _PATTERNS:
        return part not in PATTERN_PARTS
    if value in _SHAPE_VALUES and part != "bird":
        return value in SHAPES.get(part, {}).values()
    return True


_COLOURS = frozenset((*COLOURS.values(), *(word for words in word_lists("mixed").values() for word in words)))
_SHADES = frozenset(("dark", "pale"))
_SHAPE_VALUES = frozenset(shape for shapes in SHAPES.values() for shape in shapes.values())
_PATTERNS = frozenset(("streaked", "barred", "spotted", "striped", "mottled", "scaled"))


def _is_against_name(taxon: Taxon, statement: Statement) -> bool:
    """Return whether the English names give the part another look, or the bird another colour."""
    part, value = statement.part, statement.value
    claims = [claim for claim in read_names(taxon.common_names) if part in (claim.part, *MEMBERS.get(claim.part, ()))]
    named = {word for claim in claims for word in claim.values}
    if value in _COLOURS:
        colours = named & _COLOURS if part != "body" else _colours_of_bird(taxon)
        return bool(colours) and not any(are_near(value, other, at_least=MIN_LIKENESS_TO_NAME) for other in colours)
    groups = [_SHADES] if value in _SHADES else EXCLUSIVE
    return value not in named and any(value in group and named & group for group in groups)


def _colours_of_bird(taxon: Taxon) -> set[str]:
    """Return the colours that the names give to the whole bird: black of a Black Woodpecker."""
    words = [word for name in taxon.common_names for word in name.lower().split()[:-1]]
    return {COLOURS[word] for word in words if word in _PLAIN and word in COLOURS}


_PLAIN = frozenset(("black", "white", "grey", "brown", "red", "blue", "green", "yellow"))
"""Colours that names give without flourish; a Golden Eagle is brown."""


def _is_against(one: Statement, other: Statement) -> bool:
    """Return whether two statements exclude each other."""
    if one.part != other.part or one.value == other.value:
        return False
    if {one.sex, other.sex} == {"both", "male"} or {one.sex, other.sex} == {"both", "female"}:
        is_colour = {one.value, other.value} <= _COLOURS
        return one.sex == "both" and is_colour and not are_near(one.value, other.value)
    return one.sex == other.sex and any({one.value, other.value} <= group for group in EXCLUSIVE)
