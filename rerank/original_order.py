"""The order of the first stage, which all re-rankers fall back to."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import isfinite
from typing import Final

from data.errors import BadInput
from data.records import Job, RankedImage

UNREADABLE_SCORE: Final = -1.0
"""Of an image that could not be read or judged: run files need a number, and no score of a method is below it."""


def first_stage_ranks(job: Job) -> list[int]:
    """Return the rank of each candidate in the first stage, by falling score, ties in the order of the job.

    Raises:
        BadInput: if an image id occurs twice, since a run file could not tell the two apart; or if a score is no finite
            number, since nothing could be ordered by it.
    """
    unordered = next((image for image in job.candidates if not isfinite(image.score)), None)
    if unordered is not None:
        raise BadInput(f"the job {job.query_id} gives the image {unordered.image_id!r} the score {unordered.score}")
    repeated = [image_id for image_id, n in Counter(image.image_id for image in job.candidates).items() if n > 1]
    if repeated:
        raise BadInput(f"the job {job.query_id} names the image {repeated[0]!r} twice")
    order = sorted(range(len(job.candidates)), key=lambda i: -job.candidates[i].score)
    ranks = [0] * len(order)
    for rank, i in enumerate(order, start=1):
        ranks[i] = rank
    return ranks


def text_job_ranks(job: Job, *, method: str) -> list[int]:
    """Return `first_stage_ranks` of a job that asks by its text alone.

    Raises:
        BadInput: if it asks by something else too, which the method cannot take yet, or by nothing.
    """
    ranks = first_stage_ranks(job)
    if job.reference_image is not None:
        raise BadInput(f"the job {job.query_id} has a reference image, which the method {method} does not take yet")
    if job.dialogue:
        raise BadInput(f"the job {job.query_id} has a dialogue, which the method {method} does not take yet")
    if not job.text.strip():
        raise BadInput(f"the job {job.query_id} has no text")
    return ranks


def first_stage(job: Job) -> list[RankedImage]:
    """Return the images as the first stage ranked them: what every re-ranking is measured against.

    Example:
        >>> from data.records import JobImage
        >>> low, high = JobImage(image_id="low", path="", score=0.1), JobImage(image_id="high", path="", score=0.9)
        >>> [image.image_id for image in first_stage(Job(query_id="q", text="", candidates=(low, high)))]
        ['high', 'low']
    """
    ranked = sorted(zip(first_stage_ranks(job), job.candidates, strict=True), key=lambda pair: pair[0])
    return [
        RankedImage(query_id=job.query_id, image_id=image.image_id, rank=rank, score=image.score, first_stage_rank=rank)
        for rank, image in ranked
    ]


def not_ranked(job: Job, why: str) -> list[RankedImage]:
    """Return all images of a job as error rows in first-stage order, with a score below any other."""
    return [replace(image, score=UNREADABLE_SCORE, status="error", error=why) for image in first_stage(job)]
