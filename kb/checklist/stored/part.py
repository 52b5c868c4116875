"""The part of a checklist that a knowledge base keeps, so that it does without the checklist's file.

A checklist of up to `MAX_TAXA` taxa is kept whole. Of a larger one, the largest taxon of at most that size is kept that
holds all species of the knowledge base, with the taxa above it; or the smallest that does, if all are larger.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from data.contracts import Checklist
from data.errors import StoreError
from data.files import replacing
from data.records import Taxon
from kb.checklist.stored.index_rows import NameRow, TaxonRow, name_rows, taxon_rows, write_rows
from kb.checklist.stored.stored_checklist import StoredChecklist, read_only

MAX_TAXA: Final = 300_000
"""Some 100 MB: the butterflies and moths of the world with their synonyms, or any list of a country."""


def keep(checklist: Checklist, species: Iterable[Taxon], target: Path) -> bool:
    """Write what a knowledge base with these species keeps of its checklist to `target`, or delete an earlier one.

    Return whether anything changed.

    AviList ships with Fieldmark and a wiki has no list, so nothing is kept of them.
    """
    if not isinstance(checklist, StoredChecklist):
        is_there = target.is_file()
        target.unlink(missing_ok=True)
        return is_there
    if checklist.path.absolute() == target.absolute():
        return False
    is_whole = int(checklist.meta["n_taxa"]) <= MAX_TAXA
    first, last = (0, 0) if is_whole else _range_of(checklist, species)
    below = checklist.name_at(first) if first else ""
    with suppress(StoreError):
        if target.is_file():
            with closing(StoredChecklist(target)) as held:
                if held.digest == checklist.digest and held.meta.get("below", "") == below:
                    return False
    if not first:
        with replacing(target) as temporary:
            shutil.copyfile(checklist.path, temporary)
        return True
    with closing(read_only(checklist.path)) as db:
        above = checklist.positions_above(first)[::-1]
        write_rows(
            target,
            {**checklist.meta, "below": below},
            _taxa_of_part(db, above, first, last),
            _names_of_part(db, above, first, last),
        )
    return True


def _range_of(checklist: StoredChecklist, species: Iterable[Taxon]) -> tuple[int, int]:
    """Return the first and last position of the taxon to keep; zeros for the whole checklist."""
    found = [position for taxon in species if (position := checklist.position(taxon))]
    if not found:
        return 0, 0
    chosen = (0, 0)
    for n in [min(found), *checklist.positions_above(min(found))]:
        last = checklist.last_below(n)
        if last < max(found):
            continue
        if chosen != (0, 0) and last - n >= MAX_TAXA:
            break
        chosen = (n, last)
    return chosen


def _taxa_of_part(db: sqlite3.Connection, above: Sequence[int], first: int, last: int) -> Iterator[TaxonRow]:
    """Yield the taxa above a part, then the part, with the positions that they have in it."""
    shift = len(above) + 1 - first
    for n, place in enumerate(above, 1):
        yield from (row._replace(n=n, last=last + shift, parent=n - 1) for row in taxon_rows(db, place, place))
    for row in taxon_rows(db, first, last):
        parent = len(above) if row.n == first else row.parent + shift
        yield row._replace(n=row.n + shift, last=row.last + shift, parent=parent)


def _names_of_part(db: sqlite3.Connection, above: Sequence[int], first: int, last: int) -> Iterator[NameRow]:
    for n, place in enumerate(above, 1):
        yield from (row._replace(taxon=n) for row in name_rows(db, place, place))
    yield from (row._replace(taxon=row.taxon + len(above) + 1 - first) for row in name_rows(db, first, last))
