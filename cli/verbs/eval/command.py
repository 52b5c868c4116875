"""`kb eval rerank` and `kb eval species`: how good results are, as tables or data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from cli.common import options, output
from cli.verbs.eval.species.command import species

CommandT = TypeVar("CommandT", bound=Callable[..., object])

TIES = (
    "first-stage",
    "expected",
    "worst",
    "best",
    "trec",
    "inquire",
)  # TIE_POLICIES of rerank, which loads late


@click.group()
def eval() -> None:
    """Measure results: tables with standard errors, intervals and paired tests."""


@eval.command()
@click.argument("runs", nargs=-1, metavar="[[NAME=]RUN]...")
@click.option(
    "--jobs", type=click.Path(exists=True, path_type=Path), metavar="FILE",
    help="The jobs that were ranked, with `relevant`; also INQUIRE-Rerank as published (a folder or a Parquet file).",
)  # fmt: skip
@click.option("--split", type=click.Choice(("test", "validation")), help="Of INQUIRE-Rerank as published.")
@click.option(
    "--qrels", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="Relevance as TREC has it, instead of --jobs.",
)  # fmt: skip
@click.option(
    "-k", "cutoffs", type=click.IntRange(1), multiple=True, metavar="K", help="Cutoffs; without it 10, 50 and 100."
)
@click.option(
    "-m", "--measure", "measures", multiple=True, metavar="NAME",
    help="Measures to show, the first in all tables, such as `AP@50`; `--format json` has all of them.",
)  # fmt: skip
@click.option("--ties", type=click.Choice(TIES), default=TIES[0], show_default=True, help="What equal scores count as.")
@click.option(
    "--baseline", metavar="NAME", help="The run to compare with; without it the first stage, else the first run."
)
@click.option("--strata", type=click.Choice(["auto", "inquire", "none"]), default="auto", show_default=True,
    help="Split by supercategory and words of the trade: queries of the text of one of INQUIRE's (auto), or of its "
    "number (inquire).",
)  # fmt: skip
@click.option(
    "--without", multiple=True, metavar="LABEL", help="Leave out a stratum; the published tables leave out Species."
)
@click.option(
    "--resamples", type=click.IntRange(100), default=10_000, show_default=True, help="Of bootstrap and randomisation."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of both.")
@options.format_option("table", "csv", "json")
def rerank(
    runs: tuple[str, ...],
    jobs: Path | None,
    split: str | None,
    qrels: Path | None,
    cutoffs: tuple[int, ...],
    measures: tuple[str, ...],
    ties: str,
    baseline: str | None,
    strata: str,
    without: tuple[str, ...],
    resamples: int,
    seed: int,
    form: str,
) -> None:
    """Measure ranked lists: TREC runs or the JSON lines of kb rerank.

    Without a RUN the first stage of the jobs is measured. Every mean comes with its standard error and a 95 % interval
    over queries; the tests are paired. A RUN is named by its file unless a NAME is given.

    Example: kb eval rerank context=a.run both=b.jsonl --jobs jobs.jsonl --without Species
    """
    from cli.verbs.eval import rerank as evaluating

    question = evaluating.Order(
        runs=runs,
        jobs=jobs,
        split=split,
        qrels=qrels,
        cutoffs=tuple(sorted(set(cutoffs))) or (10, 50, 100),
        measures=measures,
        ties=ties,
        baseline=baseline,
        strata=strata,
        without=without,
        n_resamples=resamples,
        seed=seed,
    )
    evaluation = evaluating.evaluated(question)
    for line in evaluating.warnings(question, evaluation):
        output.warn(line)
    if form == "json":
        from data.codec import to_json

        output.write(output.as_json(to_json(evaluation)))
    elif form == "csv":
        output.write_rows(evaluating.as_csv(evaluation))
    else:
        output.write(evaluating.as_text(evaluation, question.shown))


eval.add_command(species)
