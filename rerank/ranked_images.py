"""Ranked lists of images: the order of the first stage, the order by score, and error rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Final

from data.errors import BadInput
from data.records import Job, QuestionAnswer, RankedImage

UNREADABLE_SCORE: Final = -1.0
"""Score of an image that could not be read or judged: run files need a number, and no method scores lower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredImage:
    """Score and evidence of one candidate, before it has a rank."""

    score: float = UNREADABLE_SCORE
    error: str | None = None
    questions: tuple[QuestionAnswer, ...] = ()
    evaluation: str | None = None
    cost_usd: float | None = 0.0


def ranked_by_score(job: Job, scored: Sequence[ScoredImage], ranks: Sequence[int]) -> list[RankedImage]:
    """Return the candidates by falling score, errors last, ties in first-stage order."""
    order = sorted(range(len(scored)), key=lambda i: (scored[i].error is not None, -scored[i].score, ranks[i]))
    return [
        RankedImage(
            query_id=job.query_id,
            image_id=job.candidates[i].image_id,
            rank=rank,
            score=round(scored[i].score, 6),
            first_stage_rank=ranks[i],
            status="ok" if scored[i].error is None else "error",
            error=scored[i].error,
            questions=scored[i].questions,
            evaluation=scored[i].evaluation,
            cost_usd=scored[i].cost_usd,
        )
        for rank, i in enumerate(order, start=1)
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
    ranked = sorted(zip(first_stage_ranks(job), job.candidates, strict=True), key=lambda pair: pair[0])
    return [
        RankedImage(query_id=job.query_id, image_id=image.image_id, rank=rank, score=image.score, first_stage_rank=rank)
        for rank, image in ranked
    ]


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
