"""Products of pairs of photos and rows, in float64 or to float32 precision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray

Scores = NDArray[np.float64]

_AT_ONCE: Final = 128  # rows in float64: 0.8 MB for 768 dimensions, which fits the cache of a core


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of photos and rows of a table or species, `(n,)` each; the photos ascend."""

    photos: IntArray
    items: IntArray

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, at: IntArray | NDArray[np.bool_]) -> Pairs:
        return Pairs(self.photos[at], self.items[at])

    def starts(self, n_photos: int) -> IntArray:
        """Return the first pair of each photo, then the number of pairs: `(n_photos + 1,)`."""
        return self.photos.searchsorted(np.arange(n_photos + 1))

    def is_new(self) -> NDArray[np.bool_]:
        """Return whether each pair differs from the previous one."""
        new = np.ones(len(self), dtype=bool)
        new[1:] = (self.items[1:] != self.items[:-1]) | (self.photos[1:] != self.photos[:-1])
        return new


def dot_pairs(matrix: FloatArray, queries: FloatArray, pairs: Pairs) -> Scores:
    """Return the product of photo and row of each pair in float64, `(n,)`."""
    products: Scores = dot_spaces((matrix,), (queries,), pairs)[0]
    return products


def dot_spaces(
    matrices: Sequence[FloatArray], queries: Sequence[FloatArray], pairs: Pairs, columns: Sequence[slice] = ()
) -> Scores:
    """Return `dot_pairs` in several spaces, `(n_spaces, n)`.

    Without BLAS, whose order of summation depends on the position of a row.

    Args:
        matrices: `(n_rows, dim)` for each space, or one matrix with the columns of all spaces.
        queries: `(n_photos, dim)` for each space.
        pairs: photos and rows.
        columns: columns of each space in one matrix for all.
    """
    products = np.empty((len(queries), len(pairs)))
    exact = [query.astype(np.float64) for query in queries]
    spaces = range(len(queries))
    for photo, of_photo in _by_photo(pairs, len(queries[0])):
        for number, matrix in enumerate(matrices):
            rows = matrix[pairs.items[of_photo]].astype(np.float64)
            for space in spaces if columns else (number,):
                part = rows[:, columns[space]] if columns else rows
                np.einsum("ij,j->i", part, exact[space][photo], out=products[space, of_photo])
    return products


def rough_products(matrix: FloatArray, queries: FloatArray, pairs: Pairs) -> FloatArray:
    """Return `dot_pairs` to float32 precision."""
    products = np.empty(len(pairs), dtype=np.float32)
    for photo, of_photo in _by_photo(pairs, len(queries)):
        np.einsum("ij,j->i", matrix[pairs.items[of_photo]], queries[photo], out=products[of_photo])
    return products


def _by_photo(pairs: Pairs, n_photos: int) -> Iterator[tuple[int, slice]]:
    """Yield each photo with a part of its pairs, at most `_AT_ONCE`."""
    for photo, (start, end) in enumerate(pairwise(pairs.starts(n_photos).tolist())):
        for first in range(start, end, _AT_ONCE):
            yield photo, slice(first, min(first + _AT_ONCE, end))
