"""A collection as it was when it was opened, with its vectors mapped from disk."""

from __future__ import annotations

import mmap
from bisect import bisect_left
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray, as_fixed_point, check_vectors, exact_cosines
from data.closing import Closing
from data.errors import BadInput, StoreError
from rerank.collection.files import CollectionFiles, id_of_path, path_of_id, sort_key

_BLOCK_BYTES: Final = 1 << 26  # of vectors in memory at a time


class Snapshot(Closing):
    """The photos of a folder in one space, unchanged whatever happens to folder and index; an `ImageCollection`.

    Args:
        files: the index.
        folder: the folder of photos.
        space: the space of the vectors.

    Raises:
        StoreError: if the index is damaged.
    """

    def __init__(self, files: CollectionFiles, folder: Path, space: str) -> None:
        self.folder, self.space = folder, space
        for last in (False, True):
            state, paths, self._rows, errors = files.snapshot()
            try:
                self._file = files.vector_file(state.generation).open("rb")
                break
            except FileNotFoundError as error:  # compacted in between
                if last:
                    raise StoreError(f"{error.filename} is missing", hint=f"Delete {files.folder}.") from error
        self._dim, self._n_rows = state.dim, state.n_rows
        n_bytes = state.n_rows * state.dim * 4
        if self._file.seek(0, 2) < n_bytes:
            raise StoreError(f"{self._file.name} is cut off", hint=f"Delete {files.folder}.")
        self._map = mmap.mmap(self._file.fileno(), n_bytes, access=mmap.ACCESS_READ) if n_bytes else None
        self.ids: tuple[str, ...] = tuple(map(id_of_path, paths))
        self.errors: Mapping[str, str] = {id_of_path(path): error for path, error in errors.items()}

    def close(self) -> None:
        """Close the file of vectors."""
        if self._map is not None:
            with suppress(BufferError):  # a caller still has a view of it
                self._map.close()
        self._file.close()

    def path(self, image_id: str) -> Path:
        """Return the file of a photo, readable or not.

        Raises:
            BadInput: if the collection has no such photo.
        """
        path = path_of_id(image_id)
        at = bisect_left(self.ids, sort_key(path), key=lambda each: sort_key(path_of_id(each)))
        if image_id not in self.errors and self.ids[at : at + 1] != (image_id,):
            raise BadInput(
                f"The collection {self.folder} has no photo {image_id!r}.",
                hint="It was removed or renamed, or it belongs to another folder.",
            )
        return self.folder / path

    def vectors(self, rows: IntArray) -> FloatArray:
        """Return the `(len(rows), dim)` float32 unit vectors of these rows."""
        found: FloatArray = self._matrix(0, self._n_rows)[self._rows[rows]]
        return found

    def scores(self, queries: FloatArray) -> NDArray[np.float64]:
        """Return the `(q, n)` cosines of all photos to each of `(q, dim)` queries; equal vectors have equal scores.

        Exact for the stored vectors; besides the result, 64 MB of vectors are in memory at a time.
        """
        fixed = as_fixed_point(check_vectors(queries, dim=self._dim))
        scores: NDArray[np.float64] = np.empty((len(fixed), self._n_rows))
        step = _BLOCK_BYTES // (self._dim * 4) // mmap.PAGESIZE * mmap.PAGESIZE or mmap.PAGESIZE
        for first in range(0, self._n_rows, step):
            last = min(first + step, self._n_rows)
            scores[:, first:last] = exact_cosines(fixed, self._matrix(first, last))
            self._forget(first, last)
        return scores[:, self._rows]

    def _matrix(self, first: int, last: int) -> FloatArray:
        """Return the rows of the file from `first` to `last`, mapped."""
        if self._map is None:
            return np.empty((0, self._dim), dtype=np.float32)
        count = (last - first) * self._dim
        rows: FloatArray = np.frombuffer(self._map, dtype="<f4", count=count, offset=first * self._dim * 4)
        return rows.reshape(last - first, self._dim)

    def _forget(self, first: int, last: int) -> None:
        """Drop the pages of rows from this process; the operating system may keep them as cache."""
        if self._map is not None and hasattr(mmap, "MADV_DONTNEED"):
            width = self._dim * 4
            self._map.madvise(mmap.MADV_DONTNEED, first * width, (last - first) * width)
