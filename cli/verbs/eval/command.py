"""`kb eval`: figures of ranked lists and recognition, as tables or data."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from cli.common import options, output
from cli.verbs.eval.species import species
from data.frames import as_csv
from rerank.evaluation.request import EvaluationRequest, TiePolicy

DEFAULTS = EvaluationRequest()


@click.group()
def eval() -> None:
    """Measure results: tables with standard errors, intervals and paired tests."""


@eval.command()
@click.argument("runs", nargs=-1, metavar="[[NAME=]RUN]...")
@click.option("--jobs", type=options.FILE, metavar="FILE",
              help="Jobs with `relevant`, or a query set (.json).")  # fmt: skip
@click.option("--qrels", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="Relevance in TREC format, instead of --jobs.")  # fmt: skip
@click.option("-k", "cutoffs", type=click.IntRange(1), multiple=True, metavar="K",
              help="Cutoffs of the measures.  [default: those of the query set, else 10, 50, 100]")  # fmt: skip
@click.option("-m", "--measure", "measures", multiple=True, metavar="NAME",
              help="Measures in the tables, such as `AP@50`; the first is tested.  [default: a selection]")  # fmt: skip
@click.option("--ties", type=click.Choice(get_args(TiePolicy)), default=DEFAULTS.ties, show_default=True,
              help="Order of equal scores.")  # fmt: skip
@click.option("--baseline", metavar="NAME", help="Run to compare with.  [default: the first stage, else the first run]")
@click.option("--without", multiple=True, metavar="LABEL",
              help="Leave out the queries of a query set with this label.")  # fmt: skip
@click.option("--resamples", "n_resamples", type=click.IntRange(100), metavar="N",
              default=DEFAULTS.n_resamples, show_default=True,
              help="Number of bootstrap and randomisation resamples.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), metavar="N", default=DEFAULTS.seed, show_default=True,
              help="Random seed.")  # fmt: skip
@options.format_option("table", "csv", "json")
def rerank(form: str, cutoffs: tuple[int, ...], **given: object) -> None:
    """Measure ranked lists: TREC runs or the JSON lines of kb rerank.

    Without a RUN the first stage of the jobs is measured. Each mean comes with its standard error and a 95 % interval
    over queries; tests are paired. A RUN is named after its file unless a NAME is given. `--format json` holds all
    measures, for each query too.

    Example: kb eval rerank context=a.run both=b.jsonl --jobs jobs.jsonl
    """
    from cli.verbs.eval.rerank_tables import as_text
    from rerank.evaluation.files import evaluate_files, evaluation_warnings

    request = EvaluationRequest(cutoffs=tuple(sorted(set(cutoffs))), **given)  # type: ignore[arg-type]  # click has checked
    evaluation = evaluate_files(request)
    for line in evaluation_warnings(request, evaluation):
        output.warn(line)
    if form == "json":
        from data.codec import to_json

        output.write(output.as_json(to_json(evaluation)))
    elif form == "csv":
        output.write_rows(as_csv(evaluation.to_frame()))
    else:
        output.write(as_text(evaluation))


eval.add_command(species)
