from typing import Any

import numpy as np
import pytest

from data.arrays import as_unit_rows
from recognize.scoring.ranking import BLOCK, Pairs, best_rows, cosines, pair_cosines


def unit_rows(n: Any, dim: Any, seed: int = 0) -> Any:
    return as_unit_rows(np.random.default_rng(seed).standard_normal((n, dim)))


@pytest.mark.parametrize(
    ("n_photos", "n_rows", "dim"), [(1, 1, 1), (37, 301, 1024), (130, 900, 2304), (BLOCK, 0, 8), (64, 2584, 256)]
)
def test_products_of_unit_rows_differ_from_float64_by_less_than_a_millionth(
    n_photos: int, n_rows: int, dim: int
) -> None:
    photos, rows = unit_rows(n_photos, dim), unit_rows(n_rows, dim, seed=1)
    truth = photos.astype(np.float64) @ rows.astype(np.float64).T
    assert np.abs(cosines(photos, rows) - truth).max(initial=0) < 1e-6
    pairs = Pairs(np.repeat(np.arange(n_photos), n_rows), np.tile(np.arange(n_rows), n_photos))
    assert np.abs(pair_cosines(photos, rows, pairs) - truth.ravel()).max(initial=0) < 1e-6
    assert np.isnan(pair_cosines(photos, rows, Pairs(np.arange(n_photos), np.full(n_photos, -1)))).all()


@pytest.mark.parametrize(("n_rows", "dim"), [(1, 3), (23, 10), (301, 384), (2591, 256)])
def test_a_product_has_the_same_bits_at_every_place_of_photo_and_row(n_rows: int, dim: int) -> None:
    rows = unit_rows(n_rows, dim)
    rows[::7] = rows[0]
    photos = unit_rows(2 * BLOCK + 3, dim, seed=1)
    among = cosines(photos, rows)
    for at, photo in enumerate(photos):
        assert np.array_equal(cosines(photo[None], rows)[0], among[at]), at
    assert (among[:, ::7] == among[:, :1]).all(), "equal rows are tied"


@pytest.mark.parametrize("m", [1, 40, 299, 400])
def test_a_pool_has_the_best_scores_and_of_equal_ones_the_first_rows(m: int) -> None:
    scores = np.random.default_rng(m).integers(0, 25, size=(5, 300)).astype(np.float32)
    pool = best_rows(scores, m)
    best = np.sort(np.argsort(-scores, axis=1, kind="stable")[:, :m], axis=1)
    assert pool.photos.tolist() == np.repeat(np.arange(5), best.shape[1]).tolist()
    assert pool.items.tolist() == best.ravel().tolist()
