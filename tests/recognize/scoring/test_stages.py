"""Ranking of photos in blocks and threads: each block gets its own scores, and results stay in order."""

import threading
import time
from typing import Any

import numpy as np
import pytest

from recognize.scoring import stages
from recognize.scoring.products import Product
from recognize.scoring.stages import Queries, Ranking, rank_photos

ROWS = np.eye(3, dtype=np.float32)


def numbered(n_photos: Any) -> Any:
    """Return products in which photo i scores i, 2 i and 3 i."""
    queries = np.arange(n_photos, dtype=np.float32)[:, None] * np.array([[1, 2, 3]], dtype=np.float32)
    return [Product((queries,), (ROWS,))]


def ranking(photo: Any) -> Ranking:
    return Ranking(species=np.array([photo]), scores=np.array([1.0]))


@pytest.mark.parametrize(("n_photos", "n_threads"), [(0, 3), (1, 1), (128, 3), (129, 3), (513, 1), (1300, 3)])
def test_each_photo_is_ranked_once_with_its_own_scores(
    monkeypatch: pytest.MonkeyPatch, n_photos: int, n_threads: int
) -> None:
    monkeypatch.setattr(stages, "n_threads", lambda: n_threads)

    def rank(photos: Any, scores: Any) -> Any:
        time.sleep(0.002 * (photos.start % 3))  # slow blocks would reveal overwritten scores
        expected = np.arange(photos.start, photos.stop)[:, None] * np.array([1, 2, 3])
        assert [block.tolist() for block in scores] == [expected.tolist()]
        return [ranking(photo) for photo in range(photos.start, photos.stop)]

    found = rank_photos(n_photos, numbered(n_photos), rank)
    assert [one.species.tolist() for one in found] == [[photo] for photo in range(n_photos)]


def test_many_photos_are_ranked_in_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "n_threads", lambda: 2)
    both = threading.Barrier(2, timeout=60)

    def rank(photos: Any, scores: Any) -> Any:
        both.wait()
        return [ranking(photo) for photo in range(photos.start, photos.stop)]

    assert len(rank_photos(512, numbered(512), rank)) == 512


def test_few_photos_are_ranked_without_threads() -> None:
    names = []

    def rank(photos: Any, scores: Any) -> Any:
        names.append(threading.current_thread())
        return [ranking(photo) for photo in range(photos.start, photos.stop)]

    rank_photos(128, numbered(128), rank)
    assert names == [threading.current_thread()]


def test_an_error_in_a_thread_stops_later_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "n_threads", lambda: 2)
    before, ranked = set(threading.enumerate()), []

    def rank(photos: Any, scores: Any) -> Any:
        ranked.append(photos.start)
        if photos.start == 128:
            raise ZeroDivisionError("of a photo")
        return [ranking(photo) for photo in range(photos.start, photos.stop)]

    with pytest.raises(ZeroDivisionError, match="of a photo"):
        rank_photos(2000, numbered(2000), rank)
    assert max(ranked) < 512
    assert set(threading.enumerate()) <= before


def test_slicing_queries_slices_every_space() -> None:
    queries = Queries(
        text_image=(np.arange(8.0).reshape(4, 2), np.arange(4.0)[:, None]), visual=np.arange(4.0)[:, None]
    )
    for part in (slice(0, 4), slice(0, 2), slice(1, 3), slice(3, 9), slice(2, 2)):
        some = queries[part]
        assert len(some) == len(range(4)[part])
        assert some.visual.tolist() == queries.visual[part].tolist()
        assert [q.tolist() for q in some.text_image] == [q[part].tolist() for q in queries.text_image]
