"""Taxoboxes: the classification tables of articles on organisms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from bs4 import Tag
from bs4.element import NavigableString

from data.records import Infobox
from kb.sources.mediawiki.taxon_names import (
    NO_TAXON,
    StatedTaxon,
    first_named,
    lowest,
    parse_binomial,
    rank_named,
    section_of_rows,
    taxon_of_rows,
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
    box = Infobox(name=_heading(table), classification=dict(_classification(rows)), rows=_named_rows(rows))
    return replace(box, binomial=_binomial(table, rows, box))


def stated_taxon(box: Infobox) -> StatedTaxon:
    """Return the taxon that a taxobox is about: its species, the group in its heading, or its lowest rank."""
    if box.binomial:
        return StatedTaxon("species", box.binomial)
    if _is_virus(box):
        return StatedTaxon("virus", box.name)
    rows = {key.lower(): text for key, text in box.rows.items()}
    binomials = [text for key, text in rows.items() if key in _BINOMIAL_HEADINGS]
    stated = _taxon_of_rows([*rows.items()], binomials, box.classification)
    if stated.rank not in ("", "species"):  # a page without a binomial is not about the species that it names
        return stated
    if (section := section_of_rows(rows, box.classification.get("genus", ""))).rank:
        return section
    ranked = {rank: name for rank, name in box.classification.items() if rank != "clade"}
    headed = next((StatedTaxon(rank, name) for rank, name in ranked.items() if name == box.name), NO_TAXON)
    return headed if headed.rank else lowest(ranked)


def _taxon_of_rows(
    rows: Sequence[tuple[str, str]], binomials: Sequence[str], classification: Mapping[str, str]
) -> StatedTaxon:
    """Return the taxon that rows state, with the names that the page has as binomials, the surest first."""
    english = {key: text for key, text in rows if key == "trinomial name"}  # the surest
    for key, text in rows:
        english.setdefault("subspecies" if rank_named(key) == "subspecies" else key, text)
    genus = classification.get("genus", "")
    return taxon_of_rows(english, first_named([*binomials, classification.get("species", "")], genus), genus)


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

    @property
    def key(self) -> str:
        return self.texts[0].lower().rstrip(": ")


def _rows(table: Tag) -> Iterator[_Row]:
    """Yield the texts of each row; a row with a nested table is replaced by the rows of that table."""
    for row in table.find_all("tr"):
        if row.find("table") is None:
            cells = row.find_all(["th", "td"])
            yield _Row(tuple(plain(cell) for cell in cells), bool(cells) and all(cell.name == "th" for cell in cells))


def _classification(rows: list[_Row]) -> Iterator[tuple[str, str]]:
    for row in (row for row in rows if len(row.texts) == 2):
        texts = row.texts
        rank = "clade" if texts[0].lower().startswith("clade") else rank_named(texts[0])
        if rank is None or not texts[1]:
            continue
        if rank in ("species", "subspecies"):
            yield rank, texts[1].lstrip("†? ").split(" (")[0]
        elif row.key != rank != "clade" and (found := _LATIN_IN_BRACKETS.search(texts[1])):
            yield rank, found[1]
        elif found := _CAPITALISED.search(texts[1]):
            yield rank, found[0]


def _binomial(table: Tag, rows: list[_Row], box: Infobox) -> str | None:
    if table.find(class_="trinomial") or _is_virus(box):
        return None
    ranked = [(row.key, row.texts[1]) for row in rows if len(row.texts) == 2]
    headed = [(row.key, following.texts[0]) for row, following in pairwise(rows) if len(row.texts) == 1]
    marked = [plain(tag) for tag in table.find_all(class_="binomial")]
    binomials = [text for key, text in (*headed, *ranked) if key in _BINOMIAL_HEADINGS]
    # Below other headings, such as "Subspecies", a page lists what belongs to its taxon.
    trinomials = [(key, text) for key, text in headed if key == "trinomial name"]
    stated = _taxon_of_rows([*ranked, *trinomials], [*marked, *binomials], box.classification)
    if stated.rank:
        return stated.name if stated.rank == "species" else None
    return _only_species(table)


def _is_virus(box: Infobox) -> bool:
    """Return whether a classification is that of a virus, in the old or the new style."""
    return "realm" in box.classification or _VIRUS.match(box.rows.get("(unranked)", "")) is not None


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
        name = child.name if isinstance(child, Tag) else ""
        if name in ("br", "small", "div", "style", "p", "table") and "".join(parts).strip():
            break
        if isinstance(child, Tag) and name not in ("br", "small", "style", "table") and not _is_noise(child):
            parts.append(plain(child))
        elif not isinstance(child, Tag):
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
    is_note = tag.name == "sup" and ("reference" in classes or "Inline-Template" in classes)
    return is_note or "mw-editsection" in classes
