"""Taxobox templates in the wikitext of a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kb.sources.mediawiki.taxon_names import (
    BELOW_SPECIES,
    NO_TAXON,
    RANKS,
    StatedTaxon,
    below_species,
    first_named,
    lowest,
    rank_named,
    rank_of_group,
    section_of_rows,
    taxon_of_rows,
)

_START = re.compile(
    r"\{\{\s*(?P<name>speciesbox|subspeciesbox|infraspeciesbox|automatic[ _]taxobox|(?:population[ _])?taxobox"
    r"(?:[ _](?:début|taxon|begin|rijk|stam|klasse|orde|familie|geslacht|soort))?|hybridbox|virusbox|ichnobox|"
    r"oobox|paraphyletic[ _]group|infobox[ _](?:species|fungus|cultivar|plant|taxon)|(?:infobox[ _])?\w+[ _]breed|"
    r"ficha[ _]de[ _]taxón|tassobox|info/taxonomia|(?:zwierzę|roślina|grzyb|takson|organizm)[ _]infobox)\s*(?=[|}\n])",
    re.IGNORECASE,
)
_KINDS: Final[Mapping[str, str]] = {
    "hybridbox": "hybrid", "virusbox": "virus", "ichnobox": "trace fossil", "oobox": "trace fossil",
    "infobox cultivar": "cultivar", "subspeciesbox": "subspecies", "infraspeciesbox": "subspecies",
    "population taxobox": "population",
}  # fmt: skip
"""Template -> kind of a subject that is no species."""
_BINOMIAL_KEYS = ("binomial", "binome", "nome binomial", "nome_binomial")
_INNERMOST = re.compile(r"\{\{[^{}]*\}\}")
_LINK = re.compile(r"\[\[(?:[^|\[\]]*\|)?([^|\[\]]*)\]\]")
_TAG = re.compile(r"<[^<>]{1,200}>")
_CAPITALISED = re.compile(r"[A-Z][a-zà-ÿ-]+")
_ITALIC_BINOMIAL = re.compile(r"''+([A-Z][a-zà-ÿ-]*\.? [a-zà-ÿ-]{3,})''+")
Template = tuple[str, Mapping[str, str], Sequence[str]]
"""Name, named parameters and positional ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """The taxobox of a page, as its wikitext has it."""

    taxon: StatedTaxon = NO_TAXON
    lineage: Mapping[str, str] = field(default_factory=dict)
    """Rank -> name, as far as the template states them; automatic taxoboxes state few."""


def read_box(wikitext: str, lead: str) -> Box | None:
    """Return the first taxobox in wikitext without comments and references, or None; `lead` is its first sentences."""
    found = list(_templates(wikitext))
    if not found:
        return None
    name, values, _ = found[0]
    if name.endswith(" breed"):
        return Box(taxon=StatedTaxon("cultivar", values.get("name", "")))
    if name == "taxobox début":
        values = {**values, **_french(found)}
    elif name == "taxobox begin":
        values = {**values, **_dutch(found)}
    elif "taxon_wissname" in values:
        values = {**values, **_german(values)}
    elif own := values.get("w-naam") or values.get("nazwa łacińska"):  # Dutch, Polish
        values = {**values, "taxon": own}
    lineage = _lineage(values)
    taxon = _taxon(name, values, lineage, lead)
    if taxon.rank == "species":
        lineage["genus"] = taxon.name.split()[0]
    return Box(taxon=taxon, lineage={rank: lineage[rank] for rank in RANKS if rank in lineage and rank != taxon.rank})


def _taxon(name: str, values: Mapping[str, str], lineage: Mapping[str, str], lead: str) -> StatedTaxon:
    capitalised = _CAPITALISED.search(values.get("genus", ""))
    genus = capitalised[0] if capitalised else ""
    texts = [values[key] for key in (*_BINOMIAL_KEYS, "taxon") if values.get(key)]
    given = texts[0] if texts else ""
    if genus and values.get("species"):
        texts.append(values["species"])
    named = first_named(texts, genus)
    kind = _KINDS.get(name)
    if kind not in (None, "subspecies"):
        return StatedTaxon(kind or "", given or values.get("trinomial", "") or named.name or values.get("name", ""))
    # Parameters are written in any order.
    ordered = {key: values[key] for key in BELOW_SPECIES if key in values} | dict(values)
    stated = taxon_of_rows(ordered, named, genus)
    if kind == "subspecies" and stated == named:
        return below_species(given, named, genus)
    if stated.rank:
        return stated
    if only := _only_listed(values):
        return StatedTaxon("species", only)
    if named_group := re.fullmatch(r"[†?\s]*([A-Z][a-zà-ÿ-]+)(?: \([^()A-Z]*\)|/.*)?", values.get("taxon", "")):
        lists = values.get("subdivision_ranks", "")
        return StatedTaxon(rank_of_group(named_group[1], lead, lists), named_group[1])
    if values.get("taxon"):  # a subgenus: Bombus (Pyrobombus)
        return StatedTaxon("group", values["taxon"])
    if (section := section_of_rows(values, genus)).rank:
        return section
    return lowest({rank: taxon for rank, taxon in lineage.items() if rank not in ("species", "subspecies")})


def _only_listed(values: Mapping[str, str]) -> str | None:
    """Return the species of a genus that lists exactly one."""
    listed = set(_ITALIC_BINOMIAL.findall(values.get("subdivision italic", "")))
    if rank_named(values.get("subdivision_ranks", "")) != "species" or len(listed) != 1:
        return None
    only = listed.pop()
    group = _CAPITALISED.match(values.get("taxon") or values.get("genus", ""))
    return f"{group[0]} {only.split()[1]}" if group and only[0] == group[0][0] else None


def _lineage(values: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in values.items():
        rank = rank_named(key)
        name = _CAPITALISED.match(value.lstrip("†?× ")) if rank is not None else None
        if rank is not None and name is not None and rank not in ("species", "subspecies"):
            found.setdefault(rank, name[0])
    return found


def _german(values: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters of a German taxobox under our names: Taxon_Rang, Taxon2_WissName."""
    found: dict[str, str] = {}
    for number in ("", *map(str, range(2, 9))):
        rank, name = values.get(f"taxon{number}_rang", ""), values.get(f"taxon{number}_wissname", "")
        if rank and name:
            found["binomial" if not number and rank_named(rank) == "species" else rank.lower()] = name
    return found


def _french(found: Sequence[Template]) -> dict[str, str]:
    """Return rank -> name of {{Taxobox | famille | X}} and {{Taxobox taxon | animal | espèce | X y | author}}."""
    ranks = {}
    for name, _, cells in found:
        pair = cells[:2] if name == "taxobox" else cells[1:3] if name == "taxobox taxon" else []
        if len(pair) == 2 and (rank := rank_named(pair[0])):
            ranks["binomial" if rank == "species" else rank] = pair[1]
    return ranks


def _dutch(found: Sequence[Template]) -> dict[str, str]:
    """Return rank -> name of {{Taxobox familie | Ranidae}} and {{Taxobox soort | Rana | temporaria}}."""
    ranks = {}
    for name, _, cells in found:
        if cells and (rank := rank_named(name.removeprefix("taxobox "))):
            ranks["binomial" if rank == "species" else rank] = " ".join(cells)
    return ranks


def _templates(text: str) -> Iterator[Template]:
    """Yield name, named parameters and positional ones of each taxobox template, their values as plain text."""
    for start in _START.finditer(text):
        values: dict[str, str] = {}
        cells: list[str] = []
        for part in list(_parts(text, start.end()))[1:]:
            key, equals, value = part.partition("=")
            if equals and "[" not in key and "{" not in key:
                values.setdefault(key.strip().lower(), _plain(value))
                if key.strip() == "subdivision":
                    values["subdivision italic"] = _LINK.sub(r"\1", value)
            else:
                cells.append(_plain(part))
        yield start["name"].lower().replace("_", " "), values, cells


def _parts(text: str, at: int) -> Iterator[str]:
    """Yield the parameters of a template from the end of its name, with the templates and links in them."""
    depth, begin, i = 0, at, at
    while i < len(text):
        two = text[i : i + 2]
        if two in ("{{", "[["):
            depth, i = depth + 1, i + 2
        elif two in ("}}", "]]"):
            if depth == 0:
                break
            depth, i = depth - 1, i + 2
        else:
            if text[i] == "|" and depth == 0:
                yield text[begin:i]
                begin = i + 1
            i += 1
    yield text[begin:i]


def _plain(value: str) -> str:
    for _ in range(5):
        value, n_removed = _INNERMOST.subn("", value)
        if not n_removed:
            break
    flat = _TAG.sub(" ", _LINK.sub(r"\1", value))
    return " ".join(re.sub(r"''+", "", flat).replace("&nbsp;", " ").split())
