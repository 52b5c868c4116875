"""Facts that ship with Fieldmark: species and terms in our own words, in two JSONL files.

Some species and all terms are written by hand. For the others, `python -m training.knowledge` composes sentences from
facts on which independent sources agree; species with too few facts are names alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import Literal

from data.codec import loads
from data.records import Taxon, Term

LICENCE = "Apache-2.0"
"""Facts, sentences and drawings are our own work, under the licence of the program."""

SPECIES_FILE = "species.jsonl"
TERMS_FILE = "terms.jsonl"

Sex = Literal["both", "male", "female"]
Shade = Literal["", "dark", "pale", "bright"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Look of one part of the body, in one sex or both."""

    part: str
    colours: tuple[str, ...] = ()
    """Colour words, plain ("grey") or of two ("blue-grey"), the most extensive first."""
    shape: str = ""
    """Shape or pattern in a few words."""
    sex: Sex = "both"
    shade: Shade = ""
    """Shade of its one colour, or of a part without a known colour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StarterSpecies:
    """One species: names, size, facts, and sentences made of them; no sentences if the facts are too few."""

    taxon: Taxon
    length_cm: tuple[float, float] | None = None
    facts: tuple[Fact, ...] = ()
    text: tuple[str, ...] = ()
    by_hand: bool = False
    """Facts and text were written by hand; the generator leaves them unchanged."""

    @property
    def colours(self) -> frozenset[str]:
        """All plain colour words of the facts."""
        return frozenset(word for fact in self.facts for colour in fact.colours for word in colour.split("-"))


def read_species() -> list[StarterSpecies]:
    """Return the species that ship with Fieldmark, sorted by id."""
    return [loads(StarterSpecies, line) for line in read_bytes(SPECIES_FILE).decode().splitlines()]


def read_terms() -> list[Term]:
    """Return the terms that ship with Fieldmark, sorted by name, without a source."""
    return [loads(Term, line) for line in read_bytes(TERMS_FILE).decode().splitlines()]


def read_bytes(name: str) -> bytes:
    """Return a file that ships beside this module; empty if it is missing."""
    file = resources.files("data") / "starter" / name
    return file.read_bytes() if file.is_file() else b""
