"""`python -m papers answers`: question answering from what a search found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.common import exit_codes, options, output
from cli.common.output import counted_calls
from data.errors import UsageError
from data.words import plural

if TYPE_CHECKING:
    from papers.answers.evidence import Evidence, Per
    from papers.answers.report import AnswerRow

DEPTHS = (1, 10)


# Long: parse, wire, call and print; a part of it would take most of the options.
@click.command()
@click.argument("questions", type=options.FILE, metavar="QUESTIONS")
@click.argument("runs", nargs=-1, metavar="[[NAME=]RUN]...")
@click.option("-k", "depths", type=click.IntRange(1), multiple=True, metavar="K",
              help="Photos of each RUN that the reader is shown.  [default: 1, 10]")  # fmt: skip
@click.option(
    "--per",
    type=click.Choice(("question", "entity")),
    default="question",
    show_default=True,
    help="Count K over both species of a question, as in VisRet's tables, or for each, as in its code.",
)
@click.option("--images", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
              help="Folder of the photos.  [default: near QUESTIONS]")  # fmt: skip
@click.option("--drawings", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
              help="Answer from drawings too: files named by retrieval query, such as 0_entity_1.png.")  # fmt: skip
@click.option(
    "--draw",
    is_flag=True,
    help="Answer from drawings too, made as by kb rerank --method visret, with the settings [rerank.visret].",
)
@click.option("--preset", type=click.Choice(("default", "paper")), default="default", show_default=True,
              help="Preset of --draw, as of kb rerank --method visret.")  # fmt: skip
@click.option("--output", "out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Write questions, answers and judgements as JSON lines.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show the number of model calls and their cost, and stop.")
@click.option("--resamples", "n_resamples", type=click.IntRange(100), default=10_000, show_default=True, metavar="N",
              help="Number of bootstrap and randomisation resamples.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, metavar="N", help="Random seed.")
@options.cost_options
@options.format_option("table", "json")
@click.pass_context
def answers(
    ctx: click.Context,
    questions: Path,
    runs: tuple[str, ...],
    depths: tuple[int, ...],
    per: Per,
    preset: str,
    images: Path | None,
    drawings: Path | None,
    draw: bool,
    out: Path | None,
    dry_run: bool,
    n_resamples: int,
    seed: int,
    max_cost: float | None,
    offline: bool,
    form: str,
) -> None:
    """Measure answers to the questions of Visual-RAG or Visual-RAG-ME.

    [llm.vision] answers each question without pictures, from the drawings, and from the first photos of each RUN (TREC
    or JSON lines); [llm.text] judges the answers, from 0 to 1. Accuracy is the mean score, with a 95 % interval over
    questions. An interrupted run resumes: cached replies are not requested again.

    Example: python -m papers answers visual_rag_me.jsonl text=clip.trec visret.jsonl --output answers.jsonl
    """
    from data.prompts import Prompts
    from papers.answers.evidence import NoPicture
    from papers.answers.inputs import drawing_settings, open_models, read_evidence
    from papers.answers.reader import PLACEHOLDERS, AnswerJudge, AnswerReader
    from papers.answers.report import report_of
    from papers.answers.run import run_answers
    from papers.answers.tables import as_text, forecast_text

    settings = options.settings()
    given = [questions, *(Path(run.rpartition("=")[2]) for run in runs)]
    if out is not None and any(file.resolve() == out.resolve() for file in given):
        raise UsageError(f"--output {out} would overwrite an input.", hint="Choose another name.")
    if draw and drawings is not None:
        raise UsageError("--draw makes drawings and --drawings takes them from a folder.", hint="Use one of them.")
    if not runs and (depths or images):
        raise UsageError("-k and --images are for the photos of a RUN, and none is given.")
    visret = drawing_settings(drawings, preset) if draw or drawings is not None else None
    benchmark, photos = read_evidence(
        questions, runs, depths=sorted(set(depths or DEPTHS)), images=images, per=per, is_dry=dry_run
    )
    quiet = options.invocation().quiet
    with open_models(settings, visret, benchmark, max_cost=max_cost, offline=offline or dry_run) as opened:
        evidence: list[Evidence] = [NoPicture(), *opened.drawings, *photos]
        if dry_run:
            output.write(forecast_text(benchmark.questions, evidence, visret, settings.llm))
            return
        prompts = Prompts("papers", PLACEHOLDERS, settings.prompts)
        with counted_calls("answers", len(benchmark.questions) * len(evidence), quiet=quiet) as meter:
            n_done = n_failed = 0

            def count(row: AnswerRow) -> None:
                nonlocal n_done, n_failed
                n_done, n_failed = n_done + 1, n_failed + (row.status == "error")
                meter(n_done, n_failed)

            run = run_answers(
                benchmark.questions,
                evidence,
                reader=AnswerReader(opened.reader, prompts=prompts),
                judge=AnswerJudge(opened.judge, prompts=prompts),
                on_row=count,
            )
        if not quiet:
            output.note(opened.summary())
    if out is not None:
        from data.files import write_atomic

        write_atomic(out, output.json_lines(run.rows).encode())
    run.raise_if_all_failed()
    report = report_of(run.rows, n_resamples=n_resamples, seed=seed)
    if form == "json":
        from data.codec import to_json

        output.write(output.as_json(to_json(report)))
    else:
        output.write(as_text(report))
    for line in _warnings(run.rows):
        output.warn(line)
    if run.failures:
        ctx.exit(exit_codes.PARTLY)


def _warnings(rows: Sequence[AnswerRow]) -> Iterator[str]:
    """Yield what lowers the figures, and the first reasons of errors."""
    failed = [row for row in rows if row.status == "error"]
    if failed:
        reasons = list(dict.fromkeys(row.error or "" for row in failed))
        more = f"; and {len(reasons) - 3:,} more reasons" if len(reasons) > 3 else ""
        yield f"{plural(len(failed), 'answer')} not measured: {'; '.join(reasons[:3])}{more}"
    if n := sum(row.outcome == "unreadable judgement" for row in rows):
        yield f"{plural(n, 'unreadable judgement')}; counted as 0"
    for outcome in ("refused", "cut off"):
        if n := sum(row.outcome == outcome for row in rows):
            yield f"{plural(n, 'answer')} {outcome}; counted as 0"
    if n := sum(bool(row.note) for row in rows):
        yield f"{plural(n, 'answer')} from fewer pictures: some cannot be read"
