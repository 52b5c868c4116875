"""Matrix products by NumPy and ONNX Runtime: errors below half of the doubt, and equal rankings."""

import os
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from data.arrays import as_unit_rows
from data.contracts import VectorTable
from recognize.scoring import products
from recognize.scoring.exact import doubts_of
from recognize.scoring.fusion import FusionWeights, default
from recognize.scoring.knowledge import Knowledge
from recognize.scoring.products import Product
from recognize.scoring.stages import Queries
from recognize.scoring.vr_rag import vr_rag_v1, vr_rag_v2


def unit_rows(n: Any, dim: Any, seed: int = 0) -> Any:
    return as_unit_rows(np.random.default_rng(seed).standard_normal((n, dim)))


def rows_all_alike(n: Any, dim: Any, seed: int = 0) -> Any:
    """Return nearly equal rows: partial sums of their products grow to 1, where float32 rounds most."""
    return as_unit_rows(np.ones(dim) + 0.01 * np.random.default_rng(seed).standard_normal((n, dim)))


def rows_of_two_values(n: Any, dim: Any, seed: int = 0) -> Any:
    """Return rows of two values: their sums round in the same direction at every step."""
    return as_unit_rows(np.where(np.random.default_rng(seed).random((n, dim)) < 0.02, 1.01, 1.0))


MULTIPLIERS = [products.multiply_by_numpy, products.multiply_by_onnx]


@pytest.fixture(params=MULTIPLIERS)
def multiply(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(products, "_LARGE", 0)
    monkeypatch.setattr(products, "onnx_is_faster", lambda: request.param is products.multiply_by_onnx)
    return request.param


@pytest.mark.parametrize("make", [unit_rows, rows_all_alike, rows_of_two_values])
@pytest.mark.parametrize(
    ("n_photos", "n_rows", "dim"),
    [(1, 1, 1), (37, 301, 1024), (130, 900, 2304)],
)
def test_product_errors_are_below_half_of_the_doubt(
    multiply: Any, make: Any, n_photos: int, n_rows: int, dim: int
) -> None:
    queries, matrix = make(n_photos, dim), make(n_rows, dim, seed=1)
    out = np.empty((n_photos, n_rows), dtype=np.float32)
    multiply(queries, matrix, out)
    exact = queries.astype(np.float64) @ matrix.astype(np.float64).T
    assert np.all(np.abs(out - exact).max(axis=1) < doubts_of(exact.max(axis=1)) / 2)


@pytest.mark.parametrize("layout", [np.asfortranarray, np.float64, lambda rows: np.repeat(rows, 2, axis=1)[:, ::2]])
def test_vectors_of_any_layout_are_multiplied(multiply: Any, layout: Any) -> None:
    queries, matrix = unit_rows(4, 6), unit_rows(5, 6, seed=1)
    for given in ((layout(queries), matrix), (queries, layout(matrix))):
        ((_, (scores,)),) = products.score_blocks(4, [Product((given[0],), (given[1],))])
        assert scores == pytest.approx(queries @ matrix.T, abs=1e-6)


@pytest.mark.parametrize(
    ("block", "term", "dims"), [(1, 10, (8,)), (7, 40, (8, 12, 5)), (10, 10**6, ()), (512, 10**6, (8, 12, 5))]
)
def test_blocks_of_scores_are_the_mean_over_encoders(
    multiply: Any, monkeypatch: pytest.MonkeyPatch, block: int, term: Any, dims: Any
) -> None:
    monkeypatch.setattr(products, "_BLOCK", block)
    monkeypatch.setattr(products, "_TERM", term)
    queries = tuple(unit_rows(10, dim, seed=dim) for dim in dims)
    matrices = tuple(unit_rows(23, dim, seed=dim + 1) for dim in dims)
    pairs = zip(queries, matrices, strict=True)
    total = sum((q.astype(np.float64) @ m.T for q, m in pairs), start=np.zeros((10, 23 if dims else 0)))
    found, photos = [], []
    asked = [Product(queries, matrices)]
    if dims:  # the same with the encoders' columns side by side
        asked.append(Product(queries, (np.concatenate(matrices, axis=1),)))
    for at, (scores, *joined) in products.score_blocks(10, asked):
        photos += range(10)[at]
        found.append(scores.copy())
        assert all(other == pytest.approx(scores, abs=1e-6) for other in joined)
    assert photos == list(range(10))
    assert np.concatenate(found) == pytest.approx(total / max(1, len(dims)), abs=1e-6)


def test_rankings_do_not_depend_on_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every vector occurs twice, so ties are everywhere."""
    n, dim = 300, 768

    def table(per_species: Any, seed: Any) -> VectorTable:
        half = unit_rows(n * per_species // 2, dim, seed)
        owners = np.repeat(np.arange(n), per_species)
        ids = tuple(map(str, range(len(owners))))
        return VectorTable(ids=ids, owners=owners, vectors=np.concatenate([half, half]))

    chunks, images = tuple(table(2, seed) for seed in (1, 2)), tuple(table(1, seed) for seed in (3, 4))
    knowledge = Knowledge(n_species=n, names=("a", "b"), chunks=chunks, anchors=table(1, 5), images=images)
    queries = Queries(text_image=(unit_rows(70, dim, 6), unit_rows(70, dim, 7)), visual=unit_rows(70, dim, 8))
    monkeypatch.setattr(products, "_LARGE", 0)

    def rank(by_onnx: Any) -> Any:
        monkeypatch.setattr(products, "onnx_is_faster", lambda: by_onnx)
        weights = FusionWeights(text=0.3, visual=1.0)
        presets = (
            vr_rag_v1(knowledge, queries),
            vr_rag_v2(knowledge, queries),
            default(knowledge, queries, weights=weights),
        )
        return [ranking for rankings in presets for ranking in rankings]

    for one, other in zip(rank(by_onnx=True), rank(by_onnx=False), strict=True):
        assert one.species.tolist() == other.species.tolist()
        assert {stage: scores.tolist() for stage, scores in one.stages.items()} == {
            stage: scores.tolist() for stage, scores in other.stages.items()
        }
        assert one.scores[:10].tolist() == other.scores[:10].tolist()


def test_memory_for_scores_does_not_grow_with_the_number_of_photos() -> None:
    matrix = unit_rows(1500, 8)

    def peak(n_photos: Any) -> Any:
        queries = unit_rows(n_photos, 8, seed=1)
        tracemalloc.start()
        asked = [Product((queries,), (matrix,)), Product((queries,) * 2, (matrix,) * 2)]
        for _ in products.score_blocks(n_photos, asked):
            pass
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    assert peak(2200) < 1.1 * peak(550)


def test_a_small_product_runs_without_a_speed_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise AssertionError("a trial")

    monkeypatch.setattr(products, "onnx_is_faster", refuse)
    for _ in products.score_blocks(40, [Product((unit_rows(40, 8),), (unit_rows(700, 8),))]):
        pass
    monkeypatch.setattr(products, "_LARGE", 40 * 700 * 8)
    with pytest.raises(AssertionError, match="a trial"):
        next(products.score_blocks(40, [Product((unit_rows(40, 8),), (unit_rows(700, 8),))]))


@pytest.fixture
def no_trial_yet() -> Iterator[Any]:
    products._trial.cache_clear()
    products._session.cache_clear()
    yield
    products._trial.cache_clear()
    products._session.cache_clear()


@pytest.mark.parametrize("slow", MULTIPLIERS)
def test_the_speed_trial_runs_once_and_finds_the_slower_library(
    monkeypatch: pytest.MonkeyPatch, no_trial_yet: Any, slow: Any
) -> None:
    runs = []

    def slowed(queries: Any, matrix: Any, out: Any) -> None:
        runs.append(1)
        time.sleep(0.2)
        slow(queries, matrix, out)

    for multiply in MULTIPLIERS:  # a real product may take as long on a busy machine
        monkeypatch.setattr(products, multiply.__name__, slowed if multiply is slow else lambda *_: None)
    assert products.onnx_is_faster() == (slow.__name__ == "multiply_by_numpy")
    n_runs = len(runs)
    products.onnx_is_faster()
    assert len(runs) == n_runs > 0


def test_numpy_is_used_if_onnx_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch, no_trial_yet: Any) -> None:
    monkeypatch.setattr(products, "_LARGE", 0)
    monkeypatch.setattr(products, "__file__", "/nowhere/products.py")
    queries, matrix = unit_rows(4, 6), unit_rows(5, 6)
    ((_, (scores,)),) = products.score_blocks(4, [Product((queries,), (matrix,))])
    assert scores == pytest.approx(queries @ matrix.T, abs=1e-6)
    assert products.onnx_is_faster() is False


@pytest.fixture
def rapid_thread_switches() -> Iterator[Any]:
    """Switch threads after every few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_several_threads_can_run_the_first_product(rapid_thread_switches: Any, no_trial_yet: Any) -> None:
    queries, matrix = unit_rows(4, 6), unit_rows(5, 6, seed=1)
    expected = queries @ matrix.T
    for _ in range(5):
        products._session.cache_clear()
        barrier = threading.Barrier(8)

        def first(_: Any, barrier: Any = barrier) -> Any:
            out = np.empty((4, 5), dtype=np.float32)
            barrier.wait()
            products.multiply_by_onnx(queries, matrix, out)
            return out

        with ThreadPoolExecutor(8) as pool:
            for out in pool.map(first, range(8)):
                assert out == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("variables", "most"),
    [
        ({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "5"}, 1),
        ({"GOTO_NUM_THREADS": "1"}, 1),
        ({"OMP_NUM_THREADS": "1,2"}, 1),
        ({"OMP_NUM_THREADS": "100000"}, 4),
        ({"OMP_NUM_THREADS": "3"}, 3),
        ({"OMP_NUM_THREADS": "0"}, 4),
        ({"OMP_NUM_THREADS": "many"}, 4),
        ({}, 4),
    ],
)
def test_thread_count_follows_cores_or_openblas_setting(
    monkeypatch: pytest.MonkeyPatch, variables: Any, most: int
) -> None:
    for name in ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_DEFAULT_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    assert products.n_threads() == most
