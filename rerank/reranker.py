"""Re-rankers: their contract, the rows and counts that they return, and runs of many jobs."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Final, Protocol

from data.errors import BadInput, CostStop, FieldmarkError, NotCached, NothingReadable, SourceError, UsageError
from data.event_loop import run
from data.records import Job, RankedImage
from data.words import plural
from rerank.queries import Query, query_of
from rerank.scheduling import all_of, current_query, current_run

UNREADABLE_SCORE: Final = -1.0
"""Score of an image that could not be read or judged: run files need a number, and no method scores lower."""


def rows_of(job: Job) -> list[RankedImage]:
    """Return the candidates as rows of the first stage, in the order of the job, to be filled in by a method."""
    return [
        RankedImage(query_id=job.query_id, image_id=image.image_id, rank=rank, score=image.score, first_stage_rank=rank)
        for rank, image in zip(first_stage_ranks(job), job.candidates, strict=True)
    ]


def ranked_by_score(rows: Iterable[RankedImage]) -> list[RankedImage]:
    """Return rows by falling score, those with an error last, ties in first-stage order."""
    in_order = sorted(rows, key=lambda row: (row.error is not None, -row.score, row.first_stage_rank))
    return [
        replace(row, rank=rank, score=round(row.score, 6))
        if row.error is None
        else replace(row, rank=rank, score=UNREADABLE_SCORE, status="error")
        for rank, row in enumerate(in_order, start=1)
    ]


def first_stage_ranks(job: Job) -> list[int]:
    """Return the rank of each candidate in the first stage, by falling score, ties in the order of the job.

    Raises:
        BadInput: if an image id occurs twice or a score is not a finite number.
    """
    invalid = next((image for image in job.candidates if not isfinite(image.score)), None)
    if invalid is not None:
        raise BadInput(
            f"Job {job.query_id}: expected a finite score for image {invalid.image_id!r}, got {invalid.score}."
        )
    repeated = [image_id for image_id, n in Counter(image.image_id for image in job.candidates).items() if n > 1]
    if repeated:
        raise BadInput(f"Job {job.query_id}: image {repeated[0]!r} is listed twice.")
    order = sorted(range(len(job.candidates)), key=lambda i: -job.candidates[i].score)
    ranks = [0] * len(order)
    for rank, i in enumerate(order, start=1):
        ranks[i] = rank
    return ranks


def first_stage(job: Job) -> list[RankedImage]:
    """Return the images in first-stage order, the baseline of every re-ranking."""
    return sorted(rows_of(job), key=lambda row: row.rank)


def error_rows(job: Job, error: str) -> list[RankedImage]:
    """Return all images of a job as error rows in first-stage order, with a score below any other."""
    return [replace(image, score=UNREADABLE_SCORE, status="error", error=error) for image in first_stage(job)]


def total_cost(costs: Iterable[float | None]) -> float | None:
    """Return the sum in US dollars; None if any cost is unknown."""
    known = list(costs)
    return None if None in known else sum(cost for cost in known if cost is not None)


def share_of(cost_usd: float | None, n: int) -> float | None:
    """Return the share of each of `n` images in a cost; None if it is unknown."""
    return None if cost_usd is None else cost_usd / max(1, n)


FAILURES: Final = (SourceError, CostStop, NotCached)
"""Errors of models that fail a photo or a query, but not the run; the next run asks again."""
MOST_EXAMPLES: Final = 5


Words = Mapping[str, tuple[str, str]]
"""Name of a count -> its words for one and for many."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts of a run so far, and what went wrong; each method counts under names of its own."""

    words: Words = field(default_factory=dict)
    """Words of the counts, in the order shown."""
    warned: Words = field(default_factory=dict)
    """Words of the counts that the user is warned of."""
    counts: Counter[str] = field(default_factory=Counter)
    origins: Counter[str] = field(default_factory=Counter)
    """Origins of the first count, such as the answers of `logprobs`, with their numbers."""
    examples: dict[str, list[str]] = field(default_factory=dict)
    """Count of a warning -> queries or reasons; the first few are named."""
    remarks: list[str] = field(default_factory=list)
    """Warnings about single queries."""
    failures: list[FieldmarkError] = field(default_factory=list)
    """Errors of photos, rankings or whole queries, in the order in which they happened."""
    has_fallbacks: bool = False
    """Whether something went another way than asked for, without an error."""

    @property
    def is_complete(self) -> bool:
        """Whether everything went as asked; repaired replies count as complete, fallbacks do not."""
        return not self.failures and not self.has_fallbacks

    @property
    def is_void(self) -> bool:
        """Whether a judge gave no usable answer at all, so that the ranking means nothing."""
        return 0 < self.counts["answers"] == self.counts["unscored"]

    def warn(self, name: str, *examples: str) -> None:
        """Count what the user is warned of, once for each query or reason."""
        self.counts[name] += len(examples)
        self.examples.setdefault(name, []).extend(examples)

    def lines(self) -> list[str]:
        """Return the counts in words; zero counts are left out."""
        found = [plural(self.counts[name], *words) for name, words in self.words.items() if self.counts[name]]
        if self.origins:
            found[0] += f" ({', '.join(f'{origin} {n:,}' for origin, n in sorted(self.origins.items()))})"
        return found

    def warnings(self) -> list[str]:
        """Return the fallbacks that the user should know of."""
        found = []
        for name, words in self.warned.items():
            if n := self.counts[name]:
                named = list(dict.fromkeys(self.examples.get(name, ())))
                more = "; ..." if len(named) > MOST_EXAMPLES else ""
                found.append(plural(n, *words) + (f": {'; '.join(named[:MOST_EXAMPLES])}{more}" if named else ""))
        return found + self.remarks


class Reranker(Protocol):
    """Ranks the images of jobs, many at once: permutations of their input, ties in first-stage order."""

    @property
    def tally(self) -> Tally:
        """The counts so far."""

    async def rank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first."""


def begin(job: Job) -> tuple[list[RankedImage], Query]:
    """Return the rows and the query of a job, for which the calls of this task count from now on."""
    rows, query = rows_of(job), query_of(job)
    current_query.set(job.query_id)
    return rows, query


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


def first_of(job: Job, depth: int | None) -> Job:
    """Return the job with the first `depth` images of the first stage, in the order of the job; None keeps all."""
    if depth is None or len(job.candidates) <= depth:
        return job
    ranks = first_stage_ranks(job)
    kept = (image for image, rank in zip(job.candidates, ranks, strict=True) if rank <= depth)
    return replace(job, candidates=tuple(kept))


N_OPEN: Final = 4  # queries at a time: enough to fill the slots, few enough that the first results come soon
MOST_REASONS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The ranked images of a run, and its counts."""

    rows: Mapping[str, list[RankedImage]]
    """Query id -> its images, best first."""
    tally: Tally

    @property
    def failed(self) -> list[RankedImage]:
        """The images that could not be judged."""
        return [row for rows in self.rows.values() for row in rows if row.status == "error"]

    @property
    def reasons(self) -> str:
        """The errors of these images, each once: the first few, and the number of others."""
        texts = list(dict.fromkeys(row.error or "no reason given" for row in self.failed))
        n_more = len(texts) - MOST_REASONS
        return "; ".join(texts[:MOST_REASONS]) + (f"; and {n_more:,} more" if n_more > 0 else "")

    @property
    def n_images(self) -> int:
        """All images."""
        return sum(map(len, self.rows.values()))

    @property
    def is_complete(self) -> bool:
        """Whether every image was judged, without fallbacks."""
        return not self.failed and self.tally.is_complete

    def raise_if_all_failed(self) -> None:
        """Raise the cause if no image was judged: the first error, those of single images last and together.

        Raises:
            NothingReadable: if the photos were refused for different reasons; it names the first ones.
            FieldmarkError: otherwise the cause, such as SourceUnavailable, CostStop, NoEvidence or UsageError.
        """
        failed = self.failed
        if len(failed) == self.n_images and (failed or self.tally.failures):
            causes = sorted(self.tally.failures, key=lambda error: isinstance(error, BadInput))
            if not causes or (len(causes) > 1 and isinstance(causes[0], BadInput)):
                raise NothingReadable(self.reasons)
            raise causes[0]


def run_jobs(
    jobs: Iterable[Job],
    reranker: Reranker,
    *,
    on_ranked: Callable[[Job, list[RankedImage]], None] = lambda _job, _ranked: None,
) -> RunResult:
    """Return the ranked images of all jobs; `on_ranked` is called as each job completes, in order of completion.

    A job that the method cannot take, such as a composed query where it takes words alone, becomes error rows; any
    other error ends the run.
    """
    rows: dict[str, list[RankedImage]] = {}

    async def work(waiting: Iterator[Job]) -> None:
        for job in waiting:  # shared: each worker takes the next one
            # A separate task, so that `current_query` is set for this query only.
            try:
                ranked = await asyncio.create_task(reranker.rank(job))
            except (BadInput, UsageError) as error:
                reranker.tally.failures.append(error)
                ranked = error_rows(job, str(error))
            rows[job.query_id] = ranked
            on_ranked(job, ranked)

    async def main() -> None:
        current_run.set(object())
        waiting = iter(jobs)
        await all_of([work(waiting) for _ in range(N_OPEN)])

    run(main())
    return RunResult(rows=rows, tally=reranker.tally)
