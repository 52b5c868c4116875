"""The species of a table of names, for builds."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from data.errors import BadInput
from data.records import LeftOut, Taxon
from data.words import plural
from kb import reasons
from kb.checklist.name_files import NameRow, common_names_in
from kb.checklist.names import parse_name, without_authorship
from kb.checklist.reconcile import MatchedName, Reconciler, UnmatchedName
from kb.checklist.selection import limits_of, misspelt_genus, own_taxon
from kb.checklist.species_lists import read_list

if TYPE_CHECKING:
    from data.contracts import Checklist

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class NameList:
    """The species of a table of names, and the rows without one."""

    taxa: tuple[Taxon, ...]
    left_out: tuple[LeftOut, ...] = ()


def read_names(path: Path | str, checklist: Checklist, *, may_be_empty: bool = False) -> NameList:
    """Return the species of a table of names, in its order, each once, by the rules of the `Reconciler`.

    The file is any list that `read_list` reads. Ranks, `common_name_de` (any language) and `synonyms` are optional, as
    in a checklist. A row that is not in the checklist makes a taxon of its own if it has a scientific name and a class,
    order, family or common name (so that frogs can be built from a table); otherwise it is left out as "not in the
    checklist". Such a name may be one word ("Pikachu"), unless it is or looks like a genus of the checklist, or is the
    genus of another row.

    Raises:
        BadInput: with the line number, if the table is not readable or has no names; or if none is of a species,
            unless `may_be_empty`.
    """
    taxa: dict[str, Taxon] = {}
    unmatched: list[LeftOut] = []
    reconciler = Reconciler(checklist)
    rows = read_list(Path(path)).rows
    genera = {row.scientific.split(" ")[0] for row in rows if " " in row.scientific}
    partial = []
    for row in rows:
        found = _matched(row, reconciler)
        if isinstance(found, MatchedName) and found.is_partial:
            partial.append(f"{found.name} as {found.taxon.scientific_name}")
        species = _species_of(row, found, checklist, genera)
        if isinstance(species, Taxon):
            taxa.setdefault(species.taxon_id, species)
        else:
            unmatched.append(species)
    if partial:
        what = f"{plural(len(partial), 'name')} matched without a bracket or third word"
        _log.warning("%s: %s: %s%s", path, what, ", ".join(partial[:3]), ", ..." if len(partial) > 3 else "")
    if not taxa and not may_be_empty:
        first = unmatched[0].detail
        hint = " ".join(filter(None, (first if first.endswith("?") else f"{first}.", limits_of(checklist))))
        raise BadInput(f"{path}: none of the names are in {checklist.name}.", hint=hint)
    return NameList(taxa=tuple(taxa.values()), left_out=tuple(unmatched))


def names_in(path: Path) -> list[str]:
    """Return the scientific name in each row of such a table, or else the common name, with the same errors."""
    return list(dict.fromkeys(_plain(row.scientific) or row.names[0] for row in read_list(path).rows))


def _matched(row: NameRow, reconciler: Reconciler) -> MatchedName | UnmatchedName:
    """Match a row; of several taxa with its name the one below a taxon of the row, and none of another class."""
    below = [f"{above}: {row.scientific}" for above in row.above.values() if row.scientific]
    found = reconciler.row([*row.names, *below])
    if isinstance(found, MatchedName) and (given := row.above.get("class")):
        # A butterfly may share its common name with a bird.
        return found if found.taxon.lineage.get("class", given) == given else UnmatchedName(reason="unknown")
    return found


def _species_of(
    row: NameRow, found: MatchedName | UnmatchedName, checklist: Checklist, genera: set[str]
) -> Taxon | LeftOut:
    """Return the species of a row, of the checklist or its own, or the reason that it is left out."""
    name, line = row.names[0], f"line {row.line}"
    if isinstance(found, MatchedName) and found.kind != "everyday name":
        return found.taxon.with_names(row.by_language)
    if isinstance(found, UnmatchedName) and found.reason != "unknown":
        reason = reasons.SEVERAL_TAXA if found.suggestions else reasons.NOT_A_SPECIES
        return LeftOut(name=name, reason=reason, detail=f"{line}: {', '.join(found.suggestions) or found.reason}")
    is_genus = name in {*genera, *row.above.values()} or misspelt_genus(checklist, name) is not None
    if (own := _own(row, may_be_one_word=not is_genus)) is not None:
        return own
    if isinstance(found, MatchedName):  # beside a scientific name it may be a frog's
        return found.taxon.with_names(row.by_language)
    nearest = ", ".join(checklist.suggest(name, 3))
    detail = line + (f"; did you mean {nearest}?" if nearest else "")
    return LeftOut(name=name, reason=reasons.NOT_IN_CHECKLIST, detail=detail)


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


def _plain(name: str) -> str:
    """Return a scientific name without its author, unless one word is left of several: `Red Fox` names no `Red`."""
    plain = without_authorship(name) if " " in name else name
    return plain if " " in plain or " " not in name else ""
