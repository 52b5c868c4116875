"""A collection in memory, for vectors that come from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray, check_vectors
from data.errors import BadInput


class MemoryCollection:
    """Photos with given vectors; an `ImageCollection`."""

    def __init__(self, space: str, ids: Sequence[str], vectors: FloatArray, *, folder: str | Path = ".") -> None:
        if len(set(ids)) != len(ids) or len(ids) != len(vectors):
            raise ValueError(f"expected a vector for each of distinct ids, got {len(vectors)} for {len(ids)}")
        self.space, self.ids, self.errors = space, tuple(ids), dict[str, str]()
        self._known = set(ids)
        self._folder = Path(folder)
        self._vectors = check_vectors(vectors, dim=np.shape(vectors)[1])

    def path(self, image_id: str) -> Path:
        """Return the file of a photo.

        Raises:
            BadInput: if the collection has no such photo.
        """
        if image_id not in self._known:
            raise BadInput(f"The collection has no photo {image_id!r}.")
        return self._folder / image_id

    def vectors(self, rows: IntArray) -> FloatArray:
        """Return the `(len(rows), dim)` vectors of these rows."""
        return self._vectors[rows]

    def scores(self, queries: FloatArray) -> NDArray[np.float64]:
        """Return the `(q, n)` cosines, equal for equal vectors."""
        # Not a matrix product, which may round equal rows differently.
        rows = [np.einsum("nd,d->n", self._vectors, query, dtype=np.float64) for query in queries]
        return np.stack(rows) if rows else np.zeros((0, len(self.ids)))
