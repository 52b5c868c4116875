"""Rows of an indexed checklist, as files of other programs hold them, and the index written from such rows."""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from data.batches import grouped
from data.errors import BadInput
from data.files import replacing, storage_errors
from kb.checklist.names import fold
from kb.checklist.scientific_names import name_key
from kb.checklist.stored import schema
from kb.checklist.stored.schema import seal

N_AT_A_TIME: Final = 20_000
MAX_NAME: Final = 2_000  # characters; the longest names of crosses and of common names have some hundred
OWN_META: Final = ("name", "edition", "digest", "title", "file", "form", "licence", "below", "problems")
"""What is copied of a checklist's description; the counts are made again."""


class TaxonRow(NamedTuple):
    """A taxon by its position in the tree; `is_shared` tells that another root has a species of that name."""

    n: int
    last: int
    parent: int
    id: str
    name: str
    rank: str
    is_shared: bool


class NameRow(NamedTuple):
    """A name of a taxon."""

    taxon: int
    level: int
    nth: int
    text: str
    language: str


def write_rows(target: Path, meta: Mapping[str, str], taxa: Iterable[TaxonRow], names: Iterable[NameRow]) -> None:
    """Write an index of these rows to `target`, replacing an earlier one at the end.

    Positions, look-up keys and counts are checked or made here, so that the rows need not be trusted.

    Raises:
        BadInput: if the positions are no tree, or a name has no taxon.
        MissingRequirement: if the disk is full or not writable.
    """
    with storage_errors(target.parent), replacing(target) as temporary:
        temporary.unlink(missing_ok=True)
        with closing(sqlite3.connect(temporary, isolation_level=None)) as db:
            for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -32768"):
                db.execute(f"PRAGMA {pragma}")  # a half-written file is never opened
            db.executescript(schema.TABLES)
            db.execute("BEGIN")
            counts = array("i", [0])
            for batch in grouped(_checked_taxa(taxa), N_AT_A_TIME):
                for row in batch:
                    counts.append(counts[-1] + (row.rank == "species"))
                db.executemany(
                    "INSERT INTO taxon VALUES (?, ?, ?, ?, ?, ?, 0)",
                    [(row.n, row.last, row.parent, row.id, row.name, row.rank) for row in batch],
                )
                db.executemany(
                    "INSERT OR IGNORE INTO homonym VALUES (?)", [(row.name,) for row in batch if row.is_shared]
                )
            n_taxa = len(counts) - 1
            for found in grouped(_checked_names(names, n_taxa), N_AT_A_TIME):
                db.executemany("INSERT OR IGNORE INTO name VALUES (?, ?, ?, ?, ?, ?, ?)", found)
            ends = db.execute("SELECT n, last FROM taxon").fetchall()
            if any(last > n_taxa for _, last in ends):
                raise BadInput(f"The last of {n_taxa:,} taxa is missing in the checklist.")
            db.executemany(
                "UPDATE taxon SET n_species = ? WHERE n = ?", ((counts[last] - counts[n - 1], n) for n, last in ends)
            )
            write_meta(db, {key: meta[key] for key in OWN_META if key in meta})
            db.execute("COMMIT")
            db.executescript(schema.INDEXES)
        seal(temporary)


def write_meta(db: sqlite3.Connection, meta: Mapping[str, str]) -> None:
    """Write the description of a checklist, with the numbers of its taxa and names."""
    counts = {
        "n_taxa": db.execute("SELECT count(*) FROM taxon").fetchone()[0],
        "n_species": db.execute("SELECT count(*) FROM taxon WHERE rank = 'species'").fetchone()[0],
        "n_synonyms": db.execute("SELECT count(*) FROM name WHERE level = 2").fetchone()[0],
    }
    languages = db.execute(
        "SELECT language, count(*) FROM name WHERE level >= ? GROUP BY language ORDER BY 2 DESC", (schema.PREFERRED,)
    ).fetchall()
    values = {
        **meta,
        **{key: str(value) for key, value in counts.items()},
        "schema": str(schema.VERSION),
        "languages": json.dumps(dict(languages)),
    }
    db.executemany("INSERT INTO meta VALUES (?, ?)", values.items())


def taxon_rows(db: sqlite3.Connection, first: int = 0, last: int = 2**62) -> Iterator[TaxonRow]:
    """Yield the taxa of an index, or of a part of it, in the order of the tree."""
    columns = "n, last, parent, id, name, rank, name IN (SELECT name FROM homonym)"
    for row in db.execute(f"SELECT {columns} FROM taxon WHERE n BETWEEN ? AND ? ORDER BY n", (first, last)):
        yield TaxonRow._make((*row[:6], bool(row[6])))


def name_rows(db: sqlite3.Connection, first: int = 0, last: int = 2**62) -> Iterator[NameRow]:
    """Yield the names of an index, or of the taxa in a part of it, by taxon."""
    found = "SELECT taxon, level, nth, text, language FROM name WHERE taxon BETWEEN ? AND ? ORDER BY 1, 2, 3"
    yield from map(NameRow._make, db.execute(found, (first, last)))


def _checked_taxa(taxa: Iterable[TaxonRow]) -> Iterator[TaxonRow]:
    above: list[tuple[int, int]] = []  # position and last position of the taxa around the current one
    for expected, row in enumerate(taxa, 1):
        while above and above[-1][1] < row.n:
            above.pop()
        is_inside = not above or row.last <= above[-1][1]
        if row.n != expected or row.parent != (above[-1][0] if above else 0) or not (row.n <= row.last and is_inside):
            raise BadInput(f"Taxon {expected:,} of the checklist is at no place in its tree.")
        if not (0 < len(row.name) <= MAX_NAME and len(row.rank) <= MAX_NAME and len(row.id) <= MAX_NAME):
            raise BadInput(f"Taxon {expected:,} of the checklist has no name, or one that is too long.")
        above.append((row.n, row.last))
        yield row


def _checked_names(names: Iterable[NameRow], n_taxa: int) -> Iterator[tuple[int, int, int, str, str, str, str]]:
    for row in names:
        is_text = 0 < len(row.text) <= MAX_NAME and len(row.language) <= MAX_NAME
        if not (1 <= row.taxon <= n_taxa and 0 <= row.level <= schema.OTHER and is_text):
            raise BadInput(f"The checklist has a name without a taxon: {row.text[:40]!r}.")
        key = name_key(row.text) if row.level < schema.PREFERRED else fold(row.text)
        yield (*row, key, key[::-1])
