"""Inputs of an evaluation: runs from files, and relevance from jobs or qrels."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from data.errors import BadInput
from data.files import read_lines
from data.records import Job, RankedImage
from data.trec import parse_run, read_qrels
from rerank.evaluation.measures import RankedList
from rerank.evaluation.request import FIRST_STAGE
from rerank.jobs import QuerySet
from rerank.reranker import first_stage, first_stage_ranks, total_cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The ranked lists of one method, under its name in tables."""

    name: str
    images: Mapping[str, tuple[RankedImage, ...]]
    """Query -> its images. `first_stage_rank` breaks ties."""

    @property
    def n_errors(self) -> int:
        """Images that could not be judged."""
        return sum(image.status == "error" for images in self.images.values() for image in images)

    def has_failed(self, query_id: str) -> bool:
        """Return whether the query is present but none of its images could be judged."""
        images = self.images.get(query_id, ())
        return bool(images) and all(image.status == "error" for image in images)

    @property
    def cost_usd(self) -> float | None:
        """Cost of all answers in US dollars; None if any cost is unknown."""
        return total_cost(image.cost_usd for images in self.images.values() for image in images)

    @property
    def n_out_of_order(self) -> int:
        """Images with a rank that contradicts their score; the score counts, as always in TREC files."""
        n = 0
        for images in self.images.values():
            by_rank = sorted(images, key=lambda image: image.rank)
            n += sum(after.score > before.score for before, after in itertools.pairwise(by_rank))
        return n


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """Relevant images of each query, and its strata."""

    relevant: Mapping[str, frozenset[str]]
    """Query -> relevant images; only queries that have some."""
    n_without_relevant: int = 0
    candidates: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Query -> image -> first-stage rank; empty without jobs."""
    known: frozenset[str] = frozenset()
    """All queries of the jobs or qrels, measured or not; empty if unknown."""
    strata: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """Query -> axis (`supercategory`, `lingo`, `round`, `aspect`) -> labels."""
    rounds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Query -> the queries of its dialogue up to it, itself included; empty without dialogues."""
    subsets: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Query -> the images that R_subset@k ranks; empty but for CIRR."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Query -> image that is taken out of its ranking."""
    collection: frozenset[str] = frozenset()
    """All images of a data set; empty if unknown."""
    pools: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Query -> the images of a data set that it is searched in; empty: all of them."""


def read_run(path: Path, *, name: str | None = None) -> Run:
    """Return the run in a TREC file or a file of JSON lines; the first character decides.

    Raises:
        BadInput: if it is neither, is empty, lists an image twice for a query, or has a score that is not finite.
    """
    images: dict[str, list[RankedImage]] = {}
    for image in parse_run(read_lines(path), name=path.name):
        images.setdefault(image.query_id, []).append(image)
    if not images:
        raise BadInput(f"{path} is empty")
    return Run(name=name or path.stem, images={query: tuple(found) for query, found in images.items()})


def first_stage_run(jobs: Iterable[Job]) -> Run:
    """Return the first-stage order of the jobs as a run, the baseline of every re-ranking."""
    return Run(name=FIRST_STAGE, images={job.query_id: tuple(first_stage(job)) for job in jobs if job.candidates})


def truth_of_jobs(jobs: Iterable[Job]) -> Truth:
    """Return the relevance given by `relevant` of the jobs."""
    relevant: dict[str, frozenset[str]] = {}
    candidates: dict[str, dict[str, int]] = {}
    n_without = 0
    jobs = list(jobs)
    for job in jobs:
        if job.query_id in candidates:
            raise BadInput(f"Two jobs share the query id {job.query_id!r}.")
        ranks = first_stage_ranks(job)
        candidates[job.query_id] = {image.image_id: rank for image, rank in zip(job.candidates, ranks, strict=True)}
        if job.relevant:
            relevant[job.query_id] = frozenset(job.relevant)
        else:
            n_without += 1
    return Truth(
        relevant=relevant,
        n_without_relevant=n_without,
        candidates=candidates,
        known=frozenset(candidates),
        rounds=rounds_of(jobs),
    )


def truth_of(queries: QuerySet) -> Truth:
    """Return the relevance of queries from a file."""
    found = truth_of_jobs(queries.queries)
    return replace(
        found,
        candidates=found.candidates if queries.is_of_candidates else {},
        subsets={query_id: frozenset(images) for query_id, images in queries.subsets.items()},
        left_out=queries.left_out,
        strata=queries.labels,
        collection=frozenset(queries.collection),
        pools={query_id: frozenset(images) for query_id, images in queries.pools.items()},
    )


def rounds_of(jobs: Iterable[Job]) -> dict[str, tuple[str, ...]]:
    """Return query -> the queries of its dialogue up to it, for jobs with a dialogue.

    A job belongs to the dialogue that it begins: the same turns and the same relevant images.
    """
    chatted = [job for job in jobs if job.dialogue]
    ids = {(job.dialogue, job.relevant): job.query_id for job in chatted}
    found = {}
    for job in chatted:
        turns = job.dialogue or ()
        begun = ((turns[:n], job.relevant) for n in range(1, len(turns)))
        found[job.query_id] = (*(ids[key] for key in begun if key in ids), job.query_id)
    return found


def truth_of_qrels(path: Path) -> Truth:
    """Return the relevance in a qrels file; above 0 counts as relevant."""
    judged = read_qrels(path)
    found = {query: frozenset(i for i, relevance in of.items() if relevance > 0) for query, of in judged.items()}
    relevant = {query: images for query, images in found.items() if images}
    return Truth(
        relevant=relevant,
        n_without_relevant=len(found) - len(relevant),
        known=frozenset(found),
    )


def ranked_list(images: Iterable[RankedImage], *, candidates: Mapping[str, int] | None = None) -> RankedList:
    """Return the images by falling score, ties in first-stage order, unjudged images behind the others.

    Raises:
        BadInput: if an image is listed twice, or is not a candidate.
    """
    listed: dict[str, RankedImage] = {}
    for image in images:
        if image.image_id in listed:
            raise BadInput(f"The run lists image {image.image_id!r} twice for query {image.query_id!r}.")
        if candidates is not None and image.image_id not in candidates:
            raise BadInput(f"The run ranks {image.image_id!r}, which is not a candidate of query {image.query_id!r}.")
        listed[image.image_id] = image

    def place(image: RankedImage) -> tuple[float, bool, int]:
        rank = candidates[image.image_id] if candidates is not None else image.first_stage_rank
        return (-image.score, image.status == "error", rank)

    ranked = sorted(listed.values(), key=place)
    return RankedList(
        image_ids=tuple(image.image_id for image in ranked), scores=tuple(image.score for image in ranked)
    )
