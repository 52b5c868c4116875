"""Vectors of queries: of their text, or moved by the marked images, as in Rocchio's relevance feedback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
    """
    moved = alpha * np.asarray(query, dtype=np.float64)
    if len(relevant):
        moved = moved + beta * np.mean(relevant, axis=0, dtype=np.float64)
    if len(others):
        moved = moved - gamma * np.mean(others, axis=0, dtype=np.float64)
    unit: FloatArray = as_unit_rows(moved[None, :])[0].astype(np.float32)
    return unit


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSpecies:
    """Species that a query names."""

    names: str
    vector: FloatArray
    """`(dim,)` unit vector of their reference photos and descriptions."""
    is_whole: bool
    """Whether the query has no other words to search by."""


FindNames = Callable[[str], NamedSpecies | None]
"""Query -> the species that it names."""
