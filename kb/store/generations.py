"""Generations: folders with the published vectors, each a Chroma and the matrices read from it.

    vectors/NAME/chroma/                absent if the knowledge base has a Chroma server
                 COLLECTION.npy         its vectors, which recognition maps and scores as a whole
                 rows-HASH.json         ids and species of the rows of matrices
    kept/                               second names of the matrices with anchors that came without a photo

A published folder is never written. A writer changes the ledger in the block of `publishing`, which fills a private
copy of the last generation, renames it, and commits the ledger's transaction with its name and the checksums of its
files. So a reader sees all of a change or nothing, and a process that is killed leaves the ledger as it was, with the
vectors that it had encoded. Readers lock the folder that they opened, and writers delete the others once the commit is
on the disk.

Chroma maps index files unchecked, and changes `chroma.sqlite3` as it opens it. So a reader opens a private folder
with a copy of that file and links to the others, after a look at the checksums; a writer copies the indices that it
changes and links the others. Chroma and the matrices restore each other, and what is lost with both is encoded again.
Vectors of anchors without a photo cannot be: their matrices have a second name outside of the generation.

A Chroma server is changed in place, and readers take only candidates from it: ids and scores are those of the matrices.
The ledger names the server that holds all rows, and its collections bear the generation's name. Both names are deleted
before a change; the server's is set in its transaction.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from threading import Lock

import numpy as np

from data.arrays import FloatArray, IntArray
from data.batches import grouped
from data.contracts import VectorTable
from data.errors import FieldmarkError, SourceUnavailable, StoreError
from data.files import PART, Closing, file_checksum, sha256_hex, user_folder, write_atomic, writer_lock, writing
from kb.store.chroma import PAGE, Chroma, Row, index_folders, n_slots, tidy
from kb.store.layout import (
    CollectionKind,
    KnowledgeBaseInfo,
    Layout,
    collection_names,
    keep_info,
    subject_kind,
    write_info,
)
from kb.store.ledger import Ledger
from kb.store.rows import Subject, items_of, row_id, subject_id, subject_of, texts_of

FILES = "files of the generation"
"""Fact with the checksum of each file, the matrix and rows of each collection, and the lost collections."""
BARE = "anchors without a photo"
"""Fact of a knowledge base that has some."""
SERVER = "chroma server"
"""Fact with the address of the server that holds all rows; absent while they are being written."""
GROUP = 1_000  # subjects written at a time
MOST_SLOTS = 1.3  # of the index files for each row
_CHROMA = "chroma/"
_HEADERS = Lock()
"""For NumPy, which parses headers as Python source: on CPython 3.11 two threads doing so at once can fail."""


class Generation(Closing):
    """A published generation, locked until `close`; without files if it is missing, damaged or replaced by now."""

    def __init__(self, layout: Layout, ledger: Ledger) -> None:
        self.name = ledger.generation()
        self.folder, self._kept = layout.vectors / self.name, layout.kept
        fact = ledger.fact(FILES)
        known = json.loads(fact or '{"files": {}, "tables": {}, "lost": []}')
        self.files: Mapping[str, str] = known["files"]
        """File -> checksum."""
        self.lost: Sequence[str] = known["lost"]
        """The collections whose vectors were lost when it was published."""
        self._is_known = fact is not None or (not self.name and next(ledger.items(), None) is None)
        self._tables: Mapping[str, tuple[str, str]] = known["tables"]
        self._lock = _locked(self.folder, is_shared=True)
        self.is_held = self._lock is not None
        """Whether its folder exists and stays until `close`."""

    def close(self) -> None:
        """Let the next writer delete it."""
        if self._lock is not None:
            os.close(self._lock)
        self._lock = None

    def table(self, name: str) -> VectorTable | None:
        """Return the rows of a collection with their matrix mapped, or None if they are missing or damaged."""
        if self._is_known and name not in (*self._tables, *self.lost):
            return VectorTable(ids=(), owners=np.zeros(0, np.intp), vectors=np.zeros((0, 1), np.float32))
        try:
            matrix, rows = map(self._whole, self._tables[name])
            with _HEADERS:
                vectors: FloatArray = np.load(matrix, mmap_mode="r", allow_pickle=False)
            ids, owners, _ = _read_rows(rows)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if vectors.ndim != 2 or vectors.dtype != np.float32 or not vectors.shape[0] == len(ids) == owners.shape[0]:
            return None
        return VectorTable(ids=ids, owners=owners, vectors=vectors)

    def rows(self, name: str, kind: CollectionKind) -> dict[str, FloatArray] | None:
        """Return id in Chroma -> vector of `table`."""
        if (table := self.table(name)) is None:
            return None
        _, _, subjects = _read_rows(self._whole(self._tables[name][1])) if table.ids else ((), table.owners, ())
        keys = (row_id(subjects[owner], kind, item) for owner, item in zip(table.owners, table.ids, strict=True))
        return dict(zip(keys, table.vectors, strict=True))

    def link_matrix(self, name: str, to: Path) -> bool:
        """Make another name for the matrix of a collection; False if it is missing or damaged, or links are."""
        try:
            to.hardlink_to(self._whole(self._tables[name][0]))
        except (OSError, KeyError):
            return False
        return True

    def has_chroma(self) -> bool:
        """Return whether it holds an undamaged Chroma."""
        try:
            found = [self._whole(file) for file in self.files if file.startswith(_CHROMA)]
        except OSError:
            return False
        return bool(found)

    def copy_chroma(self, to: Path, link: Callable[[Path, Path], None], changing: Container[str] | None = None) -> None:
        """Copy its Chroma to a new folder, and link the indices of collections that are not `changing` (None: all)."""
        copied = None if changing is None else index_folders(self.folder / _CHROMA, changing)
        for file in (file for file in self.files if file.startswith(_CHROMA)):
            source, target = self.folder / file, to / file.removeprefix(_CHROMA)
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.suffix != ".sqlite3" and source.parent.name not in (copied or ()):
                with suppress(OSError):  # a system without links
                    link(target, source.absolute())
                    continue
            with writing(target):
                shutil.copyfile(source, target)

    def keep(self, names: Iterable[str]) -> None:
        """Give the files of some collections a second name, under which they outlive all generations."""
        wanted = {file for name in names if name in self._tables for file in self._tables[name]}
        for file in wanted:
            with suppress(OSError):  # lost, which `kb verify` reports
                source, target = self._whole(file), self._kept / file
                if source == target or (target.exists() and target.samefile(source)):
                    continue
                self._kept.mkdir(exist_ok=True)
                (new := self._kept / f"{PART}{file}").unlink(missing_ok=True)
                try:
                    new.hardlink_to(source)
                except OSError:  # a system without links
                    shutil.copyfile(source, new)
                new.replace(target)
        for path in self._kept.glob("*"):
            if path.name not in wanted:
                path.unlink(missing_ok=True)

    def _whole(self, file: str) -> Path:
        """Return the path of a file, by its second name if need be.

        Raises:
            OSError: if it is missing or damaged.
        """
        for path in (self.folder / file, self._kept / file):
            with suppress(OSError, ValueError):
                if file_checksum(path) == self.files[file]:
                    return path
        raise OSError


@contextmanager
def private_folder() -> Iterator[Path]:
    """Give a folder that is deleted at the end; that of a process that was ended goes with the next one.

    Raises:
        MissingRequirement: if the user's folder cannot be written.
    """
    home = user_folder() / "opened"
    for lock in home.glob("*.lock"):
        with suppress(FieldmarkError), writer_lock(lock):
            shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
            lock.unlink(missing_ok=True)
    folder = home / secrets.token_hex(8)
    with writer_lock(folder.with_suffix(".lock"), wait_s=1):
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            folder.with_suffix(".lock").unlink(missing_ok=True)


def _locked(folder: Path, *, is_shared: bool) -> int | None:
    """Return the handle of a locked folder, which closing unlocks; None if it is missing or locked by another process.

    Where the system or the disk has no locks, the folder is only opened.
    """
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        import fcntl

        fcntl.flock(handle, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        if folder.exists():  # else it was deleted between opening and locking
            return handle
    except BlockingIOError:
        pass
    except (ImportError, OSError):
        return handle
    os.close(handle)
    return None


@lru_cache(maxsize=8)  # the names of the files are hashes of their contents
def _read_rows(path: Path) -> tuple[tuple[str, ...], IntArray, tuple[str, ...]]:
    """Return the item ids, the positions of their subjects, and the ids of all subjects."""
    index = json.loads(path.read_bytes())
    owners: IntArray = np.asarray(index["owners"], dtype=np.intp)
    owners.flags.writeable = False
    return tuple(index["ids"]), owners, tuple(index["subjects"])


def generation_of(layout: Layout, ledger: Ledger) -> Generation:
    """Return the generation of a reader's ledger, which is held in the same state."""
    tried = set[str]()
    while True:
        ledger.hold()
        found = Generation(layout, ledger)
        if found.is_held or found.name in tried:  # lost, not replaced meanwhile
            return found
        tried.add(found.name)
        found.close()


def whole_table(layout: Layout, ledger: Ledger, name: str) -> VectorTable:
    """Return the rows of a collection of the present generation; for the holder of the writer's lock.

    Raises:
        StoreError: if they are missing or damaged.
    """
    with Generation(layout, ledger) as held:
        if (table := held.table(name)) is None:
            raise StoreError(f"The vectors of {name} are missing or damaged", hint="Run kb verify.")
        return table


def counts(ledger: Ledger) -> dict[str, int]:
    """Return kind of collection -> number of rows of each collection of this kind."""
    found: dict[str, int] = {}
    for _, held in ledger.items():
        for kind, items in held.items():
            found[kind] = found.get(kind, 0) + len(items)
    return found


def lost_collections(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger) -> list[str]:
    """Return the collections whose vectors are gone with both Chroma and their matrix, and must be encoded again."""
    with Generation(layout, ledger) as held:
        return _lost(info, ledger, held, _damaged(info, held, counts(ledger)))


def _lost(info: KnowledgeBaseInfo, ledger: Ledger, held: Generation, damaged: Sequence[str]) -> list[str]:
    is_filled = bool(damaged) and _is_filled(info, ledger, held)
    return [name for name in damaged if not is_filled or name in held.lost]


def _damaged(info: KnowledgeBaseInfo, held: Generation, expected: Mapping[str, int]) -> list[str]:
    """Return the collections that should have a matrix and have none."""
    names = collection_names(info).items()
    return [name for name, (kind, _) in names if expected.get(kind) and held.table(name) is None]


def _is_filled(info: KnowledgeBaseInfo, ledger: Ledger, held: Generation) -> bool:
    """Return whether Chroma holds the rows of the last generation."""
    return ledger.fact(SERVER) == info.chroma if info.chroma else held.has_chroma()


@contextmanager
def publishing(
    layout: Layout,
    info: KnowledgeBaseInfo,
    ledger: Ledger,
    *,
    track: Callable[[int], Callable[[int], None]] = lambda _: lambda _: None,
) -> Iterator[list[str]]:
    """Publish the entries that the block changes in the ledger, in one transaction; for the holder of the lock.

    Yields notes on the parts of the last generation that were damaged and are restored. Lost vectors that are not
    encoded again remain lost. `track` gets the number of subjects to write, and returns a function that gets the number
    of those written.

    Raises:
        SourceUnavailable: if the Chroma server does not answer.
        MissingRequirement: if the disk is full.
        StoreError: if the ledger is damaged.
    """
    with Generation(layout, ledger) as held:
        is_filled, expected = _is_filled(info, ledger, held), counts(ledger)
        damaged = _damaged(info, held, expected)
        lost = _lost(info, ledger, held, damaged)
        notes = [f"The matrix of {name} was damaged; filled again from Chroma" for name in damaged if name not in lost]
        if expected and not is_filled:
            notes = ["Chroma was missing, damaged or incomplete; filled again from the matrices"]
        n_rows = sum(expected.get(kind, 0) for kind, _ in collection_names(info).values())
        if is_filled and not (damaged or info.chroma) and n_slots(held.folder / _CHROMA) > MOST_SLOTS * n_rows:
            is_filled = False  # a new one has no deleted rows
        if info.chroma:
            ledger.drop_fact(SERVER)
        ledger.pending.clear()
        try:
            # On the disk before the last generation is deleted.
            with ledger.transaction(is_durable=True):
                keep_info(ledger, info)
                yield notes
                changed = set(ledger.pending)
                if is_changed := bool(changed or notes):
                    ledger.begin_generation()
                    pending = {**(dict(ledger.items()) if lost or not is_filled else {}), **ledger.pending}
                    new = _Publication(
                        layout=layout,
                        info=info,
                        ledger=ledger,
                        last=held,
                        pending=pending,
                        changed=changed,
                        was_lost=lost,
                        is_filled=is_filled,
                    )
                    ledger.set_fact(FILES, new.publish(track))
                    ledger.encoded.drop(changed)
                if info.chroma:
                    ledger.set_fact(SERVER, info.chroma)
                else:
                    ledger.drop_fact(SERVER)
        except BaseException:
            with suppress(OSError, FieldmarkError):
                _remove_others(layout, ledger)
            raise
    if is_changed:
        ledger.shrink()
        _remove_others(layout, ledger)
    with Generation(layout, ledger) as published:
        names = collection_names(info).items() if ledger.fact(BARE) is not None else ()
        published.keep(name for name, (kind, _) in names if kind == "anchors")


@dataclass(kw_only=True)
class _Publication:
    """One new generation, from the last one and the pending subjects, with the items that Chroma may hold of them."""

    layout: Layout
    info: KnowledgeBaseInfo
    ledger: Ledger
    last: Generation
    pending: Mapping[str, Mapping[str, Sequence[str]]]
    changed: Container[str]
    """Pending subjects that the ledger publishes now."""
    was_lost: Sequence[str]
    is_filled: bool
    """Whether Chroma holds the rows of the last generation."""
    lost: set[str] = field(default_factory=set)
    vectors: dict[str, Mapping[str, FloatArray]] = field(default_factory=dict)
    """Collection -> id in Chroma -> vector of the last generation."""

    @property
    def names(self) -> dict[str, tuple[CollectionKind, str]]:
        """Collection -> kind and space."""
        return collection_names(self.info)

    @property
    def part(self) -> Path:
        """The private folder."""
        return self.layout.vectors / f"{PART}{self.ledger.generation()}"

    def publish(self, track: Callable[[int], Callable[[int], None]]) -> str:
        """Write it to a private folder, rename that, and return the fact of its files."""
        part, expected, name_of_state = self.part, counts(self.ledger), self.ledger.generation()
        with writing(part):
            part.mkdir(parents=True)
        if self.is_filled and not self.info.chroma:
            changing = {name for name, (kind, _) in self.names.items() if kind in self._kinds()}
            self.last.copy_chroma(part / _CHROMA, Path.hardlink_to, changing)
        with closing(Chroma(self.info, part / _CHROMA, self.layout.root)) as chroma:
            for name in self.names if self.info.chroma else ():
                chroma.mark(name, "")
            written = self._write(chroma, track(len(self.pending)))
            for name, (kind, _) in self.names.items():
                if not expected.get(kind) or name in self.lost:
                    chroma.drop(name)  # readers would write to the index files of an empty collection
                elif self.info.chroma and chroma.count(name) != expected[kind]:
                    self._mend(chroma, name)
            with writing(part):
                tables = {  # a collection that is read has also written its last rows to its index files
                    name: self._write_table(chroma, name, kind, is_linked=name not in written)
                    for name, (kind, _) in self.names.items()
                    if expected.get(kind) and name not in self.lost
                }
            for name in tables if self.info.chroma else ():
                chroma.mark(name, name_of_state)
        if not self.info.chroma:
            tidy(part / _CHROMA)
        files = {}
        for path in sorted(part.rglob("*")):
            _sync(path)
            if path.is_file():
                files[str(path.relative_to(part))] = file_checksum(path)
        _sync(part)
        part.rename(self.layout.vectors / name_of_state)
        _sync(self.layout.vectors)
        return json.dumps({"files": files, "tables": tables, "lost": sorted(self.lost)})

    def _kinds(self) -> set[str]:
        """Return the kinds of collections in which the pending subjects have or had rows."""
        held = (items for items in self.pending.values())
        new = (entry.items for ids in grouped(self.pending, GROUP) for entry in self.ledger.entries_of(ids).values())
        return {kind for items in chain(held, new) for kind in items}

    def _write(self, chroma: Chroma, report: Callable[[int], None]) -> set[str]:
        """Write the pending subjects, and return the collections that changed."""
        written: set[str] = set()
        for ids in grouped(sorted(self.pending), GROUP):
            subjects = list(map(subject_of, self.ledger.entries_of(ids).values()))
            for name, (kind, _) in self.names.items():
                rows = self._rows(chroma, name, kind, subjects)
                wanted = {row.id for row in rows}
                held = (row_id(key, kind, item) for key in ids for item in self.pending[key].get(kind, ()))
                gone = [row for row in held if row not in wanted]
                chroma.delete(name, gone)
                chroma.upsert(name, rows)
                written |= {name} if rows or gone else set()
            report(len(ids))
        return written

    def _mend(self, chroma: Chroma, name: str) -> None:
        """Write a whole collection to a server that lost rows, or has those of a writer that was killed."""
        kind = self.names[name][0]
        wanted = set[str]()
        for entries in grouped(self.ledger.entries(subject_kind(kind)), GROUP):
            rows = self._rows(chroma, name, kind, list(map(subject_of, entries)))
            chroma.upsert(name, rows)
            wanted.update(row.id for row in rows)
        chroma.delete(name, [row for row in chroma.ids(name) if row not in wanted])

    def _rows(self, chroma: Chroma, name: str, kind: CollectionKind, subjects: Sequence[Subject]) -> list[Row]:
        found = []
        for subject in subjects:
            key, texts = subject_id(subject), texts_of(subject, kind)
            # Those of a subject that is not published now belong to texts that readers do not have yet.
            encoded = self.ledger.encoded.of_subject(name, key) if texts and key in self.changed else {}
            for (row, (document, metadata)), (item, _) in zip(texts.items(), items_of(subject, kind), strict=True):
                vector = encoded[item] if item in encoded else self._published(chroma, name).get(row)
                if vector is None and name in self.was_lost:
                    self.lost.add(name)
                    return []
                if vector is None:
                    missing = f"The vector of {item} of {key} in {name} is missing"
                    raise StoreError(missing, hint=encode_hint(self.layout))
                found.append(Row(id=row, document=document, metadata=metadata, vector=vector))
        return found

    def _published(self, chroma: Chroma, name: str) -> Mapping[str, FloatArray]:
        """Return id in Chroma -> vector of the last generation, from its matrix, else from Chroma."""
        if name not in self.vectors:
            rows = self.last.rows(name, self.names[name][0])
            if rows is None and self.is_filled:
                pages = grouped(list(chroma.ids(name)), PAGE)
                rows = {row: vector for ids in pages for row, vector in chroma.vectors(name, ids).items()}
            self.vectors[name] = rows or {}
        return self.vectors[name]

    def _write_table(self, chroma: Chroma, name: str, kind: CollectionKind, *, is_linked: bool) -> tuple[str, str]:
        """Write the rows of a collection and its matrix, by species; a matrix that did not change is linked."""
        subjects, places = _places(self.ledger, kind)
        matrix = self.part / f"{name}.npy"
        if not (is_linked and self.last.link_matrix(name, matrix)):
            _read_vectors(chroma, name, kind, subjects, places, lambda shape: _new_matrix(matrix, shape))
        index = {"ids": [item for _, item in places], "owners": [owner for owner, _ in places], "subjects": subjects}
        content = json.dumps(index, separators=(",", ":")).encode()
        rows = self.part / f"rows-{sha256_hex(content)[:20]}.json"  # collections of the same rows share it
        if not rows.exists():
            write_atomic(rows, content)
        return matrix.name, rows.name


def read_table(chroma: Chroma, ledger: Ledger, name: str, kind: CollectionKind) -> VectorTable:
    """Return the rows of a collection, read from Chroma into memory.

    Raises:
        StoreError: if Chroma lacks a row.
    """
    subjects, places = _places(ledger, kind)
    vectors = _read_vectors(chroma, name, kind, subjects, places, lambda shape: np.empty(shape, np.float32))
    owners = np.asarray([owner for owner, _ in places], dtype=np.intp)
    return VectorTable(ids=tuple(item for _, item in places), owners=owners, vectors=vectors)


def _places(ledger: Ledger, kind: CollectionKind) -> tuple[list[str], list[tuple[int, str]]]:
    """Return the ids of all subjects, and the position of the subject and the item id of each row, in order."""
    subjects: list[str] = []
    places: list[tuple[int, str]] = []
    for owner, (key, items) in enumerate(ledger.items(subject_kind(kind))):
        subjects.append(key)
        places += [(owner, item) for item in items.get(kind, ())]
    return subjects, places


def _read_vectors(
    chroma: Chroma,
    name: str,
    kind: CollectionKind,
    subjects: Sequence[str],
    places: Sequence[tuple[int, str]],
    new: Callable[[tuple[int, int]], FloatArray],
) -> FloatArray:
    """Read the vectors of the rows in pages into an array that `new` makes."""
    vectors: FloatArray = np.zeros((0, 1), dtype=np.float32)
    for start in range(0, len(places), PAGE):
        ids = [row_id(subjects[owner], kind, item) for owner, item in places[start : start + PAGE]]
        found = chroma.vectors(name, ids)
        if len(found) < len(ids):
            raise StoreError(f"Chroma lacks rows of {name}", hint="Run kb verify to check and repair it.")
        if start == 0:
            vectors = new((len(places), len(found[ids[0]])))
        vectors[start : start + len(ids)] = np.stack([found[row] for row in ids])
    return vectors


def _new_matrix(path: Path, shape: tuple[int, int]) -> FloatArray:
    matrix: FloatArray = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
    if hasattr(os, "posix_fallocate"):  # a write to a map on a full disk kills the process
        with path.open("rb+") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return matrix


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove_others(layout: Layout, ledger: Ledger) -> None:
    """Delete the generations that no reader has open, and what killed writers left."""
    for folder in layout.vectors.iterdir():
        if folder.name == ledger.generation() or folder.is_symlink():
            continue
        if (lock := _locked(folder, is_shared=False)) is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
    for lookups in layout.cache.glob("*"):
        if not lookups.name.startswith(prefix_of_lookups(ledger)):
            lookups.unlink(missing_ok=True)


def prefix_of_lookups(ledger: Ledger) -> str:
    """Return how the names of the look-up files in `cache/` begin that hold for the present species.

    A learnt term changes none of them.
    """
    return f"lookup-{ledger.state_of_species()[:20]}-"


def encode_hint(layout: Layout) -> str:
    """Return the remedy for lost vectors."""
    return f"kb build --only encode --kb {layout.root} encodes its texts and photos again."


def moved_to(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger, to: str | None) -> KnowledgeBaseInfo:
    """Return `kb.toml` with Chroma at `to`, a server's address or empty for the folder; None: where it is.

    It is filled there, and `kb.toml` is changed when all rows are there. Then those of the old server are deleted, if
    it answers. For the holder of the writer's lock.

    Raises:
        ConfigError: if `to` is not an address.
        SourceUnavailable: if the server does not answer; this is found before pages are fetched for hours.
    """
    if to is None or to == info.chroma:
        if info.chroma:
            Chroma(info, layout.vectors, layout.root).close()
        return info
    with Generation(layout, ledger) as held:
        is_damaged = bool(_damaged(info, held, counts(ledger)))
    if is_damaged:
        with publishing(layout, info, ledger):  # from the old place
            pass
    moved = replace(info, chroma=to)
    with publishing(layout, moved, ledger):
        if to:
            Chroma(moved, layout.vectors, layout.root).close()
    write_info(layout.toml, moved)
    if info.chroma:
        with suppress(SourceUnavailable), closing(Chroma(info, layout.vectors, layout.root)) as left:
            for name in left.names:
                left.drop(name)
    return moved
