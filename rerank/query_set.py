"""Query sets: queries over one collection of images, in one JSON file, and the candidates of their jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from data.codec import loads
from data.errors import CONVERT_HINT, BadInput, StoreError, UsageError
from data.files import read_lines
from data.records import Job, JobImage, RankedImage


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySet:
    """Queries over one collection of images. Paths are absolute, or relative to the file."""

    name: str
    """Name in messages."""
    queries: tuple[Job, ...]
    """Queries; all have candidates of their own, or none: then each is searched in its pool or the collection."""
    collection: Mapping[str, str] = field(default_factory=dict)
    """Image id -> path."""
    pools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Query -> the images that it is searched in; empty: all of the collection."""
    subsets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Query -> the few images that R_subset@k ranks."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Query -> image that its ranking must not contain, such as its reference image."""
    labels: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    """Query -> axis (`supercategory`, `lingo`, `aspect`) -> labels, by which figures are split."""
    measures: tuple[str, ...] = ()
    """Measures in the tables of `kb eval rerank`; the first is tested. Empty: a usual selection."""

    @property
    def is_of_candidates(self) -> bool:
        """Whether each query has its own candidates, in the order of a first stage."""
        return bool(self.queries[0].candidates)


def read_query_set(file: Path) -> QuerySet:
    """Return the query set in a file.

    Raises:
        BadInput: if the file is invalid, has no query, repeats a query id, or gives candidates to some queries only.
    """
    try:
        found = loads(QuerySet, "\n".join(read_lines(file)))
    except StoreError as error:
        raise BadInput(
            f"{file} is no query set: {error}",
            hint=f"JSON lines of jobs are named .jsonl. {CONVERT_HINT}",
        ) from error
    queries: dict[str, Job] = {}
    for query in found.queries:
        if query.query_id in queries:
            raise BadInput(f"{file} has two queries with the id {query.query_id!r}.")
        queries[query.query_id] = located(query, file.parent)
    if not queries:
        raise BadInput(f"{file} contains no query")
    for query in queries.values():
        if bool(query.candidates) != found.is_of_candidates:
            raise BadInput(f"{file}: some queries have candidates, but query {query.query_id!r} is not like the first.")
        if found.subsets and query.query_id not in found.subsets:
            raise BadInput(f"{file}: query {query.query_id!r} has no small set of images, but others have.")
    if found.subsets and found.is_of_candidates:
        raise BadInput(f"{file}: small sets of images go with a collection, not with candidates of each query.")
    collection = {name: str(file.parent / path) for name, path in found.collection.items()}
    return replace(found, queries=tuple(queries.values()), collection=collection)


def located(job: Job, folder: Path) -> Job:
    """Return a job with its paths, which are relative to a folder, below that folder."""
    return replace(
        job,
        candidates=tuple(replace(image, path=str(folder / image.path)) for image in job.candidates),
        reference_image=None if job.reference_image is None else str(folder / job.reference_image),
    )


_NONE_OF_THEM: Final = "The first stage has none of the queries of the job."
MOST_CANDIDATES: Final = 3_000_000  # of all queries together: each becomes a row in memory


FirstStage = Mapping[str, Sequence[RankedImage]]
"""Query -> the images of a run."""


def jobs_of(queries: QuerySet, *, within_subset: bool = False, first_stage: FirstStage | None = None) -> list[Job]:
    """Return the queries of a set with their candidates: the images of a run, else their own, else the collection.

    Raises:
        BadInput: if the run has an image that the collection lacks, or none of the queries.
        UsageError: if the candidates are too many without a run, or the queries have no small sets.
    """
    if within_subset and not queries.subsets:
        raise UsageError(f"within_subset: {queries.name} has no small sets of images.")
    if queries.is_of_candidates:
        jobs = list(queries.queries)
        return jobs if first_stage is None else with_first_stage(jobs, first_stage)
    n, size = len(queries.queries), len(queries.collection)
    is_whole = first_stage is None and not within_subset and not queries.pools
    if is_whole and n * size > MOST_CANDIDATES:
        raise UsageError(
            f"{queries.name}: {n:,} queries and {size:,} images are too many to rank without a first stage.",
            hint="--set first_stage=RUN takes the images of a run, such as the first 50 of each query.",
        )
    collection = {name: JobImage(image_id=name, path=path, score=0.0) for name, path in queries.collection.items()}
    jobs = []
    for job in queries.queries:
        known = collection
        if within_subset:
            known = {name: _known(collection, name, job) for name in queries.subsets[job.query_id]}
        elif job.query_id in queries.pools:
            known = {name: _known(collection, name, job) for name in queries.pools[job.query_id]}
        elif job.query_id in queries.left_out:
            known = {name: each for name, each in known.items() if name != queries.left_out[job.query_id]}
        if first_stage is None:
            jobs.append(replace(job, candidates=tuple(known.values())))
            continue
        ranked = [
            image
            for image in first_stage.get(job.query_id, ())
            if image.image_id in known or image.image_id not in collection  # unknown images are an error
        ]
        if ranked:
            jobs.append(_in_order_of(ranked, job, known))
    if not jobs:
        raise BadInput(_NONE_OF_THEM)
    return jobs


def with_first_stage(jobs: Sequence[Job], first_stage: FirstStage) -> list[Job]:
    """Return the jobs with the images of a run as candidates; queries that it lacks are left out."""
    found = [
        _in_order_of(ranked, job, {image.image_id: image for image in job.candidates})
        for job in jobs
        if (ranked := first_stage.get(job.query_id))
    ]
    if not found:
        raise BadInput(_NONE_OF_THEM)
    return found


def _in_order_of(ranked: Sequence[RankedImage], job: Job, known: Mapping[str, JobImage]) -> Job:
    """Return the job with images of a run as candidates, by falling score, ties by rank."""
    best_first = sorted(ranked, key=lambda image: (-image.score, image.rank))
    candidates = (
        JobImage(image_id=image.image_id, path=_known(known, image.image_id, job).path, score=image.score)
        for image in best_first
    )
    return replace(job, candidates=tuple(candidates))


def _known(known: Mapping[str, JobImage], image_id: str, job: Job) -> JobImage:
    if image_id not in known:
        raise BadInput(f"Image {image_id!r} of query {job.query_id!r} is not among its candidates.")
    return known[image_id]
