"""Groups of organisms: that of a noun, and that of a taxon by its lineage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

from data.lexicon.tables import BIRDS, column


@cache
def organisms() -> Mapping[str, str]:
    """Return noun in the singular -> group."""
    found: dict[str, str] = {}
    group = ""
    for line in (files("data.lexicon") / "organisms.txt").read_text(encoding="utf-8").splitlines():
        text = line.partition("#")[0].strip()
        if text.startswith("["):
            group = text.strip("[]")
        else:
            found |= {word: group for word in text.split() if word not in found}
    return found


GENERAL = "animals"
"""Words for taxa of no other group."""


def group_of_taxon(lineage: Mapping[str, str], scientific_name: str = "") -> str:
    """Return the group of a taxon with this lineage, from the highest rank down.

    A class of no group gives the general words; a taxon without any lineage those of birds, which fit any animal.
    """
    names = [*lineage.values(), *([scientific_name] if scientific_name and " " not in scientific_name else [])]
    exact = [taxa[name] for name in reversed(names) if name in (taxa := _taxa())]
    if exact:
        return exact[0]
    alike = [group for name in reversed(names) for ending, group in _endings() if name.endswith(ending)]
    if alike:
        return "fungi" if "fungi" in alike else alike[0]
    return GENERAL if lineage else BIRDS


def shared_group(lineages: Iterable[Mapping[str, str]]) -> str:
    """Return the group of taxa that are compared: their own if they share it, else the general one."""
    found = {group_of_taxon(lineage) for lineage in lineages}
    return found.pop() if len(found) == 1 else GENERAL


@cache
def _taxa() -> Mapping[str, str]:
    return column("taxa", "group", group="")


@cache
def _endings() -> list[tuple[str, str]]:
    return [(taxon.removeprefix("-"), group) for taxon, group in _taxa().items() if taxon.startswith("-")]
