"""The species of a table of names, for builds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from data.errors import BadInput
from data.records import LeftOut, Taxon
from kb import reasons
from kb.checklist.name_files import NameRow, NamesFile, common_names_in
from kb.checklist.names import parse_name, without_authorship
from kb.checklist.selection import RANKS_ABOVE, choices, limits_of, misspelt_genus, own_taxon, taxa_named

if TYPE_CHECKING:
    from data.contracts import Checklist


MOST_CHOICES: Final = 8  # of an ambiguous name, in a report


@dataclass(frozen=True, slots=True, kw_only=True)
class NameList:
    """The species of a table of names, the unmatched rows, and guesses, skipped rows and unused columns in words."""

    taxa: tuple[Taxon, ...]
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()


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
    genera = {row.scientific.split(" ")[0] for row, _ in rows if " " in row.scientific}
    for row, names in rows:
        found = _species_of_row(row, names, checklist, genera)
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
    return list(dict.fromkeys(_plain(row.scientific) or names[0] for row, names in _rows(NamesFile(path))))


def notes_on(path: Path) -> list[str]:
    """Return guesses about such a table, its skipped rows, and its columns that `read_names` does not read.

    Raises:
        BadInput: if the table is not readable.
    """
    file = NamesFile(path)
    for _ in file.rows():
        pass
    used = chain.from_iterable(file.columns.get(meaning, ()) for meaning in (*RANKS_ABOVE, "synonyms"))
    return file.notes([*used, *file.languages])


def _species_of_row(row: NameRow, names: Sequence[str], checklist: Checklist, genera: set[str]) -> Taxon | LeftOut:
    """Return the species of a row, of the checklist or its own, or the reason that it is left out."""
    line = f"line {row.line}"
    named = [_named(checklist, each, is_alone=len(names) == 1) for each in names]
    listed = [taxon for taxa in named for taxon in _fitting(taxa, row.above)]
    found = next((taxon for taxon in listed if taxon.rank == "species"), None)
    if found is not None:
        return found.with_names(row.by_language)
    if several := next((taxa for taxa in named if len(taxa) > 1), None):
        detail = f"{line}: {', '.join(choices(several[:MOST_CHOICES]))}"
        return LeftOut(name=names[0], reason=reasons.SEVERAL_TAXA, detail=detail)
    if lower := next((taxon for taxon in listed if "species" in taxon.lineage), None):
        detail = f"{line}: a {lower.rank} of {lower.lineage['species']}"
        return LeftOut(name=names[0], reason=reasons.NOT_A_SPECIES, detail=detail)
    is_genus = names[0] in genera or misspelt_genus(checklist, names[0]) is not None
    if (own := _own(row, may_be_one_word=not listed and not is_genus)) is not None:
        return own
    nearest = ", ".join(checklist.suggest(names[0], 3))
    detail = line + (f"; did you mean {nearest}?" if nearest else "")
    return LeftOut(name=names[0], reason=reasons.NOT_IN_CHECKLIST, detail=detail)


def _named(checklist: Checklist, name: str, *, is_alone: bool) -> list[Taxon]:
    """Return the taxa with a name of a row; an everyday name counts alone: beside another it may be a frog's."""
    if is_alone:
        return taxa_named(checklist, name)
    found = checklist.find(name)
    return checklist.homonyms(name) if found is None else [found]


def _fitting(named: Sequence[Taxon], above: Mapping[str, str]) -> list[Taxon]:
    """Return the taxon of a name, or of several the one in the higher taxa of the row; none of another class."""
    if len(named) == 1:  # a butterfly may share its common name with a bird
        above = {rank: name for rank, name in above.items() if rank == "class"}
    elif not above:
        return []
    fits = [taxon for taxon in named if all(taxon.lineage.get(rank, name) == name for rank, name in above.items())]
    return fits if len(fits) == 1 else []


def _own(row: NameRow, *, may_be_one_word: bool) -> Taxon | None:
    """Return a species outside the checklist, or None if the row has too little information."""
    common_names = tuple(dict.fromkeys((*common_names_in(row.common), *row.by_language.get("en", ()))))
    if not (row.above or common_names or row.by_language) or parse_name(row.scientific).rank == "unnamed":
        return None
    try:
        made = own_taxon(
            _plain(row.scientific), common_names=common_names, lineage=row.above, may_be_one_word=may_be_one_word
        )
    except BadInput:
        return None
    return replace(made, synonyms=row.synonyms, names_by_language=row.by_language)


def _rows(file: NamesFile) -> Iterator[tuple[NameRow, list[str]]]:
    """Yield the rows with the names to look up, unless they have none.

    The scientific name comes first, also without its author; names in other languages count without one in English.
    """
    row = None
    for row in file.rows():
        english = (row.scientific, _plain(row.scientific), *common_names_in(row.common))
        names = [*dict.fromkeys(filter(None, english))] or [*chain.from_iterable(row.by_language.values())]
        if names:
            yield row, names
    if row is None:
        raise file.table.refused(
            "no row has a name" if file.n_nameless else "expected names of species, got an empty table"
        )


def _plain(name: str) -> str:
    """Return a scientific name without its author, unless one word is left of several: `Red Fox` names no `Red`."""
    plain = without_authorship(name) if " " in name else name
    return plain if " " in plain or " " not in name else ""
