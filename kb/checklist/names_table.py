"""The species of a table of names, for builds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from data.errors import BadInput
from data.records import LeftOut, Taxon
from kb import reasons
from kb.checklist.name_files import IN_LANGUAGES, NamesFile, common_names_in, synonyms_in
from kb.checklist.names import parse_name, without_authorship
from kb.checklist.selection import RANKS_ABOVE, choices, limits_of, misspelt_genus, own_taxon, taxa_named
from kb.checklist.stored.formats import language_of

if TYPE_CHECKING:
    from data.contracts import Checklist


MOST_CHOICES: Final = 8  # of an ambiguous name, in a report


@dataclass(frozen=True, slots=True, kw_only=True)
class NameList:
    """The species of a table of names, the unmatched rows, and guesses, skipped rows and unused columns in words."""

    taxa: tuple[Taxon, ...]
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()


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
        """The names to look up, the scientific one first, also without its author; else those in other languages."""
        found = [*dict.fromkeys(name for name in (self.scientific, self.plain, *self.common_names) if name)]
        return found or [name for names in self.by_language.values() for name in names]

    @property
    def plain(self) -> str:
        """The scientific name without author and year, unless one word is left of several: `Red Fox` names no `Red`."""
        name = without_authorship(self.scientific) if " " in self.scientific else self.scientific
        return name if " " in name or " " not in self.scientific else ""


def read_names(path: Path | str, checklist: Checklist, *, may_be_empty: bool = False) -> NameList:
    """Return the species of a table of names, in its order, each once.

    The table is any that `data.tables` reads, with a column of scientific or common names or both, or a plain list
    with one name per line; lines that begin with `#`, empty lines and rows without a name are skipped. Ranks,
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
    rows = list(_rows(NamesFile(Path(path))))
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
    return list(dict.fromkeys(row.plain or row.names[0] for row in _rows(NamesFile(path))))


def notes_on(path: Path) -> list[str]:
    """Return guesses about such a table, its skipped rows, and its columns that `read_names` does not read.

    Raises:
        BadInput: if the table is not readable.
    """
    file = NamesFile(path)
    for _ in file.rows():
        pass
    return file.notes([*_above(file).values(), *file.columns.get("synonyms", ()), *_languages(file)])


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
    if not (row.above or common_names or row.by_language) or parse_name(row.scientific).rank == "unnamed":
        return None
    try:
        made = own_taxon(row.plain, common_names=common_names, lineage=row.above, may_be_one_word=may_be_one_word)
    except BadInput:
        return None
    return replace(made, synonyms=row.synonyms, names_by_language=row.by_language)


def _rows(file: NamesFile) -> Iterator[_Row]:
    ranks, synonyms, languages = _above(file), file.columns.get("synonyms", ()), _languages(file)
    row = None
    for row in file.rows():
        by_language: dict[str, tuple[str, ...]] = {}
        for column, language in languages.items():
            if names := common_names_in(row.cells[column]):
                by_language[language] = (*by_language.get(language, ()), *names)
        found = _Row(
            line=row.line,
            scientific=row.scientific,
            common_names=common_names_in(row.common),
            above={rank: name for rank, column in ranks.items() if (name := higher_name(row.cells[column]))},
            by_language=by_language,
            synonyms=tuple(name for column in synonyms for name in synonyms_in(row.cells[column])),
        )
        if found.names:
            yield found
    if row is None:
        raise file.table.refused(
            "no row has a name" if file.n_nameless else "expected names of species, got an empty table"
        )


def higher_name(cell: str) -> str:
    """Return the name of a higher taxon in a cell, without a common one: `Paridae (Tits)`, `PASSERIFORMES`."""
    name = cell.partition("(")[0].strip()
    return name.capitalize() if name.isupper() or name.islower() else name


def _above(file: NamesFile) -> dict[str, str]:
    """Return rank -> column of the taxa above."""
    return {rank: columns[0] for rank, columns in file.columns.items() if rank in RANKS_ABOVE}


def _languages(file: NamesFile) -> dict[str, str]:
    """Return column of common names that states a language -> the language."""
    taken = {*file.columns.get("scientific", ()), *file.columns.get("common", ())}
    shown = [name for name in file.table.heading if file.is_table and name not in taken]
    stated = {name: language for name in shown if (language := language_of(name))}
    return stated | {name: meaning for meaning in IN_LANGUAGES for name in file.columns.get(meaning, ())}
