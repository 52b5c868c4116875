import os
from typing import Any

import numpy as np
import pytest

from data.arrays import as_unit_rows
from recognize.scoring import exact
from recognize.scoring.exact import (
    DOUBT,
    Pairs,
    Product,
    dot_pairs,
    dot_spaces,
    doubts_of,
    find_pools,
    rough_products,
    settle,
)


def scores_in_clusters(rng: Any, n_photos: Any, n_rows: Any, scale: float = 1.0) -> Any:
    """Return exact scores, many of them equal or nearly so, and rough ones with the largest allowed errors."""
    centres = rng.choice(np.linspace(-0.25, 0.25, 9), size=(n_photos, n_rows))
    exact = centres + rng.integers(-3, 4, size=centres.shape) * DOUBT / 20
    off = rng.uniform(-0.45, 0.45, size=exact.shape) * DOUBT / 4  # below half of the doubt at scores of 0.25
    return scale * exact, (scale * exact + max(scale, 1.0) * off).astype(np.float32)


@pytest.mark.parametrize("m", [1, 40, 400])
@pytest.mark.parametrize(("scale", "seed"), [(0.02, 0), (1.0, 1), (4.0, 2)])
def test_a_pool_has_the_best_exact_scores_and_first_tied_rows(m: int, seed: int, scale: float) -> None:
    exact, rough = scores_in_clusters(np.random.default_rng(seed), 5, 300, scale)
    pool = find_pools(rough, m, lambda pairs: exact[pairs.photos, pairs.items])
    best = np.sort(np.argsort(-np.round(exact, 12), axis=1, kind="stable")[:, :m], axis=1)
    assert pool.photos.tolist() == np.repeat(np.arange(5), best.shape[1]).tolist()
    assert pool.items.tolist() == best.ravel().tolist()


@pytest.mark.parametrize("counts", [[1, 60, 0, 7], [0]])
@pytest.mark.parametrize(("scale", "seed"), [(0.02, 0), (1.0, 1), (4.0, 2)])
def test_pairs_settle_in_exact_order_within_each_photo(counts: list[int], seed: int, scale: float) -> None:
    exact, rough = (scores[0] for scores in scores_in_clusters(np.random.default_rng(seed), 1, sum(counts), scale))
    photos = np.repeat(np.arange(len(counts)), counts)
    settled = settle(Pairs(photos, np.arange(len(photos))), rough, lambda at: (exact[at], {}), n_shown=3)
    order = np.lexsort((np.arange(len(photos)), -np.round(exact, 12), photos))
    assert settled.order.tolist() == order.tolist()
    assert settled.scores == pytest.approx(exact[order], abs=DOUBT)


@pytest.mark.parametrize(("n_shown", "seed"), [(0, 0), (4, 2), (100, 3)])
def test_scores_of_the_first_heads_of_each_photo_are_exact(n_shown: int, seed: int) -> None:
    """A head here is the first-ranked pair of one photo and label."""
    rng = np.random.default_rng(seed)
    exact, rough = (scores[0] for scores in scores_in_clusters(rng, 1, 90))
    photos, labels = np.repeat([0, 1, 3], 30), rng.integers(0, 9, 90)

    def heads_of(order: Any) -> Any:
        keys = photos[order] * 100 + labels[order]
        return np.sort(np.unique(keys, return_index=True)[1])

    asked = []

    def explain(at: Any) -> Any:
        asked.extend(at.tolist())
        return exact[at], {"itself": at.astype(float)}

    settled = settle(Pairs(photos, np.arange(90)), rough, explain, n_shown=n_shown, heads_of=heads_of)
    heads, shown = [], []
    for photo in (0, 1, 3):
        ranked = sorted(np.flatnonzero(photos == photo), key=lambda i: (-round(exact[i], 12), i))
        firsts = [i for n, i in enumerate(ranked) if labels[i] not in labels[ranked[:n]]]
        heads += firsts
        shown += firsts[:n_shown]
    assert settled.order[settled.heads].tolist() == heads
    assert settled.order[settled.shown].tolist() == settled.stages["itself"].tolist() == shown
    assert settled.scores[settled.shown].tolist() == np.round(exact[shown], 12).tolist()
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize("counts", [[3, 3, 3, 3], [150, 150], [0, 0], [10, 12, 10, 0, 120, 8, 8, 300, 2]])
def test_pair_products_match_plain_dot_products(counts: Any) -> None:
    rng = np.random.default_rng(0)
    matrix, queries = (rng.standard_normal((n, 24)).astype(np.float32) for n in (50, len(counts)))
    pairs = Pairs(np.repeat(np.arange(len(counts)), counts), rng.integers(0, 50, sum(counts)))
    expected = (matrix.astype(np.float64)[pairs.items] * queries.astype(np.float64)[pairs.photos]).sum(axis=1)
    assert dot_pairs(matrix, queries, pairs) == pytest.approx(expected, rel=1e-12, abs=1e-13)
    assert rough_products(matrix, queries, pairs) == pytest.approx(expected, abs=1e-4)
    joined = (slice(0, 7), slice(7, 24))
    first, rest = dot_spaces((matrix,), [queries[:, part] for part in joined], pairs, joined)
    assert first == pytest.approx(dot_pairs(matrix[:, :7], queries[:, :7], pairs), rel=1e-12, abs=1e-13)
    assert first + rest == pytest.approx(expected, rel=1e-12, abs=1e-13)
    apart = dot_spaces([matrix[:, part] for part in joined], [queries[:, part] for part in joined], pairs)
    assert apart.tolist() == [first.tolist(), rest.tolist()]


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
    out = exact.multiply(queries, matrix)
    truth = queries.astype(np.float64) @ matrix.astype(np.float64).T
    assert np.all(np.abs(out - truth).max(axis=1) < doubts_of(truth.max(axis=1)) / 2)


@pytest.mark.parametrize(("block", "dims"), [(1, (8,)), (7, (8, 12, 5)), (10, ()), (512, (8, 12, 5))])
def test_blocks_of_scores_are_the_mean_over_encoders(monkeypatch: pytest.MonkeyPatch, block: int, dims: Any) -> None:
    monkeypatch.setattr(exact, "_BLOCK", block)
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
        assert len(scores) <= block, "memory does not grow with the photos"
        found.append(scores)
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
