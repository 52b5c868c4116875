"""Depth: the first images are re-ranked, the others stay below in first-stage order."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from data.records import Job, JobImage, RankedImage
from rerank.ranked_images import ScoredImage, first_stage_ranks, ranked_by_score
from rerank.reranker import DepthReranker, Tally

SCORES = {"a": 0.2, "b": 0.9, "c": 0.5, "d": 0.9, "e": 0.1}  # first stage: b d c a e


class Backwards:
    """Ranks in reverse first-stage order; images named in `broken` are error rows."""

    def __init__(self, broken: str = "") -> None:
        self.tally, self.broken, self.seen, self.is_closed = Tally(), broken, [], False

    async def rank(self, job: Job) -> list[RankedImage]:
        ranks = first_stage_ranks(job)
        self.seen.append([image.image_id for image in job.candidates])
        scored = [
            ScoredImage(error="broken") if image.image_id in self.broken else ScoredImage(score=rank / 100)
            for image, rank in zip(job.candidates, ranks, strict=True)
        ]
        return ranked_by_score(job, scored, ranks)

    def close(self) -> None:
        self.is_closed = True


def ranked(depth: int, broken: str = "") -> tuple[list[RankedImage], Backwards]:
    candidates = tuple(JobImage(image_id=name, path=name, score=score) for name, score in SCORES.items())
    inner = Backwards(broken)
    job = Job(query_id="q", text="", candidates=candidates)
    return asyncio.run(DepthReranker(inner, depth).rank(job)), inner


def test_only_the_first_images_reach_the_method() -> None:
    rows, inner = ranked(3)
    assert inner.seen == [["b", "c", "d"]]  # in the order of the job
    assert [row.image_id for row in rows] == ["c", "d", "b", "a", "e"]
    assert [row.rank for row in rows] == [1, 2, 3, 4, 5]
    assert [row.first_stage_rank for row in rows] == [3, 2, 1, 4, 5]
    assert [row.score for row in rows] == [0.03, 0.02, 0.01, -4, -5]


def test_an_unreadable_image_stays_above_the_images_below_the_depth() -> None:
    rows, _ = ranked(3, broken="d")
    assert [row.image_id for row in rows] == ["c", "b", "d", "a", "e"]
    assert [row.status for row in rows] == ["ok", "ok", "error", "ok", "ok"]
    assert [row.score for row in rows] == sorted((row.score for row in rows), reverse=True)


def test_a_query_whose_first_images_all_fail_fails_as_a_whole() -> None:
    rows, _ = ranked(2, broken="abcde")
    assert [row.image_id for row in rows] == ["b", "d", "c", "a", "e"]
    assert {(row.status, row.error) for row in rows} == {("error", "broken")}


def test_closing_reaches_the_method_and_a_depth_below_one_is_refused() -> None:
    inner: Any = Backwards()
    DepthReranker(inner, 1).close()
    assert inner.is_closed
    with pytest.raises(ValueError, match="depth: expected at least 1"):
        DepthReranker(inner, 0)
