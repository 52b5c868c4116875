"""Files of a collection: one of vectors that only grows, and a database that says which of its rows are photos.

Vectors reach the disk before the transaction that names their rows, so a process that is killed at any instant leaves
at most rows without a photo at the end of the file, which the next writer cuts off. Committed rows never change, and
readers keep the state that they opened: a compaction writes a new file.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

import numpy as np

from data.arrays import FloatArray, IntArray
from data.closing import Closing
from data.errors import StoreError
from data.files import writing
from data.sqlite import closed_on_error, storage_errors, transaction, use_write_ahead_log

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS state (generation INTEGER, n_rows INTEGER, dim INTEGER);
CREATE TABLE IF NOT EXISTS photos (
    path BLOB PRIMARY KEY, size INTEGER, mtime_ns INTEGER, row INTEGER, error TEXT
) WITHOUT ROWID;
"""
DATABASE: Final = "photos.sqlite"
_GARBAGE: Final = 0.5  # share of rows without a photo, above which the file is written again
_ROWS_AT_A_TIME: Final = 1 << 14


class StoredPhoto(NamedTuple):
    """A photo as the index knows it: size and time of its file, and its row, or why it cannot be read."""

    path: str
    """Below the folder, with slashes."""
    size: int
    mtime_ns: int
    row: int | None
    error: str | None


class State(NamedTuple):
    """The committed rows of a generation of the file of vectors."""

    generation: int
    n_rows: int
    dim: int


class CollectionFiles(Closing):
    """The files of a collection in a folder of their own; a context manager. One writer at a time.

    Args:
        folder: made if it does not exist.
        dim: length of a vector.

    Raises:
        StoreError: from every method, if the files are damaged.
        MissingRequirement: from every method, if the disk is full or not writable.
    """

    def __init__(self, folder: Path, *, dim: int) -> None:
        self.folder = folder
        with self._errors():
            folder.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(folder / DATABASE, timeout=60, isolation_level=None)
            with closed_on_error(self._db):
                use_write_ahead_log(self._db)
                self._db.executescript(_TABLES)
                self._db.execute("INSERT INTO state SELECT 0, 0, ? WHERE NOT EXISTS (SELECT * FROM state)", (dim,))

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    @property
    def state(self) -> State:
        """The committed state."""
        with self._errors():
            return State(*self._db.execute("SELECT generation, n_rows, dim FROM state").fetchone())

    def vector_file(self, generation: int) -> Path:
        """Return the file of vectors of a generation."""
        return self.folder / f"vectors-{generation}.f32"

    def photos(self) -> list[StoredPhoto]:
        """Return all photos, sorted by path: first by its first folder, then by its second, and so on."""
        with self._errors():
            rows = self._db.execute("SELECT path, size, mtime_ns, row, error FROM photos ORDER BY path").fetchall()
        return [StoredPhoto(_path(key), *rest) for key, *rest in rows]

    def snapshot(self) -> tuple[State, tuple[str, ...], IntArray, dict[str, str]]:
        """Return state, paths and rows of readable photos, sorted by path, and path -> error, of one instant."""
        with self._transaction("BEGIN"):
            state = self.state
            query = "SELECT path FROM photos WHERE row IS NOT NULL ORDER BY path"
            paths = tuple(_path(key) for (key,) in self._db.execute(query))
            numbers = self._db.execute("SELECT row FROM photos WHERE row IS NOT NULL ORDER BY path")
            rows: IntArray = np.fromiter((row for (row,) in numbers), dtype=np.intp, count=len(paths))
            failed = self._db.execute("SELECT path, error FROM photos WHERE error IS NOT NULL ORDER BY path")
            return state, paths, rows, {_path(key): error for key, error in failed}

    def recover(self) -> None:
        """Cut off the rows that a killed writer did not commit; for the writer."""
        state = self.state
        file = self.vector_file(state.generation)
        size = state.n_rows * state.dim * 4
        with self._errors():
            with file.open("ab") as out:
                if out.tell() < size:
                    raise StoreError(f"{file} lacks vectors")
                out.truncate(size)
            for other in self.folder.glob("vectors-*.f32"):
                if other != file:
                    other.unlink(missing_ok=True)

    def add(self, photos: Sequence[StoredPhoto], vectors: FloatArray) -> None:
        """Add or replace photos in one commit; the readable ones get new rows, in their order.

        Args:
            photos: readable where `error` is None; their `row` is ignored.
            vectors: `(n, dim)` float32, of the readable ones.
        """
        state = self.state
        with self._errors():
            with self.vector_file(state.generation).open("ab") as out:
                out.write(np.ascontiguousarray(vectors, dtype="<f4").tobytes())
                out.flush()
                os.fsync(out.fileno())
            numbers = iter(range(state.n_rows, state.n_rows + len(vectors)))
            rows = [
                (
                    sort_key(each.path),
                    each.size,
                    each.mtime_ns,
                    next(numbers) if each.error is None else None,
                    each.error,
                )
                for each in photos
            ]
            with self._transaction("BEGIN IMMEDIATE"):
                self._db.executemany("INSERT OR REPLACE INTO photos VALUES (?, ?, ?, ?, ?)", rows)
                self._db.execute("UPDATE state SET n_rows = ?", (state.n_rows + len(vectors),))

    def remove(self, paths: Iterable[str]) -> None:
        """Remove photos in one commit; their rows stay in the file until it is compacted."""
        with self._transaction("BEGIN IMMEDIATE"):
            self._db.executemany("DELETE FROM photos WHERE path = ?", ((sort_key(path),) for path in paths))

    def compact(self) -> None:
        """Write the vectors again in the order of the photos if most rows are without a photo."""
        state, kept, rows, _ = self.snapshot()
        if state.n_rows - len(kept) <= _GARBAGE * state.n_rows:
            return
        old, new = self.vector_file(state.generation), self.vector_file(state.generation + 1)
        with self._errors():
            with new.open("wb") as out:
                if len(rows):
                    vectors = np.memmap(old, dtype="<f4", mode="r", shape=(state.n_rows, state.dim))
                    for first in range(0, len(rows), _ROWS_AT_A_TIME):
                        out.write(vectors[rows[first : first + _ROWS_AT_A_TIME]].tobytes())
                out.flush()
                os.fsync(out.fileno())
            with self._transaction("BEGIN IMMEDIATE"):
                self._db.executemany(
                    "UPDATE photos SET row = ? WHERE path = ?",
                    ((i, sort_key(path)) for i, path in enumerate(kept)),
                )
                self._db.execute("UPDATE state SET generation = generation + 1, n_rows = ?", (len(kept),))
            old.unlink(missing_ok=True)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        with self._errors(), transaction(self._db, begin):
            yield

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            with storage_errors(self.folder), writing(self.folder):
                yield
        except StoreError as error:
            raise StoreError(
                f"The index of photos in {self.folder} is damaged: {error.__cause__ or error}.",
                hint=f"Delete the folder {self.folder}. It holds no photos; they are indexed again.",
            ) from error


def sort_key(path: str) -> bytes:
    """Return the bytes of a path so that they sort as its parts do: `a/b` before `a.b/c`."""
    return os.fsencode(path).replace(b"/", b"\0")


def _path(key: bytes) -> str:
    return os.fsdecode(key.replace(b"\0", b"/"))


_QUOTED = re.compile(r"[\s%]")


def id_of_path(path: str) -> str:
    """Return the id of a path below a folder, with white space and the percent sign quoted as in web addresses.

    Different paths have different ids.

    Example:
        >>> id_of_path("owls/a b.jpg"), id_of_path("owls/a%20b.jpg")
        ('owls/a%20b.jpg', 'owls/a%2520b.jpg')
    """
    return _QUOTED.sub(lambda found: quote(found[0]), path)


def path_of_id(image_id: str) -> str:
    """Return the path with that id.

    Example:
        >>> path_of_id("owls/a%2520b.jpg")
        'owls/a%20b.jpg'
    """
    return unquote(image_id) if "%" in image_id else image_id
