"""`kb eval reproduce`: a published table, measured by our commands and printed beside the paper's figures."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from cli.common import exit_codes, options, output
from cli.verbs.eval.reproduce.names import PAPERS
from data.errors import MissingRequirement, UsageError
from data.words import plural


@click.command()
@click.argument("paper", required=False, type=click.Choice(PAPERS), metavar="[PAPER]")
@click.argument("table", required=False, metavar="[TABLE]")
@click.option("--data", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Folder of the data sets, in the layout of --dry-run.")  # fmt: skip
@click.option("--miniature", is_flag=True,
              help="Run on a small data set of drawings in the published layout, made in --data or the results.",
)  # fmt: skip
@click.option("--output", "work", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Folder of the results.  [default: FIELDMARK_HOME/reproduce/PAPER]")  # fmt: skip
@options.cost_options
@click.option("--dry-run", is_flag=True, help="Print the data layout, the commands and their cost, and stop.")
@options.format_option("table", "csv", "json")
@click.pass_context
def reproduce(
    ctx: click.Context,
    paper: str | None,
    table: str | None,
    data: Path | None,
    miniature: bool,
    work: Path | None,
    max_cost: float | None,
    offline: bool,
    dry_run: bool,
    form: str,
) -> None:
    """Measure a table of one of the five papers and print our figures beside the published ones.

    Without PAPER it lists papers and tables with their data sets, models and cost. TABLE is a name of the list; 2 is
    short for table-2. Steps without their data or models are skipped and named. Finished steps are kept in the results;
    the same command continues.

    Examples: kb eval reproduce vr-rag table-2 --data ~/datasets; kb eval reproduce vr-rag table-2 --miniature
    """
    from cli.verbs.eval.reproduce import pages
    from cli.verbs.eval.reproduce.catalogue import read_paper
    from cli.verbs.eval.reproduce.commands import Places, commands_of
    from cli.verbs.eval.reproduce.miniature import make_miniature
    from cli.verbs.eval.reproduce.results import cells_of
    from cli.verbs.eval.reproduce.runner import WAITING, Runner, RunOptions

    if paper is None or table is None:
        output.write(pages.catalogue_text(PAPERS if paper is None else (paper,)))
        return
    found, settings = read_paper(paper), options.settings()
    chosen, name = found.table(table), found.table_name(table)
    if not chosen.is_available:
        raise MissingRequirement(f"{found.title}, {name}: {pages.NOT_AVAILABLE}.", hint=" ".join(chosen.notes) or None)
    work = work or settings.home / "reproduce" / (f"{paper}-miniature" if miniature else paper)
    if data is None and not (miniature or dry_run):
        raise UsageError("Reproducing a table needs its data sets.", hint="Give --data DIR, or --miniature to try it.")
    root = data or (work / "data" if miniature else None)
    places = Places(root=root or Path("DATA"), work=work, kb=settings.kb)
    if miniature:
        places = make_miniature(found, chosen, places, has_text_model="text" in settings.llm, is_dry_run=dry_run)
    commands = commands_of(found, chosen, places)
    if dry_run:
        output.write(pages.plan_text(found, chosen, commands, settings.llm, root=root, miniature=miniature))
        return
    runner = Runner(
        work,
        RunOptions(endpoints=settings.llm, passed_on=_passed_on(), is_offline=offline, max_cost=max_cost),
        output.note,
    )
    cells = list(cells_of(found, chosen, runner.run(commands)))
    rows = pages.comparison_rows(paper, name, cells)
    if form == "json":
        output.write(output.as_json({"paper": found.title, "measure": chosen.measure, "cells": rows}))
    elif form == "csv":
        output.write_rows(pages.as_csv(rows))
    else:
        output.write(pages.comparison_text(found, name, chosen, cells, miniature=miniature))
    if runner.problems:
        causes = Counter(why for why in runner.problems.values() if not why.startswith(WAITING))
        steps = f"{len(runner.problems)} of {plural(len(commands), 'step')} not finished"
        output.warn(f"{steps}: " + "; ".join(f"{why} ({n})" if n > 1 else why for why, n in causes.items()))
    if runner.partial:
        output.warn(
            f"done in part, so their figures may be too low: {output.first_few(runner.partial)}; "
            "the same command tries the failed photos and queries again"
        )
    if miniature:
        output.note("Miniature data: drawings and a few queries. The figures show that all parts work, nothing else.")
    if runner.problems or runner.partial:
        ctx.exit(exit_codes.PARTLY)


def _passed_on() -> tuple[str, ...]:
    """Return the options that every command gets from this one."""
    given = options.invocation()
    sets = [each for key, value in given.set.items() if key != "kb" for each in ("--set", f"{key}={value}")]
    settings = () if given.settings is None else ("--settings", str(given.settings))
    return (*settings, *sets, *(("--quiet",) if given.quiet else ()))
