"""Atomic writes, files named by content hash, and a lock that a crash releases."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import secrets
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from data.errors import BadInput, KnowledgeBaseLocked, MissingRequirement, StoreError

MAKE_ROOM = "Finished work is kept: make room, and run the same command again."
_PART = ".part-"
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
    temporary = path.parent / f"{_PART}{secrets.token_hex(8)}"
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
    for path in folder.glob(f"{_PART}*"):
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
