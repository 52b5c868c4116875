"""Taxobox templates in the wikitext of a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kb.sources.mediawiki.html.taxobox import parse_binomial
from kb.sources.mediawiki.ranks import NO_TAXON, RANKS, StatedTaxon, lowest, rank_named, rank_of_group

_START = re.compile(
    r"\{\{\s*(?P<name>speciesbox|subspeciesbox|infraspeciesbox|automatic[ _]taxobox|(?:population[ _])?taxobox"
    r"(?:[ _](?:début|taxon))?|hybridbox|virusbox|ichnobox|oobox|paraphyletic[ _]group|infobox[ _](?:species|fungus|"
    r"cultivar|plant|taxon)|(?:infobox[ _])?\w+[ _]breed|ficha[ _]de[ _]taxón|tassobox|info/taxonomia)\s*(?=[|}\n])",
    re.IGNORECASE,
)
_KINDS: Final[Mapping[str, str]] = {
    "hybridbox": "hybrid", "virusbox": "virus", "ichnobox": "trace fossil", "oobox": "trace fossil",
    "infobox cultivar": "cultivar", "subspeciesbox": "subspecies", "infraspeciesbox": "subspecies",
    "population taxobox": "population",
}  # fmt: skip
"""Template -> kind of a subject that is no species."""
_BELOW_SPECIES = ("subspecies", "trinomial", "varietas", "forma", "infraspecies", "nombre trinomial")
_BINOMIAL_KEYS = ("binomial", "binome", "nome binomial", "nome_binomial")
_INNERMOST = re.compile(r"\{\{[^{}]*\}\}")
_LINK = re.compile(r"\[\[(?:[^|\[\]]*\|)?([^|\[\]]*)\]\]")
_TAG = re.compile(r"<[^<>]{1,200}>")
_CAPITALISED = re.compile(r"[A-Z][a-zà-ÿ-]+")
_ITALIC_BINOMIAL = re.compile(r"''+([A-Z][a-zà-ÿ-]*\.? [a-zà-ÿ-]{3,})''+")
_HYBRID = re.compile(r"×|\bx [a-z]")
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
    elif "taxon_wissname" in values:
        values = {**values, **_german(values)}
    lineage = _lineage(values)
    taxon = _taxon(name, values, lineage, lead)
    if taxon.rank == "species":
        lineage["genus"] = taxon.name.split()[0]
    return Box(taxon=taxon, lineage={rank: lineage[rank] for rank in RANKS if rank in lineage and rank != taxon.rank})


def _taxon(name: str, values: Mapping[str, str], lineage: Mapping[str, str], lead: str) -> StatedTaxon:
    stated = next((values[key] for key in (*_BINOMIAL_KEYS, "taxon") if values.get(key)), "")
    if not stated and " " in values.get("species", "") and values["species"][0].islower():  # lupus familiaris
        stated = f"{values.get('genus', '')} {values['species']}"
    binomial = _binomial(values)
    if (kind := _KINDS.get(name)) not in (None, "subspecies"):
        return StatedTaxon(kind or "", stated or values.get("trinomial", "") or binomial or values.get("name", ""))
    if kind == "subspecies" or any(values.get(key) for key in _BELOW_SPECIES) or _is_trinomial(stated):
        return StatedTaxon("subspecies", _trinomial(values, stated, binomial or ""))
    if _HYBRID.search(stated) or _HYBRID.match(values.get("species", "")):
        return StatedTaxon("hybrid", stated or f"{values.get('genus', '')} {values.get('species', '')}")
    if binomial:
        return StatedTaxon("species", binomial)
    if group := re.fullmatch(r"[†?\s]*([A-Z][a-zà-ÿ-]+)(?: \([^()A-Z]*\)|/.*)?", values.get("taxon", "")):
        lists = values.get("subdivision_ranks", "")
        return StatedTaxon(rank_of_group(group[1], lead, lists), group[1])
    if values.get("taxon"):  # a section or subgenus: Viola sect. Melanium
        return StatedTaxon("group", values["taxon"])
    return lowest({rank: taxon for rank, taxon in lineage.items() if rank not in ("species", "subspecies")})


def _trinomial(values: Mapping[str, str], stated: str, binomial: str) -> str:
    given = next((values[key] for key in _BELOW_SPECIES[::-1] if values.get(key)), stated)
    last = given.split()[-1:] or [""]
    return f"{binomial} {last[0]}".strip() if binomial and not given.startswith(binomial) else given


def _is_trinomial(name: str) -> bool:
    words = re.sub(r"\([^()]*\)", "", name).split()
    return len(words) >= 3 and words[1].islower() and words[2].islower() and words[1].isalpha()


def _binomial(values: Mapping[str, str]) -> str | None:
    for key in (*_BINOMIAL_KEYS, "taxon"):
        if found := parse_binomial(values.get(key, "")):
            return found
    genus = _CAPITALISED.search(values.get("genus", ""))
    species = values.get("species", "").strip(" †?").split(" (")[0].split()
    if species and species[0][:1].isupper() and len(species) > 1:  # V. atalanta
        species = species[1:]
    if genus and len(species) == 1:
        return parse_binomial(f"{genus[0]} {species[0]}")
    listed = set(_ITALIC_BINOMIAL.findall(values.get("subdivision italic", "")))
    if rank_named(values.get("subdivision_ranks", "")) == "species" and len(listed) == 1:
        only = listed.pop()
        name = values.get("taxon") or values.get("genus", "")
        epithet = only.split()[1]
        group = _CAPITALISED.match(name)
        return f"{group[0]} {epithet}" if group and only[0] == group[0][0] else None
    return None


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
