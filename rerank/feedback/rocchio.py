"""Rocchio's relevance feedback on vectors."""

from __future__ import annotations

import numpy as np

from data.arrays import FloatArray, as_unit_rows


def rocchio(
    query: FloatArray,
    relevant: FloatArray,
    others: FloatArray,
    *,
    alpha: float = 1.0,
    beta: float = 0.75,
    gamma: float = 0.15,
) -> FloatArray:
    """Return the query moved towards the relevant images and away from the others, a `(dim,)` float32 unit vector.

    Args:
        query: `(dim,)`.
        relevant: `(n, dim)`; without rows, the term is left out.
        others: `(m, dim)`, judged as not relevant; likewise.
        alpha: weight of the query.
        beta: weight of the mean of the relevant images.
        gamma: weight of the mean of the others.

    Source:
        Rocchio (1971), with the weights of Zhu et al. (ICMR 2024), section 4.3. Cosines do not depend on the length, so
        the result is a unit vector.

    Example:
        >>> import numpy as np
        >>> rocchio(np.float32([1, 0]), np.float32([[0, 1]]), np.float32([[1, 0]]), beta=0.85).tolist()
        [0.7071067690849304, 0.7071067690849304]
    """
    moved = alpha * np.asarray(query, dtype=np.float64)
    if len(relevant):
        moved = moved + beta * np.mean(relevant, axis=0, dtype=np.float64)
    if len(others):
        moved = moved - gamma * np.mean(others, axis=0, dtype=np.float64)
    unit: FloatArray = as_unit_rows(moved[None, :])[0].astype(np.float32)
    return unit
