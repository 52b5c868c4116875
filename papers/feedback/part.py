"""A part of a collection, such as the images of a data set among other files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray
from data.contracts import ImageCollection


class PartOfCollection:
    """Some photos of a collection; an `ImageCollection`.

    Args:
        whole: the collection.
        ids: ids of the photos to keep.
    """

    def __init__(self, whole: ImageCollection, ids: frozenset[str]) -> None:
        self._whole = whole
        self._rows: IntArray = np.flatnonzero([image_id in ids for image_id in whole.ids])
        self.space = whole.space
        self.ids: Sequence[str] = tuple(whole.ids[row] for row in self._rows.tolist())
        self.errors: Mapping[str, str] = {each: why for each, why in whole.errors.items() if each in ids}

    def path(self, image_id: str) -> Path:
        """Return the file of a photo."""
        return self._whole.path(image_id)

    def vectors(self, rows: IntArray) -> FloatArray:
        """Return the vectors of these rows."""
        return self._whole.vectors(self._rows[rows])

    def scores(self, queries: FloatArray) -> NDArray[np.float64]:
        """Return the `(q, n)` cosines."""
        return self._whole.scores(queries)[:, self._rows]
