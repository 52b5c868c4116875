"""The file of an indexed checklist: its tables, written from rows, and a checksum.

SQLite does not notice a changed letter or number, so the whole file has a checksum.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from data.batches import grouped
from data.errors import BadInput
from data.files import replacing, storage_errors
from kb.checklist.names import fold, name_key

VERSION: Final = 2

TABLES: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE taxon (
    n INTEGER PRIMARY KEY,  -- position in the tree, depth first
    last INT,               -- the last position below it
    parent INT, id TEXT, name TEXT, rank TEXT, n_species INT
);
CREATE TABLE name (
    taxon INT,
    level INT,              -- 0 accepted, 1 provisional, 2 synonym, 3 preferred common name, 4 other common name
    nth INT,
    text TEXT, language TEXT, folded TEXT, reversed TEXT,
    PRIMARY KEY (taxon, level, nth)
) WITHOUT ROWID;
CREATE TABLE homonym (name TEXT PRIMARY KEY) WITHOUT ROWID;  -- species with the same name below different roots
"""
INDEXES: Final = """
CREATE INDEX name_folded ON name (folded);
CREATE INDEX name_reversed ON name (reversed);
"""
LEVELS: Final = {"accepted": 0, "provisional": 1, "synonym": 2}
PREFERRED: Final = 3
OTHER: Final = 4

_AT: Final = 60  # where a SQLite file has a number for its users
_N_BYTES: Final = 4
_BLOCK: Final = 1 << 20
LARGEST_CHECKED: Final = 512 * _BLOCK  # about a second; what knowledge bases keep is smaller
N_AT_A_TIME: Final = 20_000
MAX_NAME: Final = 2_000  # characters; the longest names of crosses and of common names have some hundred
OWN_META: Final = ("name", "edition", "digest", "title", "file", "form", "licence", "problems")
"""What is copied of a checklist's description; the counts are made again."""


class TaxonRow(NamedTuple):
    """A taxon by its position in the tree, depth first."""

    n: int
    parent: int
    id: str
    name: str
    rank: str
    is_shared: bool = False
    """Whether another root has a species of that name."""
    last: int = 0
    """The last position below it, which `write_rows` finds."""


class NameRow(NamedTuple):
    """A name of a taxon."""

    taxon: int
    level: int
    nth: int
    text: str
    language: str


def write_rows(
    target: Path, meta: Callable[[], Mapping[str, str]], taxa: Iterable[TaxonRow], names: Iterable[NameRow]
) -> None:
    """Write an index of these rows to `target`, replacing an earlier one at the end.

    Positions, look-up keys and counts are checked or made here, so that the rows need not be trusted. The description
    is asked for after the last name.

    Raises:
        BadInput: if the positions are no tree, or a name has no taxon.
        MissingRequirement: if the disk is full or not writable.
    """
    with storage_errors(target.parent), replacing(target) as temporary:
        temporary.unlink(missing_ok=True)
        with closing(sqlite3.connect(temporary, isolation_level=None)) as db:
            for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -32768"):
                db.execute(f"PRAGMA {pragma}")  # a half-written file is never opened
            db.executescript(TABLES)
            db.execute("BEGIN")
            counts, ends = array("i", [0]), array("q", [0])  # species up to a position, and its last one below
            for batch in grouped(_checked_taxa(taxa, ends), N_AT_A_TIME):
                for row in batch:
                    counts.append(counts[-1] + (row.rank == "species"))
                db.executemany(
                    "INSERT INTO taxon VALUES (?, 0, ?, ?, ?, ?, 0)",
                    [(row.n, row.parent, row.id, row.name, row.rank) for row in batch],
                )
                db.executemany(
                    "INSERT OR IGNORE INTO homonym VALUES (?)", [(row.name,) for row in batch if row.is_shared]
                )
            n_taxa = len(counts) - 1
            for found in grouped(_checked_names(names, n_taxa), N_AT_A_TIME):
                db.executemany("INSERT OR IGNORE INTO name VALUES (?, ?, ?, ?, ?, ?, ?)", found)
            db.executemany(
                "UPDATE taxon SET last = ?, n_species = ? WHERE n = ?",
                ((ends[n], counts[ends[n]] - counts[n - 1], n) for n in range(1, n_taxa + 1)),
            )
            described = meta()
            _write_meta(db, {key: described[key] for key in OWN_META if key in described})
            db.execute("COMMIT")
            db.executescript(INDEXES)
        seal(temporary)


def _write_meta(db: sqlite3.Connection, meta: Mapping[str, str]) -> None:
    """Write the description of a checklist, with the numbers of its taxa and names."""
    counts = {
        "n_taxa": db.execute("SELECT count(*) FROM taxon").fetchone()[0],
        "n_species": db.execute("SELECT count(*) FROM taxon WHERE rank = 'species'").fetchone()[0],
        "n_synonyms": db.execute("SELECT count(*) FROM name WHERE level = 2").fetchone()[0],
    }
    languages = db.execute(
        "SELECT language, count(*) FROM name WHERE level >= ? GROUP BY language ORDER BY 2 DESC", (PREFERRED,)
    ).fetchall()
    values = {
        **meta,
        **{key: str(value) for key, value in counts.items()},
        "schema": str(VERSION),
        "languages": json.dumps(dict(languages)),
    }
    db.executemany("INSERT INTO meta VALUES (?, ?)", values.items())


def taxon_rows(db: sqlite3.Connection) -> Iterator[TaxonRow]:
    """Yield the taxa of an index in the order of the tree."""
    columns = "n, parent, id, name, rank, name IN (SELECT name FROM homonym), last"
    yield from map(TaxonRow._make, db.execute(f"SELECT {columns} FROM taxon ORDER BY n"))


def name_rows(db: sqlite3.Connection) -> Iterator[NameRow]:
    """Yield the names of an index by taxon."""
    yield from map(NameRow._make, db.execute("SELECT taxon, level, nth, text, language FROM name ORDER BY 1, 2, 3"))


def _checked_taxa(taxa: Iterable[TaxonRow], ends: array[int]) -> Iterator[TaxonRow]:
    """Yield the taxa, each in the one before it or in one around that; append the last positions below them."""
    around: list[int] = []
    for expected, row in enumerate(taxa, 1):
        while around and around[-1] != row.parent:
            ends[around.pop()] = expected - 1
        if row.n != expected or bool(around) != bool(row.parent):
            raise BadInput(f"Taxon {expected:,} of the checklist is at no place in its tree.")
        if not (0 < len(row.name) <= MAX_NAME and len(row.rank) <= MAX_NAME and len(row.id) <= MAX_NAME):
            raise BadInput(f"Taxon {expected:,} of the checklist has no name, or one that is too long.")
        around.append(expected)
        ends.append(expected)
        yield row
    for n in around:
        ends[n] = len(ends) - 1


def _checked_names(names: Iterable[NameRow], n_taxa: int) -> Iterator[tuple[int, int, int, str, str, str, str]]:
    for row in names:
        is_text = 0 < len(row.text) <= MAX_NAME and len(row.language) <= MAX_NAME
        if not (1 <= row.taxon <= n_taxa and 0 <= row.level <= OTHER and is_text):
            raise BadInput(f"The checklist has a name without a taxon: {row.text[:40]!r}.")
        key = name_key(row.text) if row.level < PREFERRED else fold(row.text)
        yield (*row, key, key[::-1])


def seal(path: Path) -> None:
    """Write the checksum of a finished file into it."""
    checksum = _checksum(path)
    with path.open("r+b") as file:
        file.seek(_AT)
        file.write(checksum.to_bytes(_N_BYTES, "big"))


def is_intact(path: Path) -> bool:
    """Return whether a file has its checksum, or none from an earlier version, or is too large to be read whole."""
    if path.stat().st_size > LARGEST_CHECKED:
        return True
    with path.open("rb") as file:
        file.seek(_AT)
        stated = int.from_bytes(file.read(_N_BYTES), "big")
    return stated in (0, _checksum(path))


def _checksum(path: Path) -> int:
    found = 0
    with path.open("rb") as file:
        found = zlib.crc32(file.read(_AT), found)
        file.seek(_AT + _N_BYTES)
        while block := file.read(_BLOCK):
            found = zlib.crc32(block, found)
    return found or 1
