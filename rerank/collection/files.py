"""Files of a collection: the vectors of its photos in one file, and a table of the photos that names it.

Both are replaced whole, the table last. Readers keep the vectors that they opened.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

import numpy as np

from data.arrays import FloatArray
from data.batches import grouped
from data.errors import StoreError
from data.files import remove_parts, replacing, write_atomic

TABLE: Final = "photos.jsonl"
_ROWS_AT_A_TIME: Final = 1 << 12


class StoredPhoto(NamedTuple):
    """A photo as the index knows it: size and time of its file, and why it cannot be read; its vector when written."""

    path: str
    """Below the folder, with slashes."""
    size: int
    mtime_ns: int
    error: str | None = None
    vector: FloatArray | None = None


class Index(NamedTuple):
    """The photos of a folder, sorted by path: first by its first folder, then by its second, and so on."""

    photos: list[StoredPhoto]
    vectors: FloatArray
    """`(n, dim)` of the readable photos, mapped from disk."""
    mapped: mmap.mmap | None

    def with_vectors(self) -> dict[str, StoredPhoto]:
        """Return path -> photo with its vector."""
        rows = iter(self.vectors)
        found = (each._replace(vector=next(rows)) if each.error is None else each for each in self.photos)
        return {each.path: each for each in found}


def read_index(folder: Path, dim: int) -> Index:
    """Return the index in a folder, without photos if there is none.

    Raises:
        StoreError: if it is damaged.
    """
    problem: Exception | None = None
    for _ in range(2):  # another process may replace the vectors after the table was read
        if not (folder / TABLE).exists():
            return Index([], np.empty((0, dim), dtype=np.float32), None)
        try:
            with (folder / TABLE).open("rb") as table:
                name = json.loads(next(table))
                photos = [StoredPhoto(*json.loads(line)) for line in table]
            vectors, mapped = _mapped(folder / str(name), sum(photo.error is None for photo in photos), dim)
        except (OSError, ValueError, TypeError, StopIteration) as error:
            problem = error
            continue
        return Index(photos, vectors, mapped)
    raise StoreError(
        f"The index of photos in {folder} is damaged: {problem}.",
        hint=f"Delete the folder {folder}. It holds no photos; they are indexed again.",
    )


def write_index(folder: Path, photos: Iterable[StoredPhoto]) -> None:
    """Replace the index in a folder; for its only writer.

    Raises:
        MissingRequirement: if the disk is full.
    """
    photos = sorted(photos, key=lambda photo: sort_key(photo.path))
    file = folder / f"vectors-{secrets.token_hex(8)}.f32"
    with replacing(file) as temporary, temporary.open("wb") as out:
        for some in grouped((photo.vector for photo in photos if photo.vector is not None), _ROWS_AT_A_TIME):
            out.write(np.stack(some).astype("<f4").tobytes())
    lines = [file.name, *(photo[:4] for photo in photos)]
    write_atomic(folder / TABLE, "".join(f"{json.dumps(line)}\n" for line in lines).encode())
    remove_parts(folder)
    for other in folder.glob("*vectors-*.f32*"):
        if other != file:
            other.unlink(missing_ok=True)


def _mapped(file: Path, n: int, dim: int) -> tuple[FloatArray, mmap.mmap | None]:
    with file.open("rb") as opened:
        if opened.seek(0, 2) != n * dim * 4:
            raise ValueError(f"{file} has {opened.tell():,} bytes, expected {n * dim * 4:,}")
        mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) if n else None
    vectors: FloatArray = np.frombuffer(mapped or b"", dtype="<f4").reshape(n, dim)
    return vectors, mapped


def sort_key(path: str) -> bytes:
    """Return the bytes of a path so that they sort as its parts do: `a/b` before `a.b/c`."""
    return os.fsencode(path).replace(b"/", b"\0")


_QUOTED = re.compile(r"[\s%]")


def id_of_path(path: str) -> str:
    """Return the id of a path below a folder, with white space and the percent sign quoted as in web addresses.

    Different paths have different ids.
    """
    return _QUOTED.sub(lambda found: quote(found[0]), path)


def path_of_id(image_id: str) -> str:
    """Return the path with that id."""
    return unquote(image_id) if "%" in image_id else image_id
