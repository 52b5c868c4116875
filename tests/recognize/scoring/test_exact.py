"""Rough scores settle as exact ones would have, wherever the roughness lies within what is allowed for."""

from typing import Any

import numpy as np
import pytest

from recognize.scoring.exact import DOUBT, find_pools, settle
from recognize.scoring.pairs import Pairs, dot_pairs, dot_spaces, rough_products


def scores_in_clusters(rng: Any, n_photos: Any, n_rows: Any, scale: float = 1.0) -> Any:
    """Return exact scores, many of them equal or a hair apart, and rough ones as far off as they may be."""
    centres = rng.choice(np.linspace(-0.25, 0.25, 9), size=(n_photos, n_rows))
    exact = centres + rng.integers(-3, 4, size=centres.shape) * DOUBT / 20
    off = rng.uniform(-0.45, 0.45, size=exact.shape) * DOUBT / 4  # half of the doubt at scores of a quarter
    return scale * exact, (scale * exact + max(scale, 1.0) * off).astype(np.float32)  # and of less


@pytest.mark.parametrize("m", [1, 3, 40, 299, 300, 400])
@pytest.mark.parametrize("scale", [0.02, 1.0, 4.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_pool_is_of_the_best_exact_scores_and_of_equal_ones_of_the_first_rows(
    m: int, seed: int, scale: float
) -> None:
    exact, rough = scores_in_clusters(np.random.default_rng(seed), 5, 300, scale)
    pool = find_pools(rough, m, lambda pairs: exact[pairs.photos, pairs.items])
    best = np.sort(np.argsort(-np.round(exact, 12), axis=1, kind="stable")[:, :m], axis=1)
    assert pool.photos.tolist() == np.repeat(np.arange(5), best.shape[1]).tolist()
    assert pool.items.tolist() == best.ravel().tolist()


@pytest.mark.parametrize("m", [1, 2, 5, 30, 100])
@pytest.mark.parametrize("n_rows", [101, 640, 4003])
def test_a_pool_misses_none_of_scores_that_are_all_different(m: int, n_rows: int) -> None:
    rough = np.random.default_rng(m).standard_normal((20, n_rows)).astype(np.float32)
    pool = find_pools(rough, m, lambda pairs: rough[pairs.photos, pairs.items].astype(np.float64))
    best = np.sort(np.argsort(-rough, axis=1, kind="stable")[:, :m], axis=1)
    assert pool.photos.tolist() == np.repeat(np.arange(20), m).tolist()
    assert pool.items.tolist() == best.ravel().tolist()


@pytest.mark.parametrize("n_good", [1, 3, 9])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_in_doubt_at_the_end_of_a_pool_is_told_by_the_best_score(n_good: int, seed: int) -> None:
    """Sums that cancel pass through values as large as other sums, and are rounded as much."""
    rng, m = np.random.default_rng(seed), 10
    exact = 0.1 + rng.integers(-3, 4, size=(5, 300)) * DOUBT / 20
    best = rng.permuted(np.arange(300)[None].repeat(5, 0), axis=1)[:, :n_good]
    np.put_along_axis(exact, best, np.array([1.0, *[0.2] * (n_good - 1)])[None].repeat(5, 0), axis=1)
    rough = (exact + rng.uniform(-0.45, 0.45, size=exact.shape) * DOUBT).astype(np.float32)
    pool = find_pools(rough, m, lambda pairs: exact[pairs.photos, pairs.items])
    expected = np.sort(np.argsort(-np.round(exact, 12), axis=1, kind="stable")[:, :m], axis=1)
    assert pool.items.tolist() == expected.ravel().tolist()


def test_a_pool_of_scores_far_apart_asks_for_no_exact_score() -> None:
    rough = np.random.default_rng(0).permuted(np.linspace(-1, 1, 400, dtype=np.float32)[None].repeat(3, 0), axis=1)

    def refuse(pairs: Any) -> None:
        raise AssertionError(f"asked for {len(pairs)} exact scores")

    assert find_pools(rough, 7, refuse).starts(3).tolist() == [0, 7, 14, 21]


@pytest.mark.parametrize("counts", [[4, 4, 4], [1, 60, 0, 7], [0, 0, 5], [0]])
@pytest.mark.parametrize("scale", [0.02, 1.0, 4.0])
@pytest.mark.parametrize("seed", range(3))
def test_pairs_settle_in_the_order_of_exact_scores_photo_by_photo(counts: list[int], seed: int, scale: float) -> None:
    exact, rough = (scores[0] for scores in scores_in_clusters(np.random.default_rng(seed), 1, sum(counts), scale))
    photos = np.repeat(np.arange(len(counts)), counts)
    settled = settle(Pairs(photos, np.arange(len(photos))), rough, lambda at: (exact[at], {}), n_shown=3)
    order = np.lexsort((np.arange(len(photos)), -np.round(exact, 12), photos))
    assert settled.order.tolist() == order.tolist()
    assert settled.scores == pytest.approx(exact[order], abs=DOUBT)


def test_what_is_in_doubt_may_differ_from_photo_to_photo() -> None:
    rough = np.array([0.1, 0.2, 0.1, 0.2])
    exact = np.array([0.3, 0.2, 0.3, 0.2])
    pairs = Pairs(np.array([0, 0, 1, 1]), np.arange(4))
    settled = settle(pairs, rough, lambda at: (exact[at], {}), n_shown=0, doubts=np.array([0.01, 0.15]))
    assert settled.order.tolist() == [1, 0, 2, 3]


@pytest.mark.parametrize("n_shown", [0, 1, 4, 100])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_shown_is_exact_and_of_the_first_heads_of_each_photo(n_shown: int, seed: int) -> None:
    """Heads here: of the pairs of one photo and label, the one that ranks first."""
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


@pytest.mark.parametrize(
    "counts",
    [[3, 3, 3, 3], [20] * 9, [0, 200, 1, 0], [150, 150], [0, 0], [10, 12, 10, 10, 0, 10, 120, 8, 8, 8, 300, 2]],
)
def test_products_of_pairs_are_those_of_each_photo_with_its_rows(counts: Any) -> None:
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


def test_equal_rows_have_equal_products_to_the_last_bit() -> None:
    rng = np.random.default_rng(0)
    matrix = np.tile(rng.standard_normal((1, 771)).astype(np.float32), (200, 1))
    queries = rng.standard_normal((1, 771)).astype(np.float32)
    for n in (1, 5, 7, 129, 200):
        products = dot_pairs(matrix, queries, Pairs(np.zeros(n, dtype=np.intp), np.arange(n)))
        assert len(set(products.tolist()) | set(dot_pairs(matrix, queries, Pairs(np.zeros(1, int), np.arange(1))))) == 1
