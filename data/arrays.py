"""Vectors: checked, made into unit rows, ranked. Similarities are higher-is-better everywhere."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.intp]


def as_unit_rows(vectors: ArrayLike) -> FloatArray:
    """Return `vectors` as a C-contiguous float32 `(n, dim)` array with rows of length one; a zero row stays zero.

    Raises:
        ValueError: if the array is not two-dimensional or holds a NaN or an infinity.
    """
    array = np.asarray(vectors, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError(f"expected (n, dim) vectors, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("expected finite vectors, got NaN or infinity")
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    return np.ascontiguousarray(array / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)


_STEPS: Final = float(2**24)  # of a fixed-point number from 0 to 1; float32 holds all of them
_BLOCK: Final = 1 << 18  # numbers that are widened to float64 at a time, which stay in the processor's cache


def as_fixed_point(vectors: FloatArray) -> FloatArray:
    """Return the vectors with their numbers, at most 1, rounded to multiples of 2^-24."""
    fixed: FloatArray = (np.rint(vectors * np.float32(_STEPS)) / np.float32(_STEPS)).astype(np.float32)
    return fixed


def exact_cosines(queries: FloatArray, vectors: FloatArray) -> NDArray[np.float64]:
    """Return the `(q, n)` cosines of `(n, dim)` to `(q, dim)` rows of at most length one, both as fixed-point numbers.

    They do not depend on the batch or the processor, and equal rows have equal cosines: products of such numbers are
    multiples of 2^-48, and so are their sums, which stay below 2 in any order; float64 holds these exactly.
    """
    columns = as_fixed_point(queries).astype(np.float64).T.copy()
    cosines: NDArray[np.float64] = np.empty((len(vectors), len(queries)))
    step = max(1, _BLOCK // max(1, vectors.shape[1]))
    for first in range(0, len(vectors), step):
        block = as_fixed_point(vectors[first : first + step])
        np.matmul(block.astype(np.float64), columns, out=cosines[first : first + step])
    return np.ascontiguousarray(cosines.T)


_ONE_THREAD: Final = 1 << 24  # numbers of a matrix; their product with a vector takes some milliseconds


def products(vectors: FloatArray, query: FloatArray) -> FloatArray:
    """Return the `(n,)` products of `(n, dim)` vectors with a `(dim,)` query."""
    if vectors.size > _ONE_THREAD:
        return vectors @ query
    # Not `@`, which waits for the threads of BLAS: on a busy machine a hundred times as long as the product takes.
    found: FloatArray = np.einsum("ij,j->i", vectors, query)
    return found


def check_vectors(vectors: ArrayLike, *, dim: int) -> FloatArray:
    """Return `vectors` as float32 if they are `(n, dim)`.

    Raises:
        ValueError: naming the expected and the given shape.
    """
    array = np.asarray(vectors, dtype=np.float32)
    if array.ndim != 2 or array.shape[1] != dim:
        raise ValueError(f"expected (n, {dim}) vectors, got {array.shape}")
    return array


def rank_descending(scores: ArrayLike, k: int | None = None) -> IntArray:
    """Return the positions of the `k` highest scores, best first, ties in input order; all of them without `k`.

    Items with the score `-inf` are ranked last.
    """
    array = np.asarray(scores)
    if k is None or k >= array.shape[0]:
        return np.argsort(-array, kind="stable")
    if k <= 0:
        return np.empty(0, dtype=np.intp)
    # A partition is cheaper than a full sort; of equal scores the first ones win, as in a stable sort.
    threshold = np.partition(array, array.shape[0] - k)[array.shape[0] - k]
    pool = np.flatnonzero(array >= threshold)
    return pool[np.argsort(-array[pool], kind="stable")][:k]
