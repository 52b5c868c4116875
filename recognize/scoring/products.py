"""Matrix products of photos with all rows of a knowledge base, in blocks of photos."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from data.arrays import FloatArray

_BLOCK: Final = 512  # photos in one product: 50 MB of scores
_TERM: Final = 2_000_000  # scores of one encoder in a buffer


class Product(NamedTuple):
    """Queries and the matrices to multiply them with."""

    queries: tuple[FloatArray, ...]
    """`(n_photos, dim)` for each encoder."""
    matrices: tuple[FloatArray, ...]
    """`(n_rows, dim)` for each encoder, or one matrix with the columns of all encoders."""


def score_blocks(n_photos: int, products: Sequence[Product]) -> Iterator[tuple[slice, list[FloatArray]]]:
    """Yield blocks of photos and their float32 scores `(n, n_rows)` for each product; the next block overwrites them.

    A score is the mean product over encoders.
    """
    sums = [_MeanProduct(product) for product in products]
    for first in range(0, n_photos, _BLOCK):
        photos = slice(first, min(first + _BLOCK, n_photos))
        yield photos, [one.of(photos) for one in sums]


class _MeanProduct:
    """Mean product over encoders, in memory that is reused for each block of photos."""

    def __init__(self, product: Product) -> None:
        self._queries, self._matrices = product
        n_rows = len(self._matrices[0]) if self._matrices else 0
        n_photos = min(_BLOCK, len(self._queries[0])) if self._queries else _BLOCK
        self._scores = np.zeros((n_photos, n_rows), dtype=np.float32)
        self._term = np.empty(min(_TERM, self._scores.size) if len(self._matrices) > 1 else 0, dtype=np.float32)

    def of(self, photos: slice) -> FloatArray:
        """Return the scores of a block, `(n, n_rows)`."""
        n = photos.stop - photos.start
        scores = self._scores[:n]
        share = np.float32(1 / max(1, len(self._queries)))
        blocks = [queries[photos] * share for queries in self._queries]
        if len(self._matrices) == 1:
            blocks = [np.concatenate(blocks, axis=1)]
        for number, (block, matrix) in enumerate(zip(blocks, self._matrices, strict=True)):
            if not number:
                multiply(block, matrix, scores)
                continue
            width = max(1, len(self._term) // n)
            for start in range(0, len(matrix), width):
                part = scores[:, start : start + width]
                term = self._term[: part.size].reshape(part.shape)
                multiply(block, matrix[start : start + width], term)
                part += term
        return scores


def multiply(queries: FloatArray, matrix: FloatArray, out: FloatArray) -> None:
    """Write the product to `out`, `(n_photos, n_rows)`."""
    np.matmul(queries, matrix.T, out=out)


def n_threads() -> int:
    """Return the number of cores, or the smaller limit of OpenBLAS in the environment."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for name in ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_DEFAULT_NUM_THREADS"):
        first = os.environ.get(name, "").split(",")[0].strip()
        if first.isdecimal() and int(first) > 0:
            return min(cores, int(first))
    return cores
