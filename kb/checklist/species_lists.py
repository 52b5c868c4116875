"""Species lists of a place in common formats, matched with the species of a knowledge base.

Formats: eBird bar charts (their frequencies give the quarters of months with sightings), tables with a column of
scientific or English names (eBird's life lists and own data, our CSV, Excel), JSON arrays of names or codes (eBird's
API), and plain text with one name or code per line.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from data.codec import load_json
from data.contracts import Checklist
from data.errors import BadInput
from data.records import Taxon, taxon_id
from data.tables import read_text
from kb.checklist.avilist import load_checklist
from kb.checklist.name_files import NameRow, NamesFile, has_names_or_ranks
from kb.checklist.names import fold
from kb.checklist.reconcile import MatchedName, Reconciler, UnmatchedName

Kind = Literal["bar chart", "table", "JSON", "names"]
N_QUARTERS: Final = 48
GROUPS: Final = ("order", "suborder", "superfamily", "family", "subfamily", "tribe", "genus")
"""Ranks that stand for all their species in a list."""
MOST_SUGGESTED: Final = 100  # unmatched names with suggestions: a wrong file may hold 100,000

_EMPHASISED = re.compile(r"<em[^>]*>([^<]+)</em>", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedNames:
    """Contents of a list file."""

    kind: Kind
    rows: tuple[NameRow, ...]
    notes: tuple[str, ...] = ()
    """Guesses, skipped rows and unused columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedNames:
    """Rows of names, each of one species, matched with a knowledge base."""

    of_rows: tuple[str | None, ...]
    """Species of each row; None for a species that is absent, and for an unmatched row."""
    taxa: tuple[Taxon | None, ...] = ()
    """Species of each row by the checklist; None for a name that it does not know."""
    quarters: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Quarters with sightings, and those before and after, if the list has dates."""
    absent: tuple[str, ...]
    """Species that are not in the knowledge base, by scientific name, each once."""
    unmatched: tuple[UnmatchedName, ...]
    """Rows without a single matching species, by their first name."""
    partial: tuple[MatchedName, ...] = ()
    """Rows matched without their bracket or third word, which the checklist does not know."""
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Families and other groups of a list, and their species in the knowledge base."""

    @property
    def taxon_ids(self) -> frozenset[str]:
        """Species in the knowledge base."""
        return frozenset(filter(None, self.of_rows)).union(*self.groups.values())


def read_list(source: Path | bytes, place: str = "") -> ListedNames:
    """Return the names in a file, or its content, of any of the formats above; `place` is its name in messages.

    Raises:
        BadInput: if there is no such file, it cannot be read, or it holds no names.
    """
    place = place or str(source)
    if (entries := _of_json(source, place)) is not None:
        listed, is_nameless = ListedNames(kind="JSON", rows=tuple(row for row in entries if row.names)), bool(entries)
    else:
        file = NamesFile(source, place, needed=has_names_or_ranks)
        charted = None if file.is_table else _of_bar_chart(file.lines())
        kind: Kind = "table" if file.names_species else "names" if charted is None else "bar chart"
        rows = tuple(file.rows(once=True)) if charted is None else charted
        listed, is_nameless = ListedNames(kind=kind, rows=rows, notes=tuple(file.notes())), file.n_nameless > 0
    if not listed.rows:
        found = "no row has a name" if is_nameless else "found none"
        raise BadInput(f"{place}: expected names of species, {found}.")
    return listed


def match_list(listed: ListedNames, taxa: Sequence[Taxon], checklist: Checklist | None = None) -> MatchedNames:
    """Return the species of a knowledge base that are on a list with their seasons, and the names without a match.

    An order, family or genus stands for all its species, unless the list is a table with names of species, where such
    rows are birds that were not identified further.
    """
    checklist = load_checklist() if checklist is None else checklist
    rows = list({(row.names[0], row.quarters): row for row in reversed(listed.rows)}.values())[::-1]
    matches = match_names([row.names for row in rows], taxa, checklist)
    quarters: dict[str, frozenset[int]] = {}
    always: set[str] = set()
    for row, in_kb in zip(rows, matches.of_rows, strict=True):
        if in_kb is not None and row.quarters is None:
            always.add(in_kb)
        elif in_kb is not None and row.quarters is not None:
            quarters[in_kb] = quarters.get(in_kb, frozenset()) | _with_neighbours(row.quarters)
    matches = replace(matches, quarters={each: when for each, when in quarters.items() if each not in always})
    return matches if listed.kind == "table" else _with_groups(matches, {taxon.taxon_id for taxon in taxa}, checklist)


def _with_groups(matches: MatchedNames, ids: set[str], checklist: Checklist) -> MatchedNames:
    """Return the matches with the species of the groups among the unmatched names."""
    groups: dict[str, frozenset[str]] = {}
    absent = dict.fromkeys(matches.absent)
    unmatched: list[UnmatchedName] = []
    reconciler = Reconciler(checklist)
    for missed in matches.unmatched:
        taxon = reconciler.higher_taxon(missed.name) if missed.reason == "not a species" else None
        if taxon is None or taxon.rank not in GROUPS:
            unmatched.append(missed)
            continue
        species = checklist.species_of(taxon)
        groups[missed.name] = frozenset(each.taxon_id for each in species if each.taxon_id in ids)
        absent |= dict.fromkeys(each.scientific_name for each in species if each.taxon_id not in ids)
    return replace(matches, groups=groups, absent=tuple(absent), unmatched=tuple(unmatched))


def match_names(
    rows: Sequence[Sequence[str]], taxa: Sequence[Taxon], checklist: Checklist | None = None
) -> MatchedNames:
    """Return the species of a knowledge base for rows of names, the most reliable first, and the names without a match.

    Names go through the checklist, by default AviList: synonyms, codes and spellings lead to a species. One that it
    does not know, or that the knowledge base holds by an older name, is looked for among the names of the knowledge
    base.
    """
    ids = {taxon.taxon_id for taxon in taxa}
    own = {fold(name): taxon.taxon_id for taxon in taxa for name in (*taxon.common_names, taxon.scientific_name)}
    checklist = load_checklist() if checklist is None else checklist
    found = Reconciler(checklist).reconcile_rows(rows, most_suggested=MOST_SUGGESTED)
    by_checklist: list[Taxon | None] = []
    in_kb: list[str | None] = []
    absent: dict[str, None] = {}
    unmatched: list[UnmatchedName] = []
    for names, result in zip(rows, found.results, strict=True):
        by_checklist.append(taxon := result.taxon if isinstance(result, MatchedName) else None)
        # Not by English name if the checklist knows the row: the name may mean another bird here.
        in_kb.append(_among(ids, own, names if taxon is None else (taxon.scientific_name, *taxon.synonyms)))
        if in_kb[-1] is None and taxon is not None:
            absent[taxon.scientific_name] = None
        elif in_kb[-1] is None and isinstance(result, UnmatchedName):
            unmatched.append(result)
    return MatchedNames(
        of_rows=tuple(in_kb),
        taxa=tuple(by_checklist),
        absent=tuple(absent),
        unmatched=tuple(unmatched),
        partial=tuple(match for match in found.matched if match.is_partial),
    )


def _among(ids: set[str], own: Mapping[str, str], names: Iterable[str]) -> str | None:
    """Return the species of the knowledge base with one of the names."""
    for name in names:
        if taxon_id(name) in ids:
            return taxon_id(name)
        if fold(name) in own:
            return own[fold(name)]
    return None


def _with_neighbours(quarters: frozenset[int]) -> frozenset[int]:
    """Return the quarters and their neighbours, since a week without observers is not a week without the bird."""
    return frozenset((quarter + step) % N_QUARTERS for quarter in quarters for step in (-1, 0, 1))


def _of_json(source: Path | bytes, place: str) -> list[NameRow] | None:
    """Return the entries of a JSON list of eBird or iNaturalist; None for another file."""
    if isinstance(source, Path) and source.suffix.lower() != ".json":
        try:
            with source.open("rb") as file:
                head = file.read(64)
        except OSError:
            return None
        if not head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"[", b"{")):
            return None
    text = read_text(source, place)
    try:
        read = load_json(text)
    except ValueError:
        return None
    entries = read.get("results", []) if isinstance(read, dict) else read
    return [_row_of_entry(n, entry) for n, entry in enumerate(entries, 1) if isinstance(entry, str | dict)]


def _row_of_entry(n: int, entry: str | dict[str, object]) -> NameRow:
    about = {"name": entry} if isinstance(entry, str) else entry.get("taxon", entry)

    def first(*keys: str) -> str:
        cells = [" ".join(str(about.get(key) or "").split()) for key in keys] if isinstance(about, dict) else []
        return next(filter(None, cells), "")

    return NameRow(
        line=n,
        scientific=first("sciName", "scientificName", "name"),
        common=first("comName", "preferred_common_name", "commonName"),
        others=(first("speciesCode"),),
    )


def _of_bar_chart(lines: Iterable[tuple[int, str]]) -> tuple[NameRow, ...] | None:
    rows = []
    is_chart = False
    for number, line in lines:
        name, *cells = line.rstrip("\t").split("\t")
        try:
            frequencies = [float(cell) for cell in cells if cell.strip()]
        except ValueError:
            continue
        if len(frequencies) != N_QUARTERS or fold(name).startswith("samplesize"):
            continue
        is_chart = True
        scientific = _EMPHASISED.search(name)
        common = html.unescape(_TAG.sub("", _EMPHASISED.sub("", name))).replace("()", "")
        if seen := frozenset(quarter for quarter, frequency in enumerate(frequencies) if frequency > 0):
            latin = html.unescape(scientific[1]).strip() if scientific else ""
            rows.append(NameRow(line=number, scientific=latin, common=" ".join(common.split()), quarters=seen))
    return tuple(rows) if is_chart else None
