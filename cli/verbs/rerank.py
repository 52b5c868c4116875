"""`kb rerank`: photos ranked by an expert's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from cli.common import exit_codes, options, output, wiring
from cli.common.output import counted_calls
from cli.common.photo_folders import open_photos
from cli.common.rerank_resources import open_resources
from cli.common.settings import Settings
from data.batches import paused_collector
from data.errors import UsageError
from data.words import plural
from kb.lookup.context_settings import ContextSettings
from rerank.methods import DEFAULT_METHOD, METHODS
from rerank.plan import JudgeName, most_cost_usd, plan_run
from rerank.settings import (
    PRESETS,
    CaptionSettings,
    CotrrSettings,
    DecomposeSettings,
    JobSettings,
    RerankSettings,
    VisionSettings,
    VisretSettings,
    preset_settings,
)

if TYPE_CHECKING:
    from data.records import Job, RankedImage
    from rerank.methods import RerankResources
    from rerank.plan import PricedModel, RunPlan
    from rerank.reranker import RunResult


# Long: parse, wire, call and print.
@click.command()
@click.argument("job", type=click.Path(exists=True, path_type=Path), metavar="JOB")
@click.option("--query", metavar="TEXT", help="Query for a folder of photos.")
@click.option("--method", type=click.Choice(list(METHODS)), default=DEFAULT_METHOD, show_default=True,
              help="Re-ranking method.")  # fmt: skip
@click.option("--preset", type=click.Choice(list(PRESETS)), default="default", show_default=True,
              help="Constants: ours, of the paper, or for cotrr of its authors' code.")  # fmt: skip
@click.option("--judge", type=click.Choice(get_args(JudgeName)),
              help="decompose: judge of the questions.  [default: vision if [llm.vision] is set]")  # fmt: skip
@options.kb_option("Knowledge base for context.")
@click.option("--context/--no-context", default=None,
              help="decompose: explain the words of the query to the judge.  [default: on]")  # fmt: skip
@click.option("--web/--no-web", default=None,
              help="decompose: search the web for context always, or never.  [default: context.web]")  # fmt: skip
@click.option("--samples", type=int, metavar="N",
              help="decompose: replies per question, an odd number; the majority counts.  [default: 1]")  # fmt: skip
@click.option("--depth", type=click.IntRange(1), metavar="K",
              help="Re-rank the first K photos of the first stage, of a folder the most similar ones; the others stay "
              "below.  [default: all]")  # fmt: skip
@options.cost_options
@click.option("--dry-run", is_flag=True, help="Print the number of model calls and their cost, and stop.")
@options.format_option("trec", "jsonl")
@click.option("--output", "stem", type=click.Path(path_type=Path), metavar="NAME",
              help="Write NAME.trec and NAME.jsonl instead of stdout.")  # fmt: skip
@click.pass_context
def rerank(
    ctx: click.Context,
    /,
    job: Path,
    query: str | None,
    method: str,
    preset: str,
    judge: JudgeName | None,
    kb: Path | None,
    context: bool | None,
    web: bool | None,
    samples: int | None,
    depth: int | None,
    max_cost: float | None,
    offline: bool,
    dry_run: bool,
    form: str,
    stem: Path | None,
) -> None:
    """Rank the photos of JOB by its queries, with each question, answer and probability.

    JOB is a file of JSON lines, one query per line ({"query_id", "text", "candidates": [{"image_id", "path",
    "score"}]}; "reference_image" and "modification", or "dialogue", instead of a text); a query set, a .json file of
    queries and the images that they all are searched in; or a folder of photos with --query.

    decompose asks yes/no questions about each photo and ranks by the mean probability of yes. cotrr has a model
    evaluate each photo in words and then rank them all at once. similarity compares the vectors of photo and query,
    visret those of photo and drawings of the query, rewrite those of photo and rewritten query. captions and visa
    compare the query with captions of photos, and with answers about them. An interrupted run resumes: cached replies
    are not requested again.

    Examples: kb rerank photos/ --query "a warbler with a black cap"; kb rerank jobs.jsonl --judge vision --output run
    """
    from rerank.evaluation.runs import read_run
    from rerank.jobs import check_ids, read_jobs

    for option, value in {"--samples": samples, "--web": web, "--context": context}.items():
        if value is not None and method != "decompose":
            raise UsageError(f"{option} is for --method decompose, not for {method}.")
    stem = _checked_stem(stem, job)
    settings = options.settings(kb=kb)
    methods = _settings_of_methods(preset_settings(preset, method), context=context, samples=samples, depth=depth)
    sources, is_web_wanted = context_of_run(settings, methods, method=method, preset=preset, web=web)
    plan = plan_run(method, methods, endpoints=settings.llm, judge=judge, web=is_web_wanted)
    if web and not plan.context_search:
        raise UsageError(
            "--web has no effect: encoders take no web answer for looks.",
            hint="Use --judge vision, or --set decompose.questions_by=model.",
        )
    given = options.method_settings("rerank", JobSettings)
    with paused_collector():
        first_stage = None if given.first_stage is None else read_run(given.first_stage).images
        jobs = read_jobs(job, query=query, within_subset=given.within_subset, first_stage=first_stage)
    if form == "trec" or stem is not None:
        check_ids(jobs)
    if dry_run:
        # Opened all the same, to report missing resources before the run.
        with open_resources(settings, plan, context=sources, max_cost=max_cost, offline=True):
            output.write(forecast_text(plan, jobs, settings.llm))
        return
    quiet = options.invocation().quiet
    if query is not None and first_stage is None and methods.depth is not None:
        jobs = [most_similar_first(each, job, settings, depth=methods.depth, quiet=quiet) for each in jobs]
    with open_resources(settings, plan, context=sources, max_cost=max_cost, offline=offline) as (resources, costs):
        if plan.judge == "encoder" and method == "decompose" and judge is None:
            output.note("[llm.vision] is not set, so the encoders judge; they know little beyond looks.")
        writer = RowWriter(jobs, form=form, stem=stem, tag=f"fieldmark-{method}")
        result = _ranked(jobs, method, resources, writer, quiet=quiet)
        if not quiet:
            n_queries = len(result.rows)
            counts = [f"{plural(n_queries, 'query', 'queries')}, {plural(result.n_images, 'photo')}"]
            output.note("; ".join([*counts, *result.tally.lines(), *costs(n_queries)]))
    _warn(result)
    if result.tally.is_void:
        ctx.exit(exit_codes.ALL_FAILED)
    if not result.is_complete or resources.context_failures:
        ctx.exit(exit_codes.PARTLY)


def _warn(result: RunResult) -> None:
    result.raise_if_all_failed()
    if failed := result.failed:
        output.warn(f"{len(failed):,} of {plural(result.n_images, 'photo')} could not be judged: {result.reasons}")
    for line in result.tally.warnings():
        output.warn(line)


def _settings_of_methods(
    base: RerankSettings, *, context: bool | None, samples: int | None, depth: int | None
) -> RerankSettings:
    """Return the settings of a preset with those of this run."""
    return RerankSettings(
        decompose=options.method_settings("rerank.decompose", DecomposeSettings, base=base.decompose, context=context),
        vision=options.method_settings("rerank.vision", VisionSettings, base=base.vision, samples=samples),
        cotrr=options.method_settings("rerank.cotrr", CotrrSettings, base=base.cotrr),
        visret=options.method_settings("rerank.visret", VisretSettings, base=base.visret),
        captions=options.method_settings("rerank.captions", CaptionSettings, base=base.captions),
        depth=base.depth if depth is None else depth,
    )


def _ranked(
    jobs: Sequence[Job], method: str, resources: RerankResources, writer: RowWriter, *, quiet: bool
) -> RunResult:
    """Rank the photos of the jobs, with their rows written and counted on stderr."""
    from rerank.methods import make_reranker
    from rerank.reranker import run_jobs

    n_done = n_failed = 0
    with counted_calls("photos", sum(len(each.candidates) for each in jobs), quiet=quiet) as meter:

        def take(of: Job, ranked: list[RankedImage]) -> None:
            nonlocal n_done, n_failed
            n_done, n_failed = n_done + len(ranked), n_failed + sum(row.status == "error" for row in ranked)
            writer.take(of, ranked)
            meter(n_done, n_failed)

        meter(0, 0)  # a query may take minutes before its first photo is ranked
        result = run_jobs(jobs, make_reranker(method, resources), on_ranked=take)
    writer.close()
    return result


def _checked_stem(stem: Path | None, job: Path) -> Path | None:
    """Return the output files without their endings.

    Raises:
        UsageError: if one of them is the job itself.
    """
    if stem is not None and stem.suffix in (".trec", ".jsonl"):
        stem = stem.with_suffix("")
    if stem is not None and job.resolve() == stem.with_name(f"{stem.name}.jsonl").resolve():
        raise UsageError(f"--output {stem} would overwrite the job.", hint="Choose another name.")
    return stem


def context_of_run(
    settings: Settings, methods: RerankSettings, *, method: str, preset: str, web: bool | None
) -> tuple[ContextSettings, bool | None]:
    """Return the sources of context, and whether the web search is required (None: where it is set).

    The preset `paper` searches the web for each query; without a search model it warns and uses the default.
    """
    context = options.context_settings(preset=preset, web=web)
    if method != "decompose" or not methods.decompose.context:
        return context, web
    if {context.kb, context.wiki, context.web} == {"never"}:
        raise UsageError(
            f"--preset {preset} takes context from the web alone, and the web search is off.",
            hint="Leave out --no-web (in the settings context.web), add --no-context, or take --preset default.",
        )
    is_of_preset = context.web == "always" and options.context_settings(web=web).web != "always"
    if is_of_preset and "search" not in settings.llm:
        output.warn(
            f'The preset "{preset}" searches the web for each query, and [llm.search] is not set: '
            "context comes from the knowledge base instead"
        )
        context = options.context_settings(web=web)
    return context, wiring.IS_WANTED[context.web]


def most_similar_first(job: Job, folder: Path, settings: Settings, *, depth: int, quiet: bool) -> Job:
    """Return the job of a folder with the similarity of each photo to the query as its score.

    Photos that cannot be read come last.

    Raises:
        NoEvidence: if the encoder can see none of the words in photos.
    """
    import asyncio  # late, for `kb --help`

    from rerank.retrievers import SimilarityRetriever

    encoder = wiring.load_text_image_encoder(wiring.profile_of(settings))
    with open_photos(folder, encoder, settings, quiet=quiet) as collection:
        retriever = SimilarityRetriever(encoder, collection)
        rows = asyncio.run(retriever.find(replace(job, candidates=()), len(collection.ids)))
    if not quiet:
        output.note(f"A folder has no first stage: the {depth} photos most similar to the query are re-ranked.")
    scores = {row.image_id: row.score for row in rows}
    candidates = (replace(image, score=scores.get(image.image_id, -1.0)) for image in job.candidates)
    return replace(job, candidates=tuple(candidates))


class RowWriter:
    """Writes rows to stdout in the order of the jobs as soon as possible, or two files at the end."""

    def __init__(self, jobs: Sequence[Job], *, form: str, stem: Path | None, tag: str) -> None:
        self._jobs, self._form, self._stem, self._tag = jobs, form, stem, tag
        self._done: dict[str, list[RankedImage]] = {}
        self._n_written = 0

    def take(self, job: Job, ranked: list[RankedImage]) -> None:
        """Take the rows of a completed job."""
        self._done[job.query_id] = ranked
        if self._stem is None:
            while self._n_written < len(self._jobs) and self._jobs[self._n_written].query_id in self._done:
                rows = self._done[self._jobs[self._n_written].query_id]
                output.write_rows(self._lines(self._form, rows))
                self._n_written += 1

    def close(self) -> None:
        """Write the files, if files were asked for."""
        from data.files import write_atomic

        if self._stem is not None:
            for form in ("trec", "jsonl"):
                text = "".join(self._lines(form, self._done[job.query_id]) for job in self._jobs)
                write_atomic(self._stem.with_name(f"{self._stem.name}.{form}"), text.encode())

    def _lines(self, form: str, rows: Sequence[RankedImage]) -> str:
        if form == "trec":
            from rerank.jobs import trec_lines

            if all(row.status == "error" for row in rows):
                return ""  # a TREC run cannot mark a failed query: its rows would show first-stage order
            return "".join(f"{line}\n" for line in trec_lines(rows, tag=self._tag))
        return output.json_lines(rows)


def forecast_text(plan: RunPlan, jobs: Sequence[Job], models: Mapping[str, PricedModel]) -> str:
    """Return the numbers of queries, photos and model calls of a run, and its cost at most."""
    calls, depth = plan.calls(jobs), plan.settings.depth
    by = "judge" if plan.method in ("decompose", "cotrr") else "compared by"
    n_photos = sum(min(len(job.candidates), depth or len(job.candidates)) for job in jobs)
    shown: dict[str, object] = {"queries": len(jobs), "photos": n_photos, by: plan.judge}
    if n := sum(each.n for each in calls):
        most = n + sum(each.n_more for each in calls)
        shown["model calls, without retries"] = n if n == most else f"{n:,} to {most:,}"
        if for_context := sum(each.n for each in calls if each.is_context):
            shown["of these for context"] = for_context
        cost = most_cost_usd(calls, models)
        shown["approximate cost, at most"] = (
            "unknown: set price_in and price_out"
            if cost is None
            else f"${cost:.2f}, ${cost / max(1, len(jobs)):.4f} per query"
        )
    return output.as_fields(shown)
