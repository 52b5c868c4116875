"""Vectors: checked, made into unit rows, ranked. Similarities are higher-is-better everywhere."""

from __future__ import annotations

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
