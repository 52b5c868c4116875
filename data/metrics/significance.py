"""Significance tests: paired comparison of two runs over the same queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from data.metrics import N_TEST_RESAMPLES
from data.metrics.ranked import measure

MAX_EXACT: Final = 12  # differences: 2**12 sign patterns are fewer than the random ones


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """Mean difference over queries with standard error, 95 % bootstrap interval and p-value."""

    n: int
    difference: float
    error: float | None
    """None for a single query."""
    interval: tuple[float, float]
    p_value: float
    """Two-sided p-value of a randomisation test that swaps the two runs at random."""
    n_better: int
    n_worse: int


def paired_test(differences: Sequence[float], *, n_resamples: int = N_TEST_RESAMPLES, seed: int = 0) -> PairedTest:
    """Return the test of differences (first run minus second), one per query.

    The randomisation test flips the sign of each difference: all patterns for up to `MAX_EXACT` queries, else
    `n_resamples` random ones plus the observed one, so that p is never 0.

    Source: Smucker, Allan and Carterette, CIKM 2007, section 2.

    Raises:
        ValueError: if there are no differences.
    """
    given = np.asarray(differences, dtype=np.float64)
    n = len(given)
    mean = measure("difference", given.tolist(), range(n), n_resamples=n_resamples, seed=seed)
    observed = abs(given.sum())
    within = 1e-12 * max(1.0, np.abs(given).sum())  # tolerance: sums in another order may round differently
    if n <= MAX_EXACT:
        signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        p_value = float((np.abs(signs @ given) >= observed - within).mean())
    else:
        rng = np.random.default_rng(seed)
        signs = 1 - 2 * rng.integers(2, size=(n_resamples, n))
        n_as_large = int((np.abs(signs @ given) >= observed - within).sum())
        p_value = (n_as_large + 1) / (n_resamples + 1)
    return PairedTest(
        n=n,
        difference=mean.macro,
        error=mean.macro_error,
        interval=mean.macro_interval,
        p_value=p_value,
        n_better=int((given > 0).sum()),
        n_worse=int((given < 0).sum()),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values with Holm's correction for multiple tests (Holm, 1979), in the given order."""
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for place, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[i]))
        corrected[i] = largest
    return corrected
