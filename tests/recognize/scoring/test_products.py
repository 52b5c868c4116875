import os
from typing import Any

import numpy as np
import pytest

from data.arrays import as_unit_rows
from recognize.scoring import exact
from recognize.scoring.exact import Product, doubts_of


def unit_rows(n: Any, dim: Any, seed: int = 0) -> Any:
    return as_unit_rows(np.random.default_rng(seed).standard_normal((n, dim)))


def rows_all_alike(n: Any, dim: Any, seed: int = 0) -> Any:
    """Return nearly equal rows: partial sums of their products grow to 1, where float32 rounds most."""
    return as_unit_rows(np.ones(dim) + 0.01 * np.random.default_rng(seed).standard_normal((n, dim)))


def rows_of_two_values(n: Any, dim: Any, seed: int = 0) -> Any:
    """Return rows of two values: their sums round in the same direction at every step."""
    return as_unit_rows(np.where(np.random.default_rng(seed).random((n, dim)) < 0.02, 1.01, 1.0))


@pytest.mark.parametrize("make", [unit_rows, rows_all_alike, rows_of_two_values])
@pytest.mark.parametrize(
    ("n_photos", "n_rows", "dim"),
    [(1, 1, 1), (37, 301, 1024), (130, 900, 2304)],
)
def test_product_errors_are_below_half_of_the_doubt(make: Any, n_photos: int, n_rows: int, dim: int) -> None:
    queries, matrix = make(n_photos, dim), make(n_rows, dim, seed=1)
    out = np.empty((n_photos, n_rows), dtype=np.float32)
    exact.multiply(queries, matrix, out)
    truth = queries.astype(np.float64) @ matrix.astype(np.float64).T
    assert np.all(np.abs(out - truth).max(axis=1) < doubts_of(truth.max(axis=1)) / 2)


@pytest.mark.parametrize(
    ("block", "term", "dims"), [(1, 10, (8,)), (7, 40, (8, 12, 5)), (10, 10**6, ()), (512, 10**6, (8, 12, 5))]
)
def test_blocks_of_scores_are_the_mean_over_encoders(
    monkeypatch: pytest.MonkeyPatch, block: int, term: Any, dims: Any
) -> None:
    monkeypatch.setattr(exact, "_BLOCK", block)
    monkeypatch.setattr(exact, "_TERM", term)
    queries = tuple(unit_rows(10, dim, seed=dim) for dim in dims)
    matrices = tuple(unit_rows(23, dim, seed=dim + 1) for dim in dims)
    pairs = zip(queries, matrices, strict=True)
    total = sum((q.astype(np.float64) @ m.T for q, m in pairs), start=np.zeros((10, 23 if dims else 0)))
    found, photos = [], []
    asked = [Product(queries, matrices)]
    if dims:  # the same with the encoders' columns side by side
        asked.append(Product(queries, (np.concatenate(matrices, axis=1),)))
    for at, (scores, *joined) in exact.score_blocks(10, asked):
        photos += range(10)[at]
        assert len(scores.base) == min(block, 10), "memory does not grow with the photos"
        found.append(scores.copy())
        assert all(other == pytest.approx(scores, abs=1e-6) for other in joined)
    assert photos == list(range(10))
    assert np.concatenate(found) == pytest.approx(total / max(1, len(dims)), abs=1e-6)


def test_thread_count_follows_cores_or_openblas_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_DEFAULT_NUM_THREADS")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    for variables, most in (
        ({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "5"}, 1),
        ({"OMP_NUM_THREADS": "1,2"}, 1),
        ({"OMP_NUM_THREADS": "100000"}, 4),
        ({"OMP_NUM_THREADS": "many"}, 4),
        ({}, 4),
    ):
        for name in names:
            monkeypatch.setenv(name, variables[name]) if name in variables else monkeypatch.delenv(name, raising=False)
        assert exact.n_threads() == most, variables
