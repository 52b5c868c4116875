"""A run of `kb rerank`: what it is given is read, ranked, written and summed up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cli.common import output
from cli.common.config import Settings
from cli.common.progress import counted_calls
from cli.verbs.rerank.forecast import forecast
from cli.verbs.rerank.listwise import tally_of
from cli.verbs.rerank.order import RerankOrder
from cli.verbs.rerank.output import Sink, is_whole, summary
from cli.verbs.rerank.resources import made_for
from data.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from data.records import Job, RankedImage
    from rerank.decompose.reranker import Tally


def rerank_all(settings: Settings, order: RerankOrder, *, quiet: bool) -> bool:
    """Run the order; returns whether every image was judged as asked.

    Raises:
        FieldmarkError: if nothing could be judged, why.
    """
    from rerank.job import check_ids
    from rerank.methods import make_reranker
    from rerank.running import run_jobs

    jobs = _read(order, settings)
    if order.form == "trec" or order.output is not None:
        check_ids(jobs)
    with made_for(settings, order) as made:
        if order.dry_run:
            output.write(forecast(order, settings, jobs, made))
            return True
        reranker = make_reranker(order.method, made.means)
        done: dict[str, list[RankedImage]] = {}
        sink = Sink(order, jobs, tag=f"fieldmark-{order.method}")
        with counted_calls("photos", sum(len(job.candidates) for job in jobs), quiet=quiet) as meter:

            def take(job: Job, ranked: list[RankedImage]) -> None:
                done[job.query_id] = ranked
                sink.take(job, ranked)
                meter(
                    sum(map(len, done.values())), sum(row.status == "error" for rows in done.values() for row in rows)
                )

            run_jobs(jobs, reranker, on_ranked=take)
        abilities = getattr(made.means.judge, "known_abilities", None)
        if abilities is not None and not abilities.tells_colours:
            output.warn("the model did not tell a red picture from a blue one: it may not see pictures at all")
        sink.close()
        if order.method == "cotrr":
            lists = tally_of(reranker)
            tally: Tally | None = None
        else:
            lists, tally = None, getattr(reranker, "tally", None)
        if not quiet:
            output.note(summary(done, made, tally, lists))
    return is_whole(done, tally, lists)


def _read(order: RerankOrder, settings: Settings) -> list[Job]:
    from rerank.job import job_of_folder, read_jobs

    if order.job.is_dir() and order.query is not None:
        return [job_of_folder(order.job, order.query)]
    if order.job.is_dir() or order.job.suffix == ".parquet":
        from data.benchmarks.inquire import read_rerank

        if order.job.is_dir() and not _holds_rows(order.job):
            raise UsageError(f"{order.job} is a folder of photos", hint='--query "a bird with a red crown"')
        return read_rerank(order.job, split=order.split, images=settings.home / "inquire")
    jobs = read_jobs(order.job)
    # Paths in a file are relative to it, as in the settings.
    here = order.job.parent
    return [
        replace(job, candidates=tuple(replace(image, path=str(here / image.path)) for image in job.candidates))
        for job in jobs
    ]


def _holds_rows(folder: Path) -> bool:
    return any(
        next(folder.rglob(pattern), None) is not None for pattern in ("*.parquet", "metadata.jsonl", "metadata.csv")
    )
