"""The facts that ship with Fieldmark: species and terms, by hand and in our own words, in two JSONL files."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import Literal

from data.codec import loads
from data.records import Taxon, Term

LICENCE = "Apache-2.0"
"""Facts, sentences and drawings are our own work, under the licence of the program."""

Sex = Literal["both", "male", "female"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What one part of the body looks like, in one sex or both."""

    part: str
    colours: tuple[str, ...] = ()
    """Plain colour words, the most extensive first."""
    shape: str = ""
    """Shape or pattern in a few words."""
    sex: Sex = "both"
    shade: Literal["", "dark", "pale", "bright"] = ""
    """The shade of its one colour; without a colour, all that is known of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StarterSpecies:
    """One species: its names, its size, the facts, and sentences made of them."""

    taxon: Taxon
    length_cm: tuple[float, float]
    facts: tuple[Fact, ...]
    text: tuple[str, ...]

    @property
    def colours(self) -> frozenset[str]:
        """All colour words of the facts."""
        return frozenset(colour for fact in self.facts for colour in fact.colours)


def read_species() -> list[StarterSpecies]:
    """Return the species that ship with Fieldmark, sorted by id.

    Example:
        >>> read_species()[0].taxon.common_name
        'Red-winged Blackbird'
    """
    return [loads(StarterSpecies, line) for line in read_lines("species.jsonl")]


def read_terms() -> list[Term]:
    """Return the terms that ship with Fieldmark, sorted by name, without a source.

    Example:
        >>> [term.name for term in read_terms()][:3]
        ['alula', 'amplexus', 'barring']
    """
    return [loads(Term, line) for line in read_lines("terms.jsonl")]


def read_lines(name: str) -> list[str]:
    """Return the lines of a file that ships beside this module."""
    return (resources.files("data") / "starter" / name).read_text(encoding="utf-8").splitlines()
