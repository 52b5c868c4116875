"""Whichever library multiplies, scores are good to half of what counts as doubt, and rankings are the same."""

import numpy as np
import pytest

from data.arrays import as_unit_rows
from data.contracts import VectorTable
from recognize import products
from recognize.exact import DOUBT
from recognize.fusion import FusionWeights, default
from recognize.knowledge import Knowledge
from recognize.retrieve import vr_rag_v1, vr_rag_v2
from recognize.stages import Queries


def unit_rows(n, dim, seed=0):
    return as_unit_rows(np.random.default_rng(seed).standard_normal((n, dim)))


def rows_all_alike(n, dim, seed=0):
    """All partial sums of their products grow to 1: where float32 rounds most."""
    return as_unit_rows(np.ones(dim) + 0.01 * np.random.default_rng(seed).standard_normal((n, dim)))


@pytest.fixture(params=["numpy", "onnx"])
def multiplier(request, monkeypatch):
    monkeypatch.setattr(products, "_LARGE", 0)
    monkeypatch.setattr(products, "onnx_is_quicker", lambda: request.param == "onnx")
    return request.param


@pytest.mark.parametrize("make", [unit_rows, rows_all_alike])
@pytest.mark.parametrize(("n_photos", "n_rows", "dim"), [(1, 1, 1), (1, 700, 768), (37, 301, 1024), (130, 900, 2304)])
def test_a_product_is_good_to_half_of_what_counts_as_doubt(multiplier, make, n_photos, n_rows, dim):
    queries, matrix = make(n_photos, dim), make(n_rows, dim, seed=1)
    out = np.empty((n_photos, n_rows), dtype=np.float32)
    products.multiply(queries, matrix, out)
    assert np.abs(out - queries.astype(np.float64) @ matrix.astype(np.float64).T).max() < DOUBT / 2


@pytest.mark.parametrize("block", [1, 7, 10, 512])
@pytest.mark.parametrize("term", [10, 40, 10**6])
@pytest.mark.parametrize("dims", [(), (8,), (8, 12, 5)])
def test_blocks_of_scores_are_the_mean_over_encoders(multiplier, monkeypatch, block, term, dims):
    monkeypatch.setattr(products, "_BLOCK", block)
    monkeypatch.setattr(products, "_TERM", term)
    queries = tuple(unit_rows(10, dim, seed=dim) for dim in dims)
    matrices = tuple(unit_rows(23, dim, seed=dim + 1) for dim in dims)
    pairs = zip(queries, matrices, strict=True)
    total = sum((q.astype(np.float64) @ m.T for q, m in pairs), start=np.zeros((10, 23 if dims else 0)))
    found, photos = [], []
    for at, (scores,) in products.score_blocks(10, [(queries, matrices)]):
        photos += range(10)[at]
        found.append(scores.copy())
    assert photos == list(range(10))
    assert np.concatenate(found) == pytest.approx(total / max(1, len(dims)), abs=1e-6)


def test_rankings_are_the_same_to_the_last_digit(monkeypatch):
    """Every vector stands there twice, so that ties are everywhere."""
    n, dim = 300, 768

    def table(per_species, seed):
        half = unit_rows(n * per_species // 2, dim, seed)
        owners = np.repeat(np.arange(n), per_species)
        ids = tuple(map(str, range(len(owners))))
        return VectorTable(ids=ids, owners=owners, vectors=np.concatenate([half, half]))

    chunks, images = tuple(table(2, seed) for seed in (1, 2)), tuple(table(1, seed) for seed in (3, 4))
    knowledge = Knowledge(n_species=n, names=("a", "b"), chunks=chunks, anchors=table(1, 5), images=images)
    queries = Queries(text_image=(unit_rows(70, dim, 6), unit_rows(70, dim, 7)), visual=unit_rows(70, dim, 8))
    monkeypatch.setattr(products, "_LARGE", 0)

    def rank(by_onnx):
        monkeypatch.setattr(products, "onnx_is_quicker", lambda: by_onnx)
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


@pytest.mark.parametrize("layout", [np.asfortranarray, np.float64, lambda rows: np.repeat(rows, 2, axis=0)[::2]])
def test_rows_of_any_layout_are_multiplied(multiplier, layout):
    queries, matrix, out = unit_rows(4, 6), unit_rows(5, 6), np.empty((4, 5), dtype=np.float32)
    products.multiply(layout(queries), layout(matrix), out)
    assert out == pytest.approx(queries @ matrix.T, abs=1e-6)


def test_addresses_of_another_layout_are_refused():
    queries, matrix, out = unit_rows(4, 6), unit_rows(5, 6), np.empty((4, 5), dtype=np.float32)
    with pytest.raises(ValueError, match=r"expected q as float32 in C order, got float32"):
        products.multiply_by_onnx(np.asfortranarray(queries), matrix, out)
    with pytest.raises(ValueError, match=r"expected s as float32 in C order, got float64"):
        products.multiply_by_onnx(queries, matrix, out.astype(np.float64))


def test_the_trial_gives_an_answer_once():
    products.onnx_is_quicker.cache_clear()
    assert products.onnx_is_quicker() in (True, False)
    assert products.onnx_is_quicker.cache_info().hits == 0
    products.onnx_is_quicker()
    assert products.onnx_is_quicker.cache_info().hits == 1


@pytest.mark.parametrize(
    ("variables", "n"),
    [({"OPENBLAS_NUM_THREADS": "3", "OMP_NUM_THREADS": "5"}, 3), ({"OMP_NUM_THREADS": "5"}, 5)],
)
def test_as_many_threads_as_a_blas_would_take(monkeypatch, variables, n):
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert products._n_threads() == n
    for bad in ("0", "-2", "many", ""):
        for name in variables:
            monkeypatch.setenv(name, bad)
        assert products._n_threads() >= 1
