"""Depth of re-ranking: the first images of the first stage are re-ranked, the others stay below them."""

from __future__ import annotations

from dataclasses import replace

from data.records import Job, RankedImage
from rerank.ranked_images import first_stage, first_stage_ranks
from rerank.tally import Reranker, Tally


class DepthReranker:
    """Re-ranks the first `depth` images of a job; a `Reranker`.

    The others follow in first-stage order, unread. Their score is minus their rank, which is below that of every judged
    or unreadable image. Where no image of the first ones could be judged, they are error rows too: first-stage order is
    never returned as a re-ranking.

    Raises:
        ValueError: if the depth is below 1.
    """

    def __init__(self, reranker: Reranker, depth: int) -> None:
        if depth < 1:
            raise ValueError(f"depth: expected at least 1, got {depth}")
        self._reranker = reranker
        self._depth = depth

    @property
    def tally(self) -> Tally:
        """The counts of the method."""
        return self._reranker.tally

    async def rank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first."""
        ranked = await self._reranker.rank(first_of(job, self._depth))
        has_failed = bool(ranked) and all(image.status == "error" for image in ranked)
        below = [replace(image, score=-float(image.rank)) for image in first_stage(job)[len(ranked) :]]
        if has_failed:
            below = [replace(image, status="error", error=ranked[0].error) for image in below]
        return ranked + below

    def close(self) -> None:
        """Release the threads of the method."""
        self._reranker.close()


def first_of(job: Job, depth: int | None) -> Job:
    """Return the job with the first `depth` images of the first stage, in the order of the job; None keeps all.

    Example:
        >>> from data.records import JobImage
        >>> images = tuple(JobImage(image_id=name, path="", score=score) for name, score in (("a", 0.1), ("b", 0.9)))
        >>> [image.image_id for image in first_of(Job(query_id="q", text="", candidates=images), 1).candidates]
        ['b']
    """
    if depth is None or len(job.candidates) <= depth:
        return job
    ranks = first_stage_ranks(job)
    kept = (image for image, rank in zip(job.candidates, ranks, strict=True) if rank <= depth)
    return replace(job, candidates=tuple(kept))
