"""Jobs of re-ranking: read from files, or made from a folder of photos; and runs in TREC format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from data.codec import loads
from data.errors import CONVERT_HINT, BadInput, NothingReadable, StoreError, UsageError
from data.files import read_lines, sha256_hex
from data.images.find import find_images
from data.records import Job, JobImage, RankedImage
from data.trec import TrecRow
from rerank.collection.files import id_of_path
from rerank.query_set import FirstStage, jobs_of, located, read_query_set, with_first_stage
from rerank.ranked_images import first_stage_ranks

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
    if path.suffix == ".parquet" or (query is None and path.is_dir() and any(path.rglob("*.parquet"))):
        raise BadInput(f"{path} holds Parquet, expected jobs or photos.", hint=CONVERT_HINT)
    if query is not None:
        if not path.is_dir():
            raise UsageError(f"A query goes with a folder of photos; {path.name} has its own queries.")
        jobs = [job_of_folder(path, query)]
    elif path.is_dir():
        raise UsageError(f"{path} is a folder of photos and needs a query.", hint='--query "a bird with a red crown"')
    elif path.suffix == ".json":
        return jobs_of(read_query_set(path), within_subset=within_subset, first_stage=first_stage)
    else:
        jobs = _read_lines(path)
    if within_subset:
        raise UsageError(f"within_subset is for a query set; {path.name} has no small sets of images.")
    return jobs if first_stage is None else with_first_stage(jobs, first_stage)


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


def job_of_folder(folder: Path, query: str) -> Job:
    """Return the job of ranking all photos below a folder for a query; they have no first-stage scores.

    Image ids are paths relative to the folder, quoted so that they fit into a TREC run (`rerank.collection.files`).

    Raises:
        NothingReadable: if there is no photo.
        UsageError: if the query is empty.
    """
    if not query.strip():
        raise UsageError("The query is empty.", hint='--query "a bird with a red crown"')
    photos = find_images([folder])
    if not photos:
        raise NothingReadable(f"No photo found in {folder}.")
    candidates = tuple(
        JobImage(image_id=id_of_path(photo.relative_to(folder).as_posix()), path=str(photo), score=0.0)
        for photo in photos
    )
    return Job(query_id=query_id_of(query), text=query.strip(), candidates=candidates)


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
        row = TrecRow(query_id=image.query_id, image_id=image.image_id, rank=image.rank, score=above, tag=tag)
        yield row.line()


def check_ids(jobs: Iterable[Job]) -> None:
    """Raise `BadInput` if an id of the jobs does not fit into a TREC run; checked before a run, not after it."""
    checked: set[str] = set()  # queries share most images
    for job in jobs:
        new = {job.query_id, *(image.image_id for image in job.candidates)} - checked
        for word in sorted(new):
            TrecRow(query_id=word, image_id=word, rank=1, score=0.0).line()
        checked |= new


def query_id_of(query: str) -> str:
    """Return an id made of the words of a query; a long one ends with a hash, so that no two queries share an id."""
    words = re.sub(r"[\W_]+", "-", query.lower()).strip("-")
    return (words if len(words) <= 60 else f"{words[:51].rstrip('-')}-{sha256_hex(words)[:8]}") or "query"
