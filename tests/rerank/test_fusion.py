import numpy as np
import pytest

from rerank.fusion import fuse, ranks_of


def as_authors(similarities: np.ndarray, damping: float) -> tuple[np.ndarray, list[int]]:
    """Scores and order as the authors' code has them: each ranking is an ascending sort, reversed."""
    scores = np.zeros(similarities.shape[1])
    for row in similarities:
        for rank, image in enumerate(reversed(np.argsort(row).tolist()), 1):
            scores[image] += 1 / (damping + rank)
    return scores, np.argsort(scores)[::-1].tolist()


@pytest.mark.parametrize("damping", [0, 1, 60])
def test_random_score_matrices_rank_as_in_the_authors_code(damping: float) -> None:
    rng = np.random.default_rng(int(damping))
    for _ in range(200):
        m, n = int(rng.integers(1, 6)), int(rng.integers(1, 120))
        similarities = rng.normal(size=(m, n))
        expected, order = as_authors(similarities, damping)
        scores = fuse(similarities, damping=damping)
        np.testing.assert_allclose(scores, expected, atol=1e-11)
        ours = np.argsort(-scores, kind="stable").tolist()
        # Fused scores may tie: then theirs puts the later image first, ours the earlier one.
        assert [scores[i] for i in ours] == [scores[i] for i in order]
        if len(set(scores.tolist())) == n:
            assert ours == order
        mean = fuse(similarities, fusion="mean-similarity")
        np.testing.assert_allclose(mean, similarities.mean(axis=0), atol=1e-11)


def test_ties_keep_the_order_of_the_images() -> None:
    rng = np.random.default_rng(7)
    for _ in range(60):
        similarities = rng.integers(0, 4, size=(3, 30)) / 4
        for row, ranks in zip(similarities, ranks_of(similarities), strict=True):
            expected = sorted(range(30), key=lambda i, row=row: (-row[i], i))  # type: ignore[misc]
            assert [int(ranks[i]) for i in expected] == list(range(1, 31))
