"""Contract of re-rankers: the counts of a run, and the depth to which images of the first stage are re-ranked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from data.errors import CostStop, FieldmarkError, NotCached, SourceError
from data.records import Job, RankedImage
from data.words import plural
from rerank.queries import Query, query_of
from rerank.ranked_images import first_stage, first_stage_ranks
from rerank.scheduling import current_query

FAILURES: Final = (SourceError, CostStop, NotCached)
"""Errors of models that fail a photo or a query, but not the run; the next run asks again."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts of a run so far; methods add their own."""

    words: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Count -> its words; the first count is named even if it is zero."""

    failures: list[FieldmarkError] = field(default_factory=list)
    """Errors of photos, rankings or whole queries, in the order in which they happened."""
    counts: Counter[str] = field(default_factory=Counter)
    unseen: dict[str, str] = field(default_factory=dict)
    """Query id -> why its ranking by an encoder means little."""

    @property
    def is_complete(self) -> bool:
        """Whether everything went as asked; repaired replies count as complete, fallbacks do not."""
        return not self.failures

    @property
    def is_void(self) -> bool:
        """Whether no reply of a model was usable, so that the ranking means nothing."""
        return False

    def lines(self) -> list[str]:
        """Return the counts in words."""
        first = [plural(self.counts[name], *words) for name, words in self.words.items()][:1]
        return first + self.in_words(dict([*self.words.items()][1:]))

    def in_words(self, words: Mapping[str, tuple[str, str]]) -> list[str]:
        """Return counts in words; zero counts are left out."""
        return [plural(n, *words[name]) for name in words if (n := self.counts[name])]

    def warnings(self) -> list[str]:
        """Return the fallbacks that the user should know of."""
        return [f"query {query_id}: {why} The order means little." for query_id, why in self.unseen.items()]


class Reranker(Protocol):
    """Ranks the images of jobs, many at once: permutations of their input, ties in first-stage order."""

    @property
    def tally(self) -> Tally:
        """The counts so far."""

    async def rank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first."""

    def close(self) -> None:
        """Release threads."""


def begin(job: Job) -> tuple[list[int], Query]:
    """Return first-stage ranks and query of a job, for which the calls of this task count from now on."""
    ranks = first_stage_ranks(job)
    query = query_of(job)
    current_query.set(job.query_id)
    return ranks, query


class DepthReranker:
    """Re-ranks the first `depth` images of a job; a `Reranker`.

    The others follow in first-stage order, unread. Their score is minus their rank, which is below that of every judged
    or unreadable image. Where no image of the first ones could be judged, they are error rows too: first-stage order is
    never returned as a re-ranking.
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
    """Return the job with the first `depth` images of the first stage, in the order of the job; None keeps all."""
    if depth is None or len(job.candidates) <= depth:
        return job
    ranks = first_stage_ranks(job)
    kept = (image for image, rank in zip(job.candidates, ranks, strict=True) if rank <= depth)
    return replace(job, candidates=tuple(kept))
