"""`python -m papers feedback`: recall of interactive retrieval by an artificial actor, turn by turn."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from cli.common import exit_codes, options, output
from cli.common.feedback_resources import CAPTIONERS, FeedbackResources, open_feedback
from cli.common.output import counted_calls
from cli.common.photo_folders import open_photos
from data.errors import UsageError
from data.frames import as_csv
from data.metrics import N_RESAMPLES
from data.words import plural
from rerank.settings import FEEDBACK_PRESETS, N_TURNS, FeedbackMethod, FeedbackSettings, needs_text_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.common.settings import Settings
    from data.cache_file import CacheFile
    from data.contracts import ImageCollection
    from papers.feedback.actor import ActorRun
    from papers.feedback.labelled import LabelledQueries
    from rerank.reranker import Tally


@click.command()
@click.option("--images", type=click.Path(exists=True, file_okay=False, path_type=Path), required=True, metavar="DIR",
              help="Folder of the photos to search.")  # fmt: skip
@click.option("--jobs", type=options.FILE, metavar="FILE",
              help="Jobs with `relevant`, or MSR-VTT.  [default: each folder of photos is a query and its "
              "answer]")  # fmt: skip
@click.option("--method", "methods", type=click.Choice(get_args(FeedbackMethod)), multiple=True,
              help="Methods to compare; may be repeated.  [default: rocchio, captions, and with [llm.text] summary, "
              "keywords, cot]")  # fmt: skip
@click.option("--preset", type=click.Choice(list(FEEDBACK_PRESETS)), default="default", show_default=True,
              help="Constants: ours, or of the paper.")  # fmt: skip
@click.option("--captioner", metavar="NAME", help=f"{CAPTIONERS}  [default: vision if it is set, else phrases]")
@options.kb_option("Knowledge base of the phrases.")
@options.cost_options
@click.option("--query", "template", default="{name}", show_default=True, metavar="TEXT",
              help="Query for a folder of photos, with its name.")  # fmt: skip
@click.option("--turns", "n_turns", type=click.IntRange(0), default=N_TURNS, show_default=True, metavar="N",
              help="Turns of feedback after turn 0.")  # fmt: skip
@click.option("--sample", "n_sample", type=click.IntRange(1), metavar="N",
              help="Number of queries, chosen at random.  [default: all]")  # fmt: skip
@click.option("--resamples", "n_resamples", type=click.IntRange(100), default=N_RESAMPLES, show_default=True,
              metavar="N", help="Number of bootstrap resamples.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, metavar="N",
              help="Random seed of --sample and --resamples.")  # fmt: skip
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.svg",
              help="Write the recall by turn as a chart.")  # fmt: skip
@options.format_option("table", "csv", "json")
@click.pass_context
def feedback(
    ctx: click.Context,
    images: Path,
    jobs: Path | None,
    methods: tuple[FeedbackMethod, ...],
    preset: str,
    captioner: str | None,
    kb: Path | None,
    max_cost: float | None,
    offline: bool,
    template: str,
    n_turns: int,
    n_sample: int | None,
    n_resamples: int,
    seed: int,
    plot: Path | None,
    form: str,
) -> None:
    """Measure kb feedback with an artificial actor, who marks every relevant photo that is shown.

    Accumulated recall is the share of the relevant photos shown so far. Beside it stand the recall of a single search
    after as many photos, and the ceiling: a turn of 20 photos holds at most 20 relevant ones. `--format json` holds
    every query. An interrupted run resumes: finished queries are not searched again, nor cached replies requested.
    Exit code 7 if queries failed, photos had no caption or queries were not denoised, 6 if a provider failed for all.

    Example: python -m papers feedback --images photos/ --method rocchio --method captions --plot recall.svg
    """
    from papers.feedback.report import chart, figures_of
    from papers.feedback.unfinished import UnfinishedRuns
    from rerank.feedback.session import state_of

    if jobs is None and "{name}" not in template:
        raise UsageError("--query: expected a text with {name}.", hint='--query "a photo of a {name}"')
    settings = options.settings(kb=kb)
    of_methods = options.method_settings("feedback", FeedbackSettings, base=FEEDBACK_PRESETS[preset])
    chosen = tuple(dict.fromkeys(methods)) or _default_methods(settings)
    with ExitStack() as stack:
        opened = stack.enter_context(
            open_feedback(settings, chosen, of_methods, captioner=captioner, max_cost=max_cost, offline=offline)
        )
        quiet = options.invocation().quiet
        collection = stack.enter_context(open_photos(images, opened.encoder, settings, quiet=quiet))
        labelled, searched = _labelled(jobs, collection, images, template)
        if labelled.n_missing:
            missing = plural(labelled.n_missing, "relevant photo")
            output.warn(f"{missing} not found in the collection, or unreadable; they count as missed")
        if n_sample is not None:
            labelled = labelled.sample(n_sample, seed)
        inputs = (opened.models, state_of(searched), labelled.digest, of_methods, n_turns)
        unfinished = UnfinishedRuns(settings.home, inputs)
        runs: dict[str, Sequence[ActorRun]] = {}
        tallies: list[Tally] = []
        for method in chosen:
            with unfinished.of(method) as store:
                runs[method], tally = _run(method, labelled, searched, opened, of_methods, n_turns, store)
                tallies.append(tally)
        errors = [error for tally in tallies for error in tally.failures]
        figures = figures_of(runs, k=of_methods.k, n_resamples=n_resamples, seed=seed, errors=errors)
        if not figures.failed:
            unfinished.remove()
        if not quiet and (lines := opened.cost_lines()):
            output.note(", ".join(lines))
    if plot is not None:
        from data.files import write_atomic

        write_atomic(plot, chart(figures).encode())
    if form == "json":
        from data.codec import to_json

        output.write(output.as_json(to_json(figures)))
    else:
        from papers.feedback.report import as_text

        output.write(as_csv(figures.to_frame().round(6)).rstrip() if form == "csv" else as_text(figures))
    if figures.failed:
        reasons = output.first_few([f"{query}: {reason}" for query, reason in figures.failed.items()])
        output.warn(f"{plural(len(figures.failed), 'query', 'queries')} left out: {reasons}")
    if figures.failed or not all(tally.is_complete for tally in tallies):
        ctx.exit(exit_codes.PARTLY)


def _default_methods(settings: Settings) -> tuple[FeedbackMethod, ...]:
    known: tuple[FeedbackMethod, ...] = ("rocchio", "captions", "summary", "keywords", "cot")
    return tuple(each for each in known if "text" in settings.llm or not needs_text_model(each, FeedbackSettings()))


def _labelled(
    jobs: Path | None, collection: ImageCollection, images: Path, template: str
) -> tuple[LabelledQueries, ImageCollection]:
    """Return the queries, and the collection that they are searched in."""
    from papers.feedback.labelled import PartOfCollection, queries_of_file, queries_of_folders

    if jobs is None:
        return queries_of_folders(collection, template), collection
    found = queries_of_file(jobs, collection, images=images)
    return found, collection if found.images is None else PartOfCollection(collection, found.images)


def _run(
    method: FeedbackMethod,
    labelled: LabelledQueries,
    collection: ImageCollection,
    opened: FeedbackResources,
    settings: FeedbackSettings,
    n_turns: int,
    store: CacheFile,
) -> tuple[Sequence[ActorRun], Tally]:
    import asyncio

    from papers.feedback.actor import act

    search = opened.search(collection, method, settings)
    with counted_calls(method, len(labelled.queries), quiet=options.invocation().quiet) as meter:
        done = failed = 0

        def count(run: ActorRun) -> None:
            nonlocal done, failed
            done, failed = done + 1, failed + (run.error is not None)
            meter(done, failed)

        runs = asyncio.run(act(search, labelled.queries, n_turns=n_turns, store=store, on_done=count))
    for line in search.tally.warnings():
        output.warn(f"{method}: {line}")
    if lines := search.tally.lines():
        output.note(f"{method}: {', '.join(lines)}")
    return runs, search.tally
