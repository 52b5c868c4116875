"""Taxoboxes: the classification tables of articles on organisms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from bs4 import Tag
from bs4.element import NavigableString

from data.records import Infobox
from kb.sources.mediawiki.taxon_names import (
    BELOW_GENUS,
    BELOW_SPECIES,
    CULTIVAR,
    NO_TAXON,
    StatedTaxon,
    lowest,
    parse_binomial,
    rank_named,
    taxon_of_name,
    trinomial,
)

_CAPITALISED = re.compile(r"[A-Z][a-zà-ÿ-]+")
_LATIN_IN_BRACKETS = re.compile(r"\(([A-Z][a-z]+)\)")
_VIRUS = re.compile(r"virus\b", re.IGNORECASE)
_SPECIES_HEADINGS = frozenset({"species", "extant species"})
_BINOMIAL_HEADINGS = frozenset(
    {"binomial name", "scientific name", "wissenschaftlicher name", "nombre binomial", "nom binominal"}
)


def find_taxobox(root: Tag) -> Tag | None:
    """Return the first taxobox below `root`, by its class or by the ranks in its rows."""
    for table in root.find_all(["table", "div"], class_=["biota", "taxobox", "taxobox_v3", "infobox"]):
        classes = set(table.get_attribute_list("class"))
        if classes & {"biota", "taxobox", "taxobox_v3"}:
            return table
        if "infobox" in classes and (table.find(class_="binomial") or _looks_like_taxobox(table)):
            return table
    return None


def read_taxobox(table: Tag) -> Infobox:
    """Return the heading, classification, binomial and rows of a taxobox.

    A genus with a single species has the binomial of that species; other groups and subspecies have none.
    """
    rows = [row for row in _rows(table) if any(row.texts)]
    classification = dict(_classification(rows))
    return Infobox(
        name=_heading(table),
        binomial=_binomial(table, rows, classification),
        classification=classification,
        rows=_named_rows(rows),
    )


def stated_taxon(box: Infobox) -> StatedTaxon:
    """Return the taxon that a taxobox is about: its species, the group in its heading, or its lowest rank.

    Example:
        >>> box = Infobox(name="Red admirals", classification={"family": "Nymphalidae", "genus": "Vanessa"})
        >>> stated_taxon(box)
        StatedTaxon(rank='genus', name='Vanessa')
    """
    if box.binomial:
        return StatedTaxon("species", box.binomial)
    if "realm" in box.classification or _VIRUS.match(box.rows.get("(unranked)", "")):
        return StatedTaxon("virus", box.name)
    rows = {key.lower(): text for key, text in box.rows.items()}
    genus, written = box.classification.get("genus", ""), box.classification.get("species", "")
    named = next((rows[key] for key in rows if key in _BINOMIAL_HEADINGS), written)
    species = taxon_of_name(named, genus)
    if group := next((rows[key] for key in rows if key in CULTIVAR), ""):
        return StatedTaxon("cultivar", f"{species.name} {group}".strip())
    if lower := _below_species(rows):
        epithet = species.name.removeprefix(f"{genus} ") if genus and species.rank == "species" else ""
        return StatedTaxon("subspecies", trinomial(lower[1], genus, epithet, BELOW_SPECIES.get(lower[0], "")))
    if species.rank in ("hybrid", "group"):
        return species
    if genus and (group := next((rows[key] for key in rows if key in BELOW_GENUS), "")):
        return StatedTaxon("group", taxon_of_name(group, genus).name or group)
    ranked = {rank: name for rank, name in box.classification.items() if rank != "clade"}
    headed = next((StatedTaxon(rank, name) for rank, name in ranked.items() if name == box.name), NO_TAXON)
    return headed if headed.rank else lowest(ranked)


def _below_species(rows: Mapping[str, str]) -> tuple[str, str] | None:
    """Return row and name of the taxon below a species that a taxobox is about."""
    keys = [key for key in rows if rank_named(key) == "subspecies" or key in BELOW_SPECIES]
    keys = [key for key in rows if key == "trinomial name"] + keys
    return next(((key, rows[key]) for key in keys), None)


def plain(tag: Tag) -> str:
    """Return the visible text of a tag with single spaces, without footnote marks."""
    parts: list[str] = []
    for node in tag.descendants:
        if isinstance(node, Tag):
            if node.name in ("br", "div", "p", "li", "tr"):
                parts.append(" ")
        elif type(node) is NavigableString and not any(
            _is_noise(parent) for parent in _parents_up_to(node.parent, tag)
        ):
            parts.append(str(node))
    return " ".join("".join(parts).replace("\xa0", " ").split())


def _looks_like_taxobox(table: Tag) -> bool:
    ranks = {rank_named(row.texts[0]) for row in _rows(table) if len(row.texts) == 2}
    return len(ranks & {"class", "order", "family", "genus", "species"}) >= 2


@dataclass(frozen=True, slots=True)
class _Row:
    texts: tuple[str, ...]
    is_heading: bool


def _rows(table: Tag) -> Iterator[_Row]:
    """Yield the texts of each row; a row with a nested table is replaced by the rows of that table."""
    for row in table.find_all("tr"):
        if row.find("table") is None:
            cells = row.find_all(["th", "td"])
            yield _Row(tuple(plain(cell) for cell in cells), bool(cells) and all(cell.name == "th" for cell in cells))


def _classification(rows: list[_Row]) -> Iterator[tuple[str, str]]:
    for texts in (row.texts for row in rows if len(row.texts) == 2):
        rank = "clade" if texts[0].lower().startswith("clade") else rank_named(texts[0])
        if rank is None or not texts[1]:
            continue
        if rank in ("species", "subspecies"):
            yield rank, texts[1].lstrip("†? ").split(" (")[0]
        elif found := _LATIN_IN_BRACKETS.search(texts[1]) if _is_foreign(texts[0], rank) else None:
            yield rank, found[1]
        elif found := _CAPITALISED.search(texts[1]):
            yield rank, found[0]


def _is_foreign(word: str, rank: str) -> bool:
    """Return whether a rank is named in another language, as in "Ordnung: Eulen (Strigiformes)"."""
    return word.lower().rstrip(": ").strip() != rank and rank != "clade"


def _binomial(table: Tag, rows: list[_Row], classification: dict[str, str]) -> str | None:
    if table.find(class_="trinomial") or _is_virus(rows):
        return None
    genus = classification.get("genus", "")
    named = [plain(marked) for marked in table.find_all(class_="binomial")]
    for row, following in pairwise(rows):
        if len(row.texts) == 1 and _key(row) in _BINOMIAL_HEADINGS:
            named.append(following.texts[0])
    is_lower = "subspecies" in classification or "trinomial name" in map(_key, rows)
    if is_lower or any(_key(row) in BELOW_SPECIES or _key(row) in CULTIVAR for row in rows if len(row.texts) == 2):
        return None
    found = [taxon_of_name(text, genus) for text in (*named, classification.get("species", "")) if text]
    stated = next((taxon for taxon in found if taxon.rank), NO_TAXON)
    if stated.rank:
        return stated.name if stated.rank == "species" else None
    return _only_species(table)


def _key(row: _Row) -> str:
    return row.texts[0].lower().rstrip(": ").strip()


def _is_virus(rows: list[_Row]) -> bool:
    """Return whether a classification is that of a virus, in the old or the new style."""
    heads = (row.texts for row in rows if len(row.texts) == 2)
    return any(
        head.lower().startswith("realm") or (head.lower().startswith("(unranked)") and _VIRUS.match(name))
        for head, name in heads
    )


def _only_species(table: Tag) -> str | None:
    """Return the species of a genus that lists exactly one."""
    for heading in table.find_all("th"):
        if plain(heading).lower() not in _SPECIES_HEADINGS or not isinstance(heading.parent, Tag):
            continue
        following = heading.parent.find_next_sibling("tr")
        if isinstance(following, Tag):
            listed = {found for tag in following.find_all("i") if (found := parse_binomial(plain(tag)))}
            return listed.pop() if len(listed) == 1 else None
    return None


def _named_rows(rows: list[_Row]) -> dict[str, str]:
    """Return the rows of two cells by the first cell, and single rows by the heading above them."""
    named: dict[str, str] = {}
    for row in rows:
        if len(row.texts) == 2 and row.texts[0] and row.texts[1]:
            named.setdefault(row.texts[0].rstrip(": "), row.texts[1])
    for row, following in pairwise(rows):
        if row.is_heading and len(row.texts) == 1 and len(following.texts) == 1 and not following.is_heading:
            named.setdefault(row.texts[0].rstrip(": "), following.texts[0])
    return named


def _heading(table: Tag) -> str:
    first = table.find(class_="entete") or table.find(["th", "caption"])
    if not isinstance(first, Tag):
        return ""
    # Small print and further blocks hold a fossil range or a footnote.
    parts: list[str] = []
    for child in first.children:
        if isinstance(child, Tag):
            if child.name in ("br", "small", "div", "style", "p", "table"):
                if parts and "".join(parts).strip():
                    break
                if child.name not in ("p", "div"):
                    continue
            if _is_noise(child):
                continue
            parts.append(plain(child))
        else:
            parts.append(str(child))
    return " ".join("".join(parts).replace("\xa0", " ").split())


def _parents_up_to(tag: Tag | None, top: Tag) -> Iterator[Tag]:
    while isinstance(tag, Tag) and tag is not top:
        yield tag
        tag = tag.parent


def _is_noise(tag: Tag) -> bool:
    if tag.name in ("style", "script"):
        return True
    classes = tag.get_attribute_list("class")
    return (
        tag.name == "sup" and ("reference" in classes or "Inline-Template" in classes)
    ) or "mw-editsection" in classes
