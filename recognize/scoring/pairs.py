"""Products of pairs of photos and rows, in float64 or to float32 precision.

Pairs of many photos are flat arrays, because a call of NumPy costs more than its work for one photo.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple

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
    spaces = list(
        zip(
            columns or (slice(None),) * len(matrices),
            (query.astype(np.float64) for query in queries),
            products,
            strict=True,
        )
    )
    blocks = _blocks(pairs, len(queries[0]))
    for number, matrix in enumerate(matrices):
        buffer = np.empty((min(_AT_ONCE, len(pairs)), matrix.shape[1]))
        for gathered, runs in _gathered(matrix, pairs, blocks):
            exact = buffer[: len(gathered)]
            exact[:] = gathered
            for run in runs:
                rows = run.rows(exact)
                for part, query, product in spaces if columns else spaces[number : number + 1]:
                    np.einsum("pij,pj->pi", rows[..., part], query[run.photos], out=run.pairs(product))
    return products


def rough_products(matrix: FloatArray, queries: FloatArray, pairs: Pairs) -> FloatArray:
    """Return `dot_pairs` to float32 precision."""
    products = np.empty(len(pairs), dtype=np.float32)
    for gathered, runs in _gathered(matrix, pairs, _blocks(pairs, len(queries))):
        for run in runs:
            # One row at a time: BLAS would share this small work between threads.
            vectors = queries[run.photos, None, :, None]
            np.matmul(run.rows(gathered)[:, :, None], vectors, out=run.pairs(products)[..., None, None])
    return products


class _Run(NamedTuple):
    """Consecutive photos with the same number of pairs, or a part of the pairs of one photo."""

    photos: slice
    first: int
    """First pair."""
    n: int
    """Pairs per photo."""
    offset: int
    """First row among the gathered rows."""

    def pairs(self, of_all: NDArray[Any]) -> NDArray[Any]:
        """Return the view of an array of all pairs, `(n_photos, n)`."""
        n_photos = self.photos.stop - self.photos.start
        return of_all[self.first : self.first + n_photos * self.n].reshape(n_photos, self.n)

    def rows(self, gathered: NDArray[Any]) -> NDArray[Any]:
        """Return the view of the gathered rows, `(n_photos, n, dim)`."""
        n_photos = self.photos.stop - self.photos.start
        return gathered[self.offset : self.offset + n_photos * self.n].reshape(n_photos, self.n, -1)


def _gathered(
    matrix: FloatArray, pairs: Pairs, blocks: Sequence[Sequence[_Run]]
) -> Iterator[tuple[FloatArray, Sequence[_Run]]]:
    """Yield the rows of the pairs, `(n, dim)`, with their runs; the next rows overwrite them."""
    buffer = np.empty((min(_AT_ONCE, len(pairs)), matrix.shape[1]), dtype=np.float32)
    for runs in blocks:
        last = runs[-1]
        rows = buffer[: last.offset + (last.photos.stop - last.photos.start) * last.n]
        at = slice(runs[0].first, runs[0].first + len(rows))
        matrix.take(pairs.items[at], axis=0, out=rows, mode="clip")  # without a mode NumPy copies twice
        yield rows, runs


def _blocks(pairs: Pairs, n_photos: int) -> list[list[_Run]]:
    """Return blocks of runs with at most `_AT_ONCE` pairs."""
    blocks: list[list[_Run]] = []
    runs: list[_Run] = []
    used = 0
    for photo, (start, end) in enumerate(pairwise(pairs.starts(n_photos).tolist())):
        while start < end:
            n = min(end - start, _AT_ONCE)
            if used + n > _AT_ONCE:
                blocks.append(runs)
                runs, used = [], 0
            if runs and runs[-1].n == n and runs[-1].photos.stop == photo:
                runs[-1] = runs[-1]._replace(photos=slice(runs[-1].photos.start, photo + 1))
            else:
                runs.append(_Run(slice(photo, photo + 1), start, n, used))
            start, used = start + n, used + n
    return [*blocks, runs] if runs else blocks
