"""Cache of drawings: files by hash, and a row for each drawing of a prompt by a model; none is paid for twice."""

from __future__ import annotations

from pathlib import Path

from data.cache_file import CacheFile
from data.closing import Closing
from data.errors import Refused
from data.files import sha256_hex, sha256_of_file, write_atomic

_SCHEMA = """
CREATE TABLE IF NOT EXISTS drawings (
    key TEXT NOT NULL, place INTEGER NOT NULL, model TEXT NOT NULL, prompt TEXT NOT NULL, sha256 TEXT, refusal TEXT,
    stored_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')), PRIMARY KEY (key, place)) WITHOUT ROWID;
"""


_FIND = "SELECT sha256, refusal FROM drawings WHERE key = ? AND place < ? ORDER BY place"
_PUT = "INSERT OR REPLACE INTO drawings (key, place, model, prompt, sha256, refusal) VALUES (?, ?, ?, ?, ?, ?)"


class DrawingCache(Closing):
    """Drawings in a folder, shared by processes and safe against kills; a context manager, to be closed.

    A row is written after its file is on the disk. A file that was deleted is drawn again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = CacheFile(
            folder / "drawings.sqlite", schema=_SCHEMA, synchronous="FULL", lost="its drawings are made again"
        )

    def get(self, model: str, prompt: str, n: int) -> list[Path]:
        """Return the first `n` drawings of a prompt that are stored, in order, up to the first that is missing.

        Raises:
            Refused: if the model has refused the prompt.
        """
        values = (_key(model, prompt), n)
        rows = self._file.run(lambda db: db.execute(_FIND, values).fetchall())
        found: list[Path] = []
        for sha256, refusal in rows:
            if refusal is not None:
                if found:
                    break  # some were drawn before
                raise Refused(str(refusal))
            path = self._path(str(sha256))
            if not path.is_file() or sha256_of_file(path) != sha256:
                break
            found.append(path)
        return found

    def put(self, model: str, prompt: str, place: int, content: bytes) -> Path:
        """Store a drawing, a PNG file, at its place among those of the prompt, and return its file."""
        path = self._path(sha256_hex(content))
        if not path.is_file() or sha256_of_file(path) != path.stem:
            write_atomic(path, content)
        self._write(model, prompt, place, path.stem, None)
        return path

    def refuse(self, model: str, prompt: str, refusal: str) -> None:
        """Store a refusal: the model would decline again, and may charge again."""
        self._write(model, prompt, 0, None, refusal)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._file.close()

    def _path(self, sha256: str) -> Path:
        return self.folder / sha256[:2] / f"{sha256}.png"

    def _write(self, model: str, prompt: str, place: int, sha256: str | None, refusal: str | None) -> None:
        values = (_key(model, prompt), place, model, prompt, sha256, refusal)
        self._file.run(lambda db: db.execute(_PUT, values))


def _key(model: str, prompt: str) -> str:
    return sha256_hex(f"{model}\n{prompt}")
