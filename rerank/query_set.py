"""A query set: queries over one collection of images, in one JSON file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from data.codec import loads
from data.errors import BadInput, StoreError
from data.files import read_lines
from data.records import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySet:
    """Queries over one collection of images. Paths are absolute, or relative to the file."""

    name: str
    """Name in messages."""
    queries: tuple[Job, ...]
    """Queries; one without candidates is searched in its pool, else in the whole collection."""
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
        return any(query.candidates for query in self.queries)


def read_query_set(file: Path) -> QuerySet:
    """Return the query set in a file.

    Raises:
        BadInput: if the file is invalid, has no query, or repeats a query id.
    """
    try:
        found = loads(QuerySet, "\n".join(read_lines(file)))
    except StoreError as error:
        raise BadInput(
            f"{file} is no query set: {error}",
            hint="JSON lines of jobs are named .jsonl; a published data set goes through `python -m papers convert`.",
        ) from error
    queries: dict[str, Job] = {}
    for query in found.queries:
        if query.query_id in queries:
            raise BadInput(f"{file} has two queries with the id {query.query_id!r}.")
        queries[query.query_id] = located(query, file.parent)
    if not queries:
        raise BadInput(f"{file} contains no query")
    collection = {name: str(file.parent / path) for name, path in found.collection.items()}
    return replace(found, queries=tuple(queries.values()), collection=collection)


def located(job: Job, folder: Path) -> Job:
    """Return a job with its paths, which are relative to a folder, below that folder."""
    return replace(
        job,
        candidates=tuple(replace(image, path=str(folder / image.path)) for image in job.candidates),
        reference_image=None if job.reference_image is None else str(folder / job.reference_image),
    )
