"""Definitions of measures, ranks of a single relevant item, and means over many lists with intervals.

Ranks start at 1. Equal scores keep the order of the input: rows of a knowledge base, or the first stage of a job.
`data.metrics.lists` has the measures of lists with several relevant items.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.metrics import N_RESAMPLES, N_TEST_RESAMPLES

DEFINITIONS: Final[dict[str, str]] = {
    "top-k": "share of photos whose species is among the first k species",
    "hit@k": "1 if a relevant item is among the first k, else 0; the same as top-k, and Recall@k in VisRet",
    "MRR@k": "mean of 1 / rank of the first relevant item, 0 if it is not among the first k",
    "AP@k": "sum of precision@i over the relevant ranks i <= k, divided by the number of relevant items",
    "AP@k (INQUIRE)": "the same sum, divided by the smaller of the number of relevant items and k",
    "mAP@k": "the same, as CIRCO names it",
    "nDCG@k": "sum of gain / log2(rank + 1) over the first k, divided by the same sum of the ideal order of all items",
    "ndcg_visret@k": "nDCG as in VisRet's code: the first k against their own ideal order, with ties; one relevant "
    "item scores 1 at rank 1, and .39 (k = 10) at ranks 2 to k",
    "P@k": "relevant items among the first k, divided by k",
    "R@k": "relevant items among the first k, divided by the number of relevant items",
    "R_subset@k": "R@k of the ranking within the set of images of the query (CIRR)",
    "Hits@k": "1 if in this round of a dialogue, or an earlier one, a relevant item is among the first k (VisDial)",
}
"""Measure -> its definition, as in reports."""

_BLOCK: Final = 1 << 22  # groups drawn at a time: 32 MB


def rank_of(ranked: Sequence[Hashable], truth: Hashable) -> int | None:
    """Return the rank of the first item equal to `truth`, None if there is none."""
    return next((rank for rank, item in enumerate(ranked, start=1) if item == truth), None)


def hit(rank: int | None, k: int) -> float:
    """Return 1.0 if the rank is among the first `k`, else 0.0: top-k accuracy of one photo."""
    return float(rank is not None and rank <= k)


def reciprocal_rank(rank: int | None, k: int | None = None) -> float:
    """Return 1 / rank, 0.0 if there is no rank or it is beyond `k`."""
    return 0.0 if rank is None or (k is not None and rank > k) else 1.0 / rank


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A mean with the 95 % interval of a bootstrap, by item (micro) and by group (macro), and its standard error."""

    name: str
    micro: float
    micro_interval: tuple[float, float]
    macro: float
    macro_interval: tuple[float, float]
    macro_error: float | None = None
    """Standard error of `macro` over groups; None for a single group."""


def measure(
    name: str, values: Sequence[float], groups: Sequence[Hashable], *, n_resamples: int = N_RESAMPLES, seed: int = 0
) -> Measured:
    """Return the mean of the values over items and over groups, with intervals.

    The bootstrap draws whole groups (species, queries) with replacement, since items of a group are correlated; the
    interval spans the 2.5th to 97.5th percentile. For differences of two methods on the same items it is paired: an
    interval above zero means that the first is better.

    Raises:
        ValueError: if there are no values, or not one group per value.
    """
    (measured,) = measure_all({name: values}, groups, n_resamples=n_resamples, seed=seed)
    return measured


def measure_all(
    values: Mapping[str, Sequence[float]], groups: Sequence[Hashable], *, n_resamples: int = N_RESAMPLES, seed: int = 0
) -> tuple[Measured, ...]:
    """Return the result of `measure` for each name, from one draw of groups, which is many times faster.

    Raises:
        ValueError: if there are no values, or not one group per value.
    """
    if not groups or any(len(given) != len(groups) for given in values.values()):
        n_values = sorted({len(given) for given in values.values()})
        raise ValueError(f"expected as many groups as values, at least one, got {len(groups)} and {n_values}")
    index = {group: i for i, group in enumerate(dict.fromkeys(groups))}
    n = len(index)
    of_group = np.array([index[group] for group in groups])
    table = np.array(list(values.values()), dtype=np.float64).reshape(len(values), len(groups))  # (n_names, n_values)
    sums = np.stack([np.bincount(of_group, weights=row) for row in table], axis=1)  # (n_groups, n_names)
    counts = np.bincount(of_group).astype(np.float64)
    means = sums / counts[:, None]
    draws = [(times @ sums / (times @ counts)[:, None], times @ means / n) for times in resample(n, n_resamples, seed)]
    micro, macro = (np.concatenate(found) for found in zip(*draws, strict=True))
    errors = means.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else None
    return tuple(
        Measured(
            name=name,
            micro=float(sums[:, i].sum() / counts.sum()),
            micro_interval=_interval(micro[:, i]),
            macro=float(means[:, i].mean()),
            macro_interval=_interval(macro[:, i]),
            macro_error=None if errors is None else float(errors[i]),
        )
        for i, name in enumerate(values)
    )


def resample(n: int, n_resamples: int, seed: int = 0) -> Iterator[NDArray[np.float64]]:
    """Yield how often each of n groups is drawn in each resample of a bootstrap, `(n_resamples, n)`, in blocks."""
    rng, step = np.random.default_rng(seed), max(1, _BLOCK // n)
    for first in range(0, n_resamples, step):
        n_rows = min(step, n_resamples - first)
        drawn = rng.integers(n, size=(n_rows, n)) + n * np.arange(n_rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=n_rows * n).reshape(n_rows, n).astype(np.float64)


def _interval(resampled: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.percentile(resampled, [2.5, 97.5])
    return float(low), float(high)


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
