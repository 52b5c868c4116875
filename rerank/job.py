"""Jobs of re-ranking: read from JSON lines or made of a folder of photos; and runs written as TREC has them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from data.codec import loads
from data.errors import BadInput, NothingReadable, StoreError, UsageError
from data.files import read_lines
from data.images.decode import find_images
from data.records import Job, JobImage, RankedImage
from data.trec import TrecRow
from rerank.original_order import first_stage_ranks

STEP = 1e-6  # between scores of a run that would be equal


def read_jobs(path: Path) -> list[Job]:
    """Return the jobs of a file of JSON lines, a query a line.

    Raises:
        BadInput: where a line is no job, names an image twice, or repeats a query id; with the number of the line.
    """
    jobs: list[Job] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        try:
            job = loads(Job, line)
            first_stage_ranks(job)
        except (StoreError, BadInput) as error:
            raise BadInput(
                f"{path}, line {number}: {error}",
                hint='a line is {"query_id", "text", "candidates": [{"image_id", "path", "score"}]}',
            ) from error
        if job.query_id in seen:
            raise BadInput(f"{path}, line {number}: the query {job.query_id!r} stands in line {seen[job.query_id]} too")
        seen[job.query_id] = number
        jobs.append(job)
    if not jobs:
        raise BadInput(f"{path} holds no job")
    return jobs


def job_of_folder(folder: Path, query: str, *, query_id: str | None = None) -> Job:
    """Return the job of finding the photos below a folder that fit a query; they have no first-stage scores.

    Image ids are paths relative to the folder, white space written as %20, so that they can stand in a TREC run.

    Raises:
        NothingReadable: if there is no photo.
        UsageError: if the query is empty.
    """
    if not query.strip():
        raise UsageError("the query is empty", hint='--query "a bird with a red crown"')
    photos = find_images([folder])
    if not photos:
        raise NothingReadable(f"no photo in {folder}")
    candidates = tuple(
        JobImage(image_id=_image_id(photo.relative_to(folder)), path=str(photo), score=0.0) for photo in photos
    )
    return Job(query_id=query_id or _slug(query), text=query.strip(), candidates=candidates)


def trec_lines(ranked: Sequence[RankedImage], *, tag: str) -> Iterator[str]:
    """Yield the lines of a run for one query, best first.

    Programs that read runs sort by score and break ties in ways of their own. So that they keep our order, equal scores
    are told apart by a millionth; the JSON lines have them as they are.

    Raises:
        BadInput: if an id cannot stand in such a file.
    """
    above = float("inf")
    for image in sorted(ranked, key=lambda image: image.rank):
        above = round(min(image.score, above - STEP), 6)
        row = TrecRow(query_id=image.query_id, image_id=image.image_id, rank=image.rank, score=above, tag=tag)
        yield row.line()


def check_ids(jobs: Iterable[Job]) -> None:
    """Raise `BadInput` if an id of the jobs cannot stand in a TREC run: better before a run than after it."""
    for job in jobs:
        for image_id in (image.image_id for image in job.candidates):
            TrecRow(query_id=job.query_id, image_id=image_id, rank=1, score=0.0).line()


def job_line(job: Job) -> str:
    """Return a job as a line of JSON, as `read_jobs` reads it."""
    from data.codec import to_json

    return json.dumps(to_json(job), ensure_ascii=False)


def _image_id(path: Path) -> str:
    return re.sub(r"\s", lambda found: quote(found[0]), path.as_posix())


def _slug(query: str) -> str:
    return re.sub(r"[\W_]+", "-", query.lower()).strip("-")[:60] or "query"
