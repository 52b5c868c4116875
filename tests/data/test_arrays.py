import numpy as np
import pytest

from data.arrays import as_unit_rows, exact_cosines


def test_cosines_are_exact_whatever_the_batch_and_near_those_of_float64() -> None:
    rng = np.random.default_rng(0)
    vectors = as_unit_rows(rng.standard_normal((500, 384)))
    vectors[400:] = vectors[:100]
    queries = as_unit_rows(rng.standard_normal((70, 384)))
    found = exact_cosines(queries, vectors)
    assert found == pytest.approx(queries.astype(np.float64) @ vectors.T.astype(np.float64), abs=1e-6)
    assert np.array_equal(found[:, 400:], found[:, :100])
    for i in (0, 33, 69):
        assert np.array_equal(exact_cosines(queries[i : i + 1], vectors[7:11])[0], found[i, 7:11])
