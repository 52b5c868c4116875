import numpy as np

from training.starter.measure import Bootstrap, values_of


def test_the_columns_by_hand() -> None:
    """top-1, top-5, hit@30, MRR@1, MRR@5, MRR@10."""
    expected = [[1] * 6, [0, 1, 1, 0, 0.5, 0.5], [0, 0, 1, 0, 0, 0.1], [0, 0, 1, 0, 0, 0], [0] * 6]
    np.testing.assert_allclose(values_of(np.array([1, 2, 10, 30, 31])), expected)


def test_the_bootstrap_draws_whole_species() -> None:
    values, species = np.array([[1.0], [1.0], [1.0], [0.0]]), np.array([0, 0, 0, 1])
    boot = Bootstrap(species)
    assert set(boot.counts.sum(axis=1)) == {2.0}
    # Both species, or one of them twice: by photo 3/4, 1 or 0; by species 1/2, 1 or 0.
    assert set(boot.means(values, species).ravel()) == {0.75, 1.0, 0.0}
    assert set(boot.means(values, species, by_species=True).ravel()) == {0.5, 1.0, 0.0}
