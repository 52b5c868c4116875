"""Jobs of re-ranking: from JSON lines, query sets and folders of photos; and runs in TREC format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from data.codec import loads
from data.errors import CONVERT_HINT, BadInput, NothingReadable, StoreError, UsageError
from data.files import read_lines, sha256_hex
from data.images.find import find_images
from data.records import Job, JobImage, RankedImage
from data.trec import run_line
from rerank.reranker import first_stage_ranks


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySet:
    """Queries with candidates of their own, or over one collection. Paths are absolute, or relative to the file."""

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
        return not self.collection or bool(self.queries[0].candidates)


def read_queries(file: Path) -> QuerySet:
    """Return the queries in a file: a query set (`.json`), or one query per line.

    Raises:
        BadInput: if the file is invalid, has no query, repeats a query id, or gives candidates to some queries of a set
            only; with the line number.
    """
    if file.suffix == ".parquet":
        raise BadInput(f"{file} holds Parquet, expected jobs or photos.", hint=CONVERT_HINT)
    if file.suffix != ".json":
        return QuerySet(name=file.name, queries=tuple(_read_lines(file)))
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
        if bool(query.candidates) != bool(found.queries[0].candidates):
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
        raise UsageError(f"within_subset is for a query set; {queries.name} has no small sets of images.")
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
        known = {image.image_id: image for image in job.candidates} or collection
        pool = queries.subsets[job.query_id] if within_subset else queries.pools.get(job.query_id)
        if pool is not None:
            known = {name: _known(collection, name, job) for name in pool}
        elif job.query_id in queries.left_out:
            known = {name: each for name, each in known.items() if name != queries.left_out[job.query_id]}
        if first_stage is None:
            jobs.append(job if job.candidates else replace(job, candidates=tuple(known.values())))
            continue
        ranked = [
            image
            for image in first_stage.get(job.query_id, ())
            if image.image_id in known or image.image_id not in collection  # unknown images are an error
        ]
        if ranked:
            jobs.append(_in_order_of(ranked, job, known))
    if not jobs:
        raise BadInput("The first stage has none of the queries of the job.")
    return jobs


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


STEP = 1e-6  # between scores of a run that would be equal


def read_jobs(
    path: Path, *, query: str | None = None, within_subset: bool = False, first_stage: FirstStage | None = None
) -> list[Job]:
    """Return the jobs in a file or folder.

    A file of JSON lines holds one query per line; its image paths are relative to the file. A query set, a `.json`
    file, has one collection for all its queries. A folder of photos needs a query.

    Args:
        path: the file or folder.
        query: what to look for in a folder of photos.
        within_subset: rank the small set of images of each query of a query set alone.
        first_stage: query -> images of a run; they become the candidates, and queries without any are left out.

    Raises:
        BadInput: if the content is invalid, an image is listed twice, or a query id is repeated; with the line number.
        NothingReadable: if a folder holds no photo.
        UsageError: if query or settings do not fit the kind of input.
    """
    if query is not None and not path.is_dir():
        raise UsageError(f"A query goes with a folder of photos; {path.name} has its own queries.")
    if query is None and path.is_dir():
        if any(path.rglob("*.parquet")):
            raise BadInput(f"{path} holds Parquet, expected jobs or photos.", hint=CONVERT_HINT)
        raise UsageError(f"{path} is a folder of photos and needs a query.", hint='--query "a bird with a red crown"')
    found = read_queries(path) if query is None else QuerySet(name=path.name, queries=(job_of_folder(path, query),))
    return jobs_of(found, within_subset=within_subset, first_stage=first_stage)


def _read_lines(path: Path) -> list[Job]:
    jobs: list[Job] = []
    lines: dict[str, int] = {}
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            job = loads(Job, line)
            first_stage_ranks(job)
        except (StoreError, BadInput) as error:
            raise BadInput(
                f"{where}: {error}",
                hint='Expected {"query_id", "text", "candidates": [{"image_id", "path", "score"}]}',
            ) from error
        if job.query_id in lines:
            raise BadInput(f"{where}: query id {job.query_id!r} is already used in line {lines[job.query_id]}")
        lines[job.query_id] = number
        jobs.append(located(job, path.parent))
    if not jobs:
        raise BadInput(f"{path} contains no job")
    return jobs


def job_of_folder(folder: str | Path, query: str) -> Job:
    """Return the job of ranking all photos below a folder for a query; they have no first-stage scores.

    Paths are absolute. Image ids are paths relative to the folder, quoted to fit into a TREC run (`id_of_path`).

    Raises:
        NothingReadable: if there is no such folder, or no photo in it.
        UsageError: if the query is empty.
    """
    if not query.strip():
        raise UsageError("The query is empty.", hint='--query "a bird with a red crown"')
    folder = Path(folder).absolute()
    if not folder.is_dir():
        raise NothingReadable(f"{folder} is not a folder.")
    photos = find_images([folder])
    if not photos:
        raise NothingReadable(f"No photo found in {folder}.")
    candidates = tuple(
        JobImage(image_id=id_of_path(photo.relative_to(folder).as_posix()), path=str(photo), score=0.0)
        for photo in photos
    )
    return Job(query_id=query_id_of(query), text=query.strip(), candidates=candidates)


_QUOTED = re.compile(r"[\s%]")


def id_of_path(path: str) -> str:
    """Return the id of a path below a folder, with white space and the percent sign quoted as in web addresses.

    Different paths have different ids.
    """
    return _QUOTED.sub(lambda found: quote(found[0]), path)


def path_of_id(image_id: str) -> str:
    """Return the path with that id."""
    return unquote(image_id) if "%" in image_id else image_id


def trec_lines(ranked: Sequence[RankedImage], *, tag: str) -> Iterator[str]:
    """Yield the lines of a run for one query, best first.

    Other programs sort by score and break ties in their own way, so equal scores are separated by a millionth to keep
    our order. The JSON lines hold the original scores.

    Raises:
        BadInput: if an id does not fit into a TREC file.
    """
    above = float("inf")
    for image in sorted(ranked, key=lambda image: image.rank):
        above = round(min(image.score, above - STEP), 6)
        yield run_line(image.query_id, image.image_id, image.rank, above, tag=tag)


def check_ids(jobs: Iterable[Job]) -> None:
    """Raise `BadInput` if an id of the jobs does not fit into a TREC run; checked before a run, not after it."""
    checked: set[str] = set()  # queries share most images
    for job in jobs:
        new = {job.query_id, *(image.image_id for image in job.candidates)} - checked
        for word in sorted(new):
            run_line(word, word, 1, 0.0)
        checked |= new


def query_id_of(query: str) -> str:
    """Return an id made of the words of a query; a long one ends with a hash, so that no two queries share an id."""
    words = re.sub(r"[\W_]+", "-", query.lower()).strip("-")
    return (words if len(words) <= 60 else f"{words[:51].rstrip('-')}-{sha256_hex(words)[:8]}") or "query"
