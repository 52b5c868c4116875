"""Rerank: ranked photos with questions and answers, marks of the relevant ones, and jobs over HTTP."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

from cli.common.exit_codes import PARTLY
from cli.common.output import json_lines
from cli.serve.api import RERANK_OPTIONS, streamed
from cli.serve.guard import whole
from cli.serve.jobs import Verb, command, environment, state_of
from cli.serve.pages import attachment, jpeg, page
from data.codec import loads
from data.errors import BadInput, MissingRequirement, StoreError, UsageError
from data.files import Closing, write_atomic, writing
from data.records import Job, JobImage, QuestionAnswer, RankedImage
from recognize.corrections import author, now
from rerank.jobs import path_of_id, query_id_of, read_queries

if TYPE_CHECKING:
    from starlette.requests import Request

PAGE: Final = 60  # photos
MARKS: Final = ".relevant.jsonl"
"""Ending of the file of marks beside a result: jobs with `relevant`, for `kb eval rerank --jobs`."""
CORRECTIONS: Final = ".corrections.jsonl"
"""Ending of the file beside a result with all that was said of its photos and answers: it only grows."""
COLUMNS: Final = {
    "query_id": "text", "query": "text", "rank": "integer", "rank_before": "integer", "photo": "text",
    "score": "number", "status": "text", "answers": "text", "wrong_answers": "text", "relevant": "boolean",
}  # fmt: skip
_MOST_OF_A_JOB: Final = 20_000_000  # bytes
_MOST_OF_A_ROW: Final = 1 << 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A line of the corrections: what a person says of a photo, or of an answer; the last one counts."""

    query_id: str
    image_id: str
    question: str
    """Empty for the photo."""
    answer: str | None
    """The answer of the judge."""
    is_right: bool
    """Whether the answer is right; of a photo, whether it is relevant."""
    by: str
    at: str
    """ISO 8601."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A result of `kb rerank`: the rows of each query, its job, the marks, and the corrections."""

    file: Path
    images: Mapping[str, Sequence[RankedImage]]
    jobs: Mapping[str, Job]
    marks: Mapping[str, Job]
    is_right: Mapping[tuple[str, str, str, str | None], bool]
    """Query, photo, question and answer -> whether the answer is right, as far as a person said so."""

    def is_wrong(self, image: RankedImage, asked: QuestionAnswer) -> bool:
        """Return whether a person said that an answer is wrong."""
        return not self.is_right.get((image.query_id, image.image_id, asked.question, asked.answer), True)

    def relevant(self, query_id: str) -> set[str]:
        """Return the photos of a query that are marked."""
        return set(self.marks[query_id].relevant or ()) if query_id in self.marks else set()

    def job(self, query_id: str) -> Job:
        """Return the job of a query; that of a folder of photos is made of the rows."""
        if query_id in self.jobs:
            return self.jobs[query_id]
        images, folder = sorted(self.images[query_id], key=lambda image: image.first_stage_rank), self.file.parent
        candidates = tuple(
            JobImage(image_id=each.image_id, path=str(folder / path_of_id(each.image_id)), score=-each.first_stage_rank)
            for each in images
        )
        return Job(query_id=query_id, text=query_id.replace("-", " "), candidates=candidates)


class Rankings(Closing):
    """The results in some folders, and a run that the page has started.

    Args:
        folders: the folders, absolute.
        has_model: whether `[llm.vision]` is set, so that the page offers to start a run.
        given: options of the server that its verbs take too.
    """

    def __init__(self, folders: Sequence[Path], *, has_model: bool, given: Sequence[str]) -> None:
        self.folders, self.has_model, self.given = folders, has_model, given
        self.run: Verb | None = None
        self.one_at_a_time = asyncio.Semaphore(1)

    def close(self) -> None:
        """Stop the run."""
        if self.run is not None:
            self.run.stop()

    def results(self) -> list[tuple[int, str]]:
        """Return the results of all folders, the latest ones first: number of the folder and name of the file."""
        found = [
            (-file.stat().st_mtime, number, file.name)
            for number, folder in enumerate(self.folders)
            for file in folder.glob("*.jsonl")
            if {"query_id", "image_id", "first_stage_rank"} <= _first_keys(file)
        ]
        return [(number, name) for _, number, name in sorted(found)]

    def read(self, number: int, name: str) -> Ranked:
        """Return a result.

        Raises:
            BadInput: if it is damaged.
            HTTPException: if there is none of that name.
        """
        if (number, name) not in self.results():
            raise HTTPException(404, "There is no such result in the folders that kb serve --photos names.")
        file = self.folders[number] / name
        others = [
            each for each in sorted(file.parent.glob("*.jsonl")) if {"query_id", "candidates"} <= _first_keys(each)
        ]
        files = (file, *(each for each in others if not each.name.endswith(MARKS)))
        marks, said = file.with_suffix(MARKS), file.with_suffix(CORRECTIONS)
        return replace(
            _read(tuple((each, each.stat().st_mtime_ns) for each in files)),
            marks={job.query_id: job for job in read_queries(marks).queries} if marks.is_file() else {},
            is_right={
                (each.query_id, each.image_id, each.question, each.answer): each.is_right for each in _said(said)
            },
        )

    def is_allowed(self, path: Path) -> bool:
        """Return whether a file is below one of the folders, also behind links."""
        return any(path.resolve().is_relative_to(folder.resolve()) for folder in self.folders)


def _first_keys(file: Path) -> set[str]:
    with file.open("rb") as lines:
        try:
            return set(json.loads(lines.readline(_MOST_OF_A_ROW)))
        except (ValueError, TypeError):
            return set()


def _said(file: Path) -> Iterator[Said]:
    """Yield the corrections in a file; the torn line of a killed server is none."""
    for line in file.read_bytes().splitlines() if file.is_file() else ():
        with suppress(StoreError, UnicodeDecodeError):
            yield loads(Said, line.decode())


@lru_cache(maxsize=2)
def _read(files: tuple[tuple[Path, int], ...]) -> Ranked:
    """Return the result in the first file, and the jobs of its queries in the others; the times are for the cache."""
    from rerank.evaluation.runs import read_run

    (result, _), *others = files
    images = read_run(result).images
    jobs = {job.query_id: job for file, _ in others for job in read_queries(file).queries if job.query_id in images}
    return Ranked(result, images, jobs, {}, {})


async def results(rankings: Rankings, request: Request) -> Response:
    """Return the results; a POST starts a run over a folder."""
    if request.method == "POST":
        return await _started(rankings, request)
    found = await asyncio.to_thread(rankings.results)
    run = rankings.run
    return page(
        "rerank.html", "Rerank", results=found, folders=rankings.folders, has_model=rankings.has_model,
        run=run, said=list(run.said) if run is not None else [],
    )  # fmt: skip


async def _started(rankings: Rankings, request: Request) -> Response:
    async with request.form() as form:
        query, number = " ".join(str(form.get("query", "")).split())[:2_000], whole(form.get("folder", 0), -1)
        depth, most = str(form.get("depth", "50")), str(form.get("max_cost", "1"))
    if not rankings.has_model:
        raise MissingRequirement("[llm.vision] is not set.", hint="Name a model in fieldmark.toml.")
    if not query or not 0 <= number < len(rankings.folders):
        raise BadInput("A run needs a query and one of the folders.")
    if rankings.run is None or not rankings.run.is_running:
        folder = rankings.folders[number]
        rankings.run = Verb(
            "rerank", folder, f"--query={query}", f"--depth={depth}", f"--max-cost={most}", *rankings.given,
            "--output", folder / f"rerank-{query_id_of(query)}",
        )  # fmt: skip
    return RedirectResponse("/rerank", status_code=303)


async def progress(rankings: Rankings, _: Request) -> Response:
    """Return whether the run goes on, and its last message."""
    return JSONResponse(state_of(rankings.run))


async def ranking(rankings: Rankings, request: Request) -> Response:
    """Return the photos of a query by their rank; a POST keeps the marks of those shown."""
    found = await _found(rankings, request)
    query, first = _asked(found, request)
    images = sorted(found.images[query], key=lambda image: image.rank)
    if request.method == "POST":
        return await _marked(request, found, images[first : first + PAGE])
    queries = list(found.images)
    at = queries.index(query)
    return page(
        "ranking.html", "Rerank", **request.path_params, found=found, q=query, first=first, size=PAGE, n=len(images),
        images=images[first : first + PAGE], queries=queries, marks=found.file.with_suffix(MARKS).name,
        corrections=found.file.with_suffix(CORRECTIONS).name, name_of=path_of_id,
        following=queries[at + 1] if at + 1 < len(queries) else None,
    )  # fmt: skip


async def _found(rankings: Rankings, request: Request) -> Ranked:
    return await asyncio.to_thread(rankings.read, request.path_params["folder"], request.path_params["name"])


def _asked(found: Ranked, request: Request) -> tuple[str, int]:
    query = request.query_params.get("q", next(iter(found.images)))
    if query not in found.images:
        raise HTTPException(404, "The result has no such query.")
    return query, whole(request.query_params.get("first"))


async def _marked(request: Request, found: Ranked, images: Sequence[RankedImage]) -> Response:
    """Keep the marks of the photos of a page, and append what has changed to the corrections."""
    query, _ = _asked(found, request)
    async with request.form(max_fields=PAGE * 50) as form:
        chosen, wrong = (set(map(str, form.getlist(field))) for field in ("photos", "wrong"))
    before, shown = found.relevant(query), {each.image_id for each in images}
    relevant = (before - shown) | (chosen & shown)
    said, made = list[Said](), partial(Said, query_id=query, by=author(), at=now())
    for each in images:
        if (is_right := each.image_id in relevant) != (each.image_id in before):
            said.append(made(image_id=each.image_id, question="", answer=None, is_right=is_right))
        for place, asked in enumerate(each.questions):
            if (is_right := f"{place} {each.image_id}" not in wrong) == found.is_wrong(each, asked):
                said.append(
                    made(image_id=each.image_id, question=asked.question, answer=asked.answer, is_right=is_right)
                )
    if said:
        with writing(file := found.file.with_suffix(CORRECTIONS)), file.open("ab") as out:
            out.write(f"\n{json_lines(said)}".encode())
    job = found.job(query)
    kept = tuple(each.image_id for each in job.candidates if each.image_id in relevant)
    jobs = {**found.marks, query: replace(job, relevant=kept)}
    write_atomic(found.file.with_suffix(MARKS), json_lines(jobs.values()).encode("utf-8", "surrogateescape"))
    return RedirectResponse(str(request.url), status_code=303)


async def table(rankings: Rankings, request: Request) -> Response:
    """Return the rows of the marked queries as CSV."""
    from data.frames import as_csv, frame_of

    found = await _found(rankings, request)
    text = await asyncio.to_thread(lambda: as_csv(frame_of(_rows(found), COLUMNS)))
    return attachment(text, "relevant.csv")


def _rows(found: Ranked) -> Iterator[dict[str, object]]:
    for query_id, marked in found.marks.items():
        paths = {image.image_id: image.path for image in found.job(query_id).candidates}
        for image in sorted(found.images.get(query_id, ()), key=lambda image: image.rank):
            answers = [(f"{each.question} {each.answer or 'no answer'}", each) for each in image.questions]
            yield {
                "query_id": query_id, "query": marked.text, "rank": image.rank, "rank_before": image.first_stage_rank,
                "photo": paths.get(image.image_id, image.image_id), "score": image.score, "status": image.status,
                "answers": [text for text, _ in answers],
                "wrong_answers": [text for text, asked in answers if found.is_wrong(image, asked)],
                "relevant": image.image_id in (marked.relevant or ()),
            }  # fmt: skip


async def photo(rankings: Rankings, request: Request) -> Response:
    """Return a photo of a result without its EXIF data, if it is below one of the folders."""
    found = await _found(rankings, request)
    query, _ = _asked(found, request)
    wanted = request.query_params.get("id", "")
    paths = {image.image_id: image.path for image in found.job(query).candidates}
    if wanted not in paths or not rankings.is_allowed(Path(paths[wanted])):
        raise HTTPException(404, "This photo is not below the folders that kb serve --photos names.")
    return await asyncio.to_thread(jpeg, Path(paths[wanted]))


async def stream(rankings: Rankings, request: Request) -> Response:
    """Rank the photos of a job as `kb rerank` does: JSON lines of jobs in, JSON lines of rows out.

    Paths are absolute or relative to a folder of the server, and below it.
    """
    if not rankings.folders:
        raise BadInput("The server has no folder of photos.", hint="Start it with kb serve --photos FOLDER.")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_OF_A_JOB:
            raise HTTPException(413, f"A job has at most {_MOST_OF_A_JOB:,} bytes.")
    options = [f"--{name}={value}" for name, value in request.query_params.items() if name in RERANK_OPTIONS]
    if unknown := sorted(set(request.query_params) - set(RERANK_OPTIONS)):
        raise BadInput(f"Unknown parameter {unknown[0][:40]!r}.", hint=f"Known: {', '.join(RERANK_OPTIONS)}.")
    return await streamed(_rows_of(rankings, body, options))


async def _rows_of(
    rankings: Rankings, body: bytes, options: Sequence[str]
) -> AsyncGenerator[Mapping[str, object], None]:  # fmt: skip
    """Yield the rows that the verb writes for the jobs of a request, each when it is known.

    Raises:
        BadInput: for a job that is none, and for photos elsewhere.
        UsageError: for options that contradict each other.
        MissingRequirement: if the verb fails, with its reason.
    """
    with tempfile.TemporaryDirectory(prefix="fieldmark-") as name:
        file, said = Path(name, "job.jsonl"), Path(name, "said")
        file.write_bytes(body)
        try:
            jobs = await asyncio.to_thread(read_queries, file)
        except BadInput as error:
            raise BadInput(str(error).replace(f"{name}/", ""), hint=error.hint) from error
        located = [_located(rankings, job, Path(name)) for job in jobs.queries]
        file.write_text(json_lines(located), encoding="utf-8")
        async with rankings.one_at_a_time:
            with said.open("wb") as out:
                process = await asyncio.create_subprocess_exec(
                    *command("rerank", file, "--format=jsonl", "--quiet", *rankings.given, *options),
                    stdout=asyncio.subprocess.PIPE, stderr=out, limit=_MOST_OF_A_ROW, env=environment(),
                )  # fmt: skip
            assert process.stdout is not None  # piped
            try:
                async for line in process.stdout:
                    yield json.loads(line)
                code = await process.wait()
            finally:
                if process.returncode is None:  # the client has gone
                    process.terminate()
                    await process.wait()
        if code not in (0, PARTLY):
            lines = said.read_text(encoding="utf-8", errors="replace").replace(f"{name}/", "").splitlines()
            text, hint = (next((line.removeprefix(word) for line in lines if line.startswith(word)), None)
                          for word in ("error: ", "hint: "))  # fmt: skip
            kind = UsageError if code == UsageError.exit_code else MissingRequirement
            raise kind(text or "The ranking failed.", hint=hint)


def _located(rankings: Rankings, job: Job, temporary: Path) -> Job:
    """Return a job with the paths of its photos, which were read as if relative to a temporary folder.

    Raises:
        BadInput: for a photo that is not below a folder of the server.
    """

    def located(path: str) -> str:
        given = Path(path).relative_to(temporary) if Path(path).is_relative_to(temporary) else Path(path)
        for folder in rankings.folders:
            if (folder / given).is_file() and rankings.is_allowed(folder / given):
                return str(folder / given)
        raise BadInput(f"The photo {given} is not below the folders that kb serve --photos names.")

    candidates = tuple(replace(image, path=located(image.path)) for image in job.candidates)
    reference = None if job.reference_image is None else located(job.reference_image)
    return replace(job, candidates=candidates, reference_image=reference)


VIEWS: Final = {
    "/rerank": results,
    "/rerank/progress": progress,
    "/rerank/{folder:number}/{name}": ranking,
    "/rerank/{folder:number}/{name}/photo": photo,
    "/rerank/{folder:number}/{name}/relevant.csv": table,
}
