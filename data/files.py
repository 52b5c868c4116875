"""Files, locks and databases: written in one step or not at all, and closed at the end."""

from __future__ import annotations

import errno
import gzip
import hashlib
import logging
import os
import re
import secrets
import shutil
import sqlite3
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from data.errors import BadInput, FieldmarkError, KnowledgeBaseLocked, MissingRequirement, StoreError

_log = logging.getLogger(__name__)
MAKE_ROOM = "Finished work is kept: make room, and run the same command again."
PART = ".part-"
"""Prefix of the names of unfinished files and folders."""
STARTER = "starter"
"""Name of the knowledge base that ships, and of the folder with it below `user_folder`."""
_GZIP = zlib.MAX_WBITS | 16  # the form of gzip, in one call of C
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def sha256_hex(content: bytes | str) -> str:
    """Return the sha256 of the content (of its UTF-8 form for text) as 64 hex digits."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def sha256_of_file(path: Path) -> str:
    """Return the sha256 of a file, read in blocks."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def user_folder() -> Path:
    """Return the folder of Fieldmark's own files: `FIELDMARK_HOME`, else `~/.local/share/fieldmark`."""
    return Path(os.environ.get("FIELDMARK_HOME") or "~/.local/share/fieldmark").expanduser()


def is_shipped(path: Path) -> bool:
    """Return whether this is the folder of an unpacked shipped knowledge base."""
    return path.parent.name == STARTER and re.fullmatch(r"[0-9a-f]{16}\.kb", path.name) is not None


def place_of(path: Path) -> str:
    """Return the words for a knowledge base in messages: the shipped one, whose folder says nothing, or its path."""
    return "the shipped knowledge" if is_shipped(path) else f"the knowledge base {path}"


def hint_to_allow_writing(path: Path, otherwise: str) -> str:
    """Return the remedy for a path that cannot be written; `otherwise` outside of `user_folder`."""
    if path.absolute().is_relative_to(user_folder().absolute()):
        return "Fieldmark keeps its own files there: allow writing, or set FIELDMARK_HOME to another folder."
    return otherwise


def read_lines(path: Path) -> list[str]:
    r"""Return the lines of a UTF-8 file without line ends (`\n` or `\r\n`) and byte order mark.

    Unlike `str.splitlines`, it does not split at a U+2028 inside a JSON string.

    Raises:
        BadInput: if the file cannot be read or is not UTF-8.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadInput(f"Cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from error
    return text.removesuffix("\n").split("\n") if text else []


def file_state(path: Path) -> tuple[int, int] | None:
    """Return size and modification time in ns, which differ once the file is edited; None for a missing file."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_size, found.st_mtime_ns


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name the file in the error of a full disk, which lacks it where the buffer is written late.

    Raises:
        MissingRequirement: if the block finds the disk full.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise MissingRequirement(f"{path} cannot be written: {error.strerror}", hint=MAKE_ROOM) from error


def write_atomic(path: Path, content: bytes, *, is_durable: bool = True) -> None:
    """Write `content` so that `path` always contains either all of it or the previous content.

    `is_durable` waits for the disk, which also covers power cuts but costs milliseconds per file; not needed for
    content that is checked against its hash and can be fetched again.
    """
    # Not `tempfile`: others could not read its files.
    temporary = path.parent / f"{PART}{secrets.token_hex(8)}"
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as out:
                out.write(content)
                if is_durable:
                    out.flush()
                    os.fsync(out.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def remove_parts(folder: Path) -> None:
    """Delete the partial files that killed writers left in a folder; only for the holder of its writer's lock."""
    for path in folder.glob(f"{PART}*"):
        path.unlink(missing_ok=True)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary file beside `path` that replaces it at the end of the block, once it is on disk.

    For one writer at a time: the name is fixed, so leftovers of a killed process are overwritten.
    """
    temporary = path.with_name(f".{path.name}.new")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Give a hidden folder that becomes `target`, which is empty or missing, at the end of the block.

    Errors leave nothing. It lies alone in one of its own beside `target`, where the block may put scratch files.
    What a killed process left there is deleted first.

    Raises:
        KnowledgeBaseLocked: if another process makes the same folder.
    """
    part = target.parent / f".{target.name}.part"
    lock = part / "lock"
    with writer_lock(lock):
        try:
            for left in set(part.iterdir()) - {lock}:
                shutil.rmtree(left)
            (part / "new").mkdir()
            yield part / "new"
            if target.is_dir():
                target.rmdir()
            (part / "new").rename(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)


class ContentFolder:
    """A folder of contents, each under the sha256 of its plain bytes; `suffix` `.gz` compresses."""

    def __init__(self, root: Path, *, suffix: str = "") -> None:
        self.root = root
        self.suffix = suffix

    def path_of(self, sha256: str) -> Path:
        """Return the path of the content with that hash, stored or not."""
        if len(sha256) != 64 or not set(sha256) <= set("0123456789abcdef"):
            raise ValueError(f"expected 64 hex digits, got {sha256!r}")
        return self.root / sha256[:2] / (sha256 + self.suffix)

    def write(self, content: bytes) -> str:
        """Store the content unless it is already there, and return its sha256."""
        digest = sha256_hex(content)
        if not self.is_whole(digest):
            # mtime 0: equal contents give equal files.
            packed = gzip.compress(content, mtime=0) if self.suffix == ".gz" else content
            write_atomic(self.path_of(digest), packed, is_durable=False)
        return digest

    def is_whole(self, sha256: str) -> bool:
        """Return whether the content of that hash is stored and undamaged."""
        try:
            self.read(sha256)
        except StoreError:
            return False
        return True

    def read(self, sha256: str) -> bytes:
        """Return the content of that hash.

        Raises:
            StoreError: if it is missing or damaged.
        """
        path = self.path_of(sha256)
        try:
            content = path.read_bytes()
            if self.suffix == ".gz":
                content = zlib.decompress(content, _GZIP)
        except FileNotFoundError as error:
            raise StoreError(f"{path} is missing") from error
        except (OSError, zlib.error) as error:
            raise StoreError(f"{path} cannot be read: {error}") from error
        if sha256_hex(content) != sha256:
            raise StoreError(f"{path} is damaged: its content does not match its hash")
        return content

    def __contains__(self, sha256: str) -> bool:
        return self.path_of(sha256).exists()

    def hashes(self) -> list[str]:
        """Return the hashes of all contents, sorted."""
        found = (path.name.removesuffix(self.suffix) for path in self.root.glob("??/*"))
        return sorted(name for name in found if len(name) == 64)

    def remove_leftovers(self) -> None:
        """Delete the partial files of killed writers; only for the holder of the writer lock."""
        for folder in self.root.glob("??"):
            remove_parts(folder)


@contextmanager
def turn(path: Path) -> Iterator[None]:
    """Hold a lock file while the block runs, waiting for other processes."""
    import fcntl  # POSIX; imported here so that reading works elsewhere

    with path.open("a+") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def writer_lock(path: Path, *, wait_s: float = 0.0) -> Iterator[None]:
    """Hold the write lock of a folder; the operating system releases it when the process dies.

    Raises:
        KnowledgeBaseLocked: if another process still holds it after `wait_s` seconds.
        MissingRequirement: if the folder cannot be written.
    """
    import fcntl  # POSIX; imported here so that reading works elsewhere

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = path.open("a+")
    except OSError as error:
        hint = hint_to_allow_writing(path, "Allow writing, or use a copy of the folder.")
        raise MissingRequirement(f"{path.parent} cannot be written: {error.strerror}", hint=hint) from error
    deadline = time.monotonic() + wait_s
    with handle:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() >= deadline:
                    raise KnowledgeBaseLocked(
                        f"Another process is writing to {path.parent}.", hint="Wait for it to end, or stop it."
                    ) from error
                time.sleep(0.1)
        yield


_WORDS = 1 << 17  # 64-bit words a block: one mebibyte


def file_checksum(path: Path) -> str:
    """Return 32 hex digits that change with any damaged byte: the hash of the sums of all blocks and of the length.

    The order of words within a block does not matter; about 5 GB/s, five times as fast as a cryptographic hash.
    """
    import numpy as np  # not at the start of every command

    size = path.stat().st_size
    whole = size // 8 * 8
    digest = hashlib.blake2b(str(size).encode(), digest_size=16)
    if whole:
        words = np.memmap(path, dtype="<u8", mode="r", shape=(whole // 8,))
        digest.update(np.add.reduceat(words, np.arange(0, len(words), _WORDS), dtype=np.uint64).tobytes())
    with path.open("rb") as file:
        file.seek(whole)
        digest.update(file.read(size - whole))
    return digest.hexdigest()


class Closing(ABC):
    """A context manager that closes itself at the end of the block."""

    @abstractmethod
    def close(self) -> None:
        """Close all files and connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


WAIT_S = 60.0
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def use_write_ahead_log(db: sqlite3.Connection) -> None:
    """Switch a database to its write-ahead log, in which readers and a writer do not wait for each other.

    Of several processes that open a new database at once, SQLite refuses all but one, whatever the connection's
    timeout; so this tries again.

    Raises:
        sqlite3.OperationalError: if another process still holds the database after `WAIT_S` seconds.
    """
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _BUSY or time.monotonic() >= deadline:
                raise
        time.sleep(0.02)


class SelfClosing(sqlite3.Connection):
    """A connection of an object that is used like a value: it closes with the last reference to it."""

    def __del__(self) -> None:
        """Close the connection: Python 3.13 warns of one that is left open."""
        self.close()


@contextmanager
def closed_on_error(db: sqlite3.Connection) -> Iterator[None]:
    """Close a database that was just opened if the block, which prepares it, fails."""
    try:
        yield
    except BaseException:
        db.close()
        raise


@contextmanager
def transaction(db: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """Commit all writes of the block together, or none."""
    db.execute(begin)
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # on a full disk SQLite rolls back by itself
            db.execute("ROLLBACK")
        raise


LEAST_FREE_BYTES = 1 << 20
# Primary result codes of SQLite: a disk that is full, cannot be written or read, a file that cannot be opened.
_OF_THE_DISK = frozenset((sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN))


@contextmanager
def storage_errors(folder: Path) -> Iterator[None]:
    """Translate errors of SQLite and Chroma that the block raises.

    Raises:
        MissingRequirement: if the disk is full or the folder is not writable.
        StoreError: for all their other errors.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise storage_error(folder, error, is_disk=is_of_disk(error)) from error
    except BaseException as error:
        # By name: chromadb need not be loaded for this.
        if not (type(error).__module__.startswith("chromadb") or is_panic(error)):
            raise
        raise storage_error(folder, error) from error


def is_panic(error: BaseException) -> bool:
    """Return whether Chroma's Rust core gave up, such as on damaged text; its panics are no `Exception`."""
    return type(error).__name__ == "PanicException"


def is_of_disk(error: sqlite3.Error) -> bool:
    """Return whether the disk is the cause: full, not writable, not readable."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _OF_THE_DISK


def storage_error(folder: Path, error: BaseException, *, is_disk: bool = False) -> FieldmarkError:
    """Return our error for one of a store; `is_disk` where the disk is known to be the cause."""
    if is_disk or is_full(folder):
        hint = "Finished work is saved: fix this and run the same command again."
        if is_full(folder):
            return MissingRequirement(f"{folder}: no space left", hint=hint)
        why = f"it cannot be written or read ({error})"
        return MissingRequirement(f"{folder}: {why}", hint=hint_to_allow_writing(folder, hint))
    _log.debug("%s: %s", folder, error)  # the words of SQLite or Chroma help no user
    return StoreError(f"The store in {folder} cannot be read or changed", hint="Run kb verify to check and repair it.")


def is_full(folder: Path) -> bool:
    """Return whether so little space is left that writing fails; False for a missing folder."""
    try:
        return shutil.disk_usage(folder).free < LEAST_FREE_BYTES
    except OSError:
        return False
