"""The species of a table of names, for builds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from data.errors import BadInput
from data.records import LeftOut, Taxon
from kb import reasons
from kb.checklist.name_files import (
    columns_of,
    common_names_in,
    read_names_file,
    scientific_name_in,
    synonyms_in,
    table_rows,
)
from kb.checklist.names import fold, without_authorship
from kb.checklist.selection import RANKS_ABOVE, choices, limits_of, misspelt_genus, own_taxon, taxa_named
from kb.checklist.stored.formats import SYNONYMS, language_of

if TYPE_CHECKING:
    from data.contracts import Checklist


MOST_CHOICES: Final = 8  # of an ambiguous name, in a report


@dataclass(frozen=True, slots=True, kw_only=True)
class NameList:
    """The species of a table of names, and the unmatched rows."""

    taxa: tuple[Taxon, ...]
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A row of a table of names."""

    line: int
    scientific: str = ""
    common_names: tuple[str, ...] = ()
    above: Mapping[str, str] = field(default_factory=dict)
    """Rank -> name of the taxon above."""
    by_language: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    synonyms: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names to look up, the scientific one first."""
        return [name for name in (self.scientific, *self.common_names) if name]


def read_names(path: Path | str, checklist: Checklist, *, may_be_empty: bool = False) -> NameList:
    """Return the species of a table of names, in its order, each once.

    The table is CSV (comma, semicolon or tab) with a column `scientific_name` or `common_name` or both, in any case and
    order, or a plain list with one name per line; lines that begin with `#` and empty lines are skipped. Ranks,
    `common_name_de` (any language) and `synonyms` are optional, as in a checklist. The
    scientific name is looked up first. A row that is not in the checklist makes a taxon of its own if it has a
    scientific name and a class, order, family or common name (so that frogs can be built from a table); otherwise it
    is left out as "not in the checklist". Such a name may be one word ("Pikachu"), unless it is or looks like a genus
    of the checklist, or is the genus of another row.

    Raises:
        BadInput: with the line number, if the table is not readable or has no names; or if none is of a species,
            unless `may_be_empty`.
    """
    taxa: dict[str, Taxon] = {}
    unmatched: list[LeftOut] = []
    rows = list(_rows(Path(path)))
    genera = {row.scientific.split(" ")[0] for row in rows if " " in row.scientific}
    for row in rows:
        found = _species_of_row(row, checklist, genera)
        if isinstance(found, Taxon):
            taxa.setdefault(found.taxon_id, found)
        else:
            unmatched.append(found)
    if not taxa and not may_be_empty:
        first = unmatched[0].detail if unmatched else ""
        first = f"{first}." if first and not first.endswith(("?", ".")) else first
        hint = " ".join(filter(None, (first, limits_of(checklist)))) if unmatched else None
        raise BadInput(f"{path}: none of the names are in {checklist.name}.", hint=hint)
    return NameList(taxa=tuple(taxa.values()), left_out=tuple(unmatched))


def names_in(path: Path) -> list[str]:
    """Return the scientific name in each row of such a table, or else the common name.

    Raises:
        BadInput: with the line number, if the table is not readable or has no names.
    """
    return list(dict.fromkeys(row.names[0] for row in _rows(path)))


def unused_columns(path: Path) -> list[str]:
    """Return the headings of such a table that `read_names` does not read; empty for a plain list.

    Raises:
        BadInput: if the table is not readable.
    """
    heading = next((cells for _, cells in table_rows(read_names_file(path), path)), [])
    columns = columns_of(heading)
    if not _names(columns):
        return []
    used = {*map(columns.get, ("scientific", "epithet", "common")), *_by_heading(heading, RANKS_ABOVE).values()}
    used |= {*_by_heading(heading, SYNONYMS).values(), *_languages(heading, columns)}
    return [cell for i, cell in enumerate(heading) if cell and i not in used]


def _species_of_row(row: _Row, checklist: Checklist, genera: set[str]) -> Taxon | LeftOut:
    """Return the species of a row, of the checklist or its own, or the reason that it is left out."""
    name, line = row.names[0], f"line {row.line}"
    listed = [taxon for each in row.names for taxon in _listed(checklist, each, row)]
    found = next((taxon for taxon in listed if taxon.rank == "species"), None)
    if found is not None:
        return found.with_names(row.by_language)
    if several := next((taxa for each in row.names if len(taxa := _named(checklist, each, row)) > 1), None):
        detail = f"{line}: {', '.join(choices(several[:MOST_CHOICES]))}"
        return LeftOut(name=name, reason=reasons.SEVERAL_TAXA, detail=detail)
    if lower := next((taxon for taxon in listed if "species" in taxon.lineage), None):
        detail = f"{line}: a {lower.rank} of {lower.lineage['species']}"
        return LeftOut(name=name, reason=reasons.NOT_A_SPECIES, detail=detail)
    is_genus = name in genera or misspelt_genus(checklist, name) is not None
    if (own := _own(row, may_be_one_word=not listed and not is_genus)) is not None:
        return own
    nearest = ", ".join(checklist.suggest(name, 3))
    detail = line + (f"; did you mean {nearest}?" if nearest else "")
    return LeftOut(name=name, reason=reasons.NOT_IN_CHECKLIST, detail=detail)


def _listed(checklist: Checklist, name: str, row: _Row) -> list[Taxon]:
    """Return the taxon with a name, or of several the one in the higher taxa of the row; none of another class."""
    named = _named(checklist, name, row)
    if len(named) == 1:  # a butterfly may share its common name with a bird
        (found,) = named
        is_other = "class" in row.above and found.lineage.get("class", row.above["class"]) != row.above["class"]
        return [] if is_other else [found]
    fits = [
        taxon
        for taxon in (named if row.above else ())
        if all(taxon.lineage.get(rank, above) == above for rank, above in row.above.items())
    ]
    return fits if len(fits) == 1 else []


def _named(checklist: Checklist, name: str, row: _Row) -> list[Taxon]:
    """Return the taxa with a name of a row; an everyday name counts alone: beside another it may be a frog's."""
    if len(row.names) == 1:
        return taxa_named(checklist, name)
    found = checklist.find(name)
    return checklist.homonyms(name) if found is None else [found]


def _own(row: _Row, *, may_be_one_word: bool) -> Taxon | None:
    """Return a species outside the checklist, or None if the row has too little information."""
    common_names = tuple(dict.fromkeys((*row.common_names, *row.by_language.get("en", ()))))
    if not (row.above or common_names or row.by_language):
        return None
    try:
        name = without_authorship(row.scientific) if " " in row.scientific else row.scientific
        made = own_taxon(name, common_names=common_names, lineage=row.above, may_be_one_word=may_be_one_word)
    except BadInput:
        return None
    return replace(made, synonyms=row.synonyms, names_by_language=row.by_language)


def _rows(path: Path) -> Iterator[_Row]:
    rows = table_rows(read_names_file(path), path)
    if not rows:
        raise BadInput(f"{path}: expected names of species, got an empty table.")
    (first, heading), *body = rows
    columns = columns_of(heading)
    is_plain = not _names(columns)
    if is_plain:
        if len(heading) > 1:
            expected = "expected a column scientific_name or common_name"
            raise BadInput(f"{path}: line {first}: {expected}, got {', '.join(heading)}.")
        heading, columns, body = [], {"scientific": 0}, rows
    ranks, synonyms = _by_heading(heading, RANKS_ABOVE), _by_heading(heading, SYNONYMS)
    languages = _languages(heading, columns)
    for number, cells in body:
        if is_plain and len(cells) > 1:
            raise BadInput(f"{path}: line {number}: expected one name per line, got {len(cells)} columns.")
        cell = dict(enumerate(cells)).get
        by_language: dict[str, tuple[str, ...]] = {}
        for i, language in languages.items():
            if names := common_names_in(cell(i, "")):
                by_language[language] = (*by_language.get(language, ()), *names)
        row = _Row(
            line=number,
            scientific=scientific_name_in(cells, columns),
            common_names=common_names_in(cell(columns.get("common", -1), "")),
            above={rank: cells[i] for rank, i in ranks.items() if cell(i)},
            by_language=by_language,
            synonyms=tuple(name for i in synonyms.values() for name in synonyms_in(cell(i, ""))),
        )
        if not row.names:
            raise BadInput(f"{path}: line {number}: expected a name, got an empty cell.")
        yield row


def _names(columns: Mapping[str, int]) -> bool:
    """Return whether a table has a column of names, or columns of genera and epithets."""
    return bool({"scientific", "common"} & set(columns)) or {"genus", "epithet"} <= set(columns)


def _by_heading(heading: Sequence[str], wanted: Sequence[str]) -> dict[str, int]:
    """Return known heading -> its position."""
    folded = [fold(cell) for cell in heading]
    return {name: folded.index(name) for name in wanted if name in folded}


def _languages(heading: Sequence[str], columns: Mapping[str, int]) -> dict[int, str]:
    """Return position -> language of the columns of common names that state one."""
    taken = {columns.get("scientific"), columns.get("common")}
    return {i: language for i, cell in enumerate(heading) if i not in taken and (language := language_of(cell))}
