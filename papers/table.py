"""A published table, measured by our commands and printed beside the paper's figures."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.common import exit_codes, options, output
from data.errors import MissingRequirement, UsageError
from data.files import sha256_hex, sha256_of_file
from data.frames import as_csv, frame_of
from data.words import plural
from papers.catalogue import read_paper

if TYPE_CHECKING:
    from cli.common.settings import Settings
    from papers.runner import RunOptions


def command_of(paper: str) -> click.Command:
    """Return the command of a paper."""

    @click.command(paper, help=f"{_HELP}\n\n    Example: python -m papers {paper} TABLE --miniature")
    @click.argument("table", required=False, metavar="[TABLE]")
    @click.option("--data", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
                  help="Folder of the data sets, in the layout of --dry-run.")  # fmt: skip
    @click.option("--miniature", is_flag=True,
                  help="Run on a small data set of drawings in the published layout, made in the results, with "
                  "caches and shipped knowledge of its own. No model is called without --models.")  # fmt: skip
    @click.option("--models", is_flag=True, help="Let the miniature call the models of the settings, which may cost.")
    @click.option("--output", "work", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
                  help="Folder of the results.  [default: FIELDMARK_HOME/reproduce/PAPER]")  # fmt: skip
    @options.cost_options
    @click.option("--dry-run", is_flag=True, help="Print the data layout, the commands and their cost, and stop.")
    @options.format_option("table", "csv", "json")
    @click.pass_context
    def command(ctx: click.Context, /, **given: object) -> None:
        if (code := _measure(paper, **given)) != 0:  # type: ignore[arg-type]  # click has checked
            ctx.exit(code)

    return command


_HELP = """Measure a table of the paper and print our figures beside the published ones.

    Without TABLE it lists the tables with their data sets, models and cost; 2 is short for table-2. Steps without their
    data or models are skipped and named. Finished steps are kept in the results, each with all that decides it: the
    same command continues, and with other settings, prompts or data the steps run again."""


def _measure(
    paper: str,
    *,
    table: str | None,
    data: Path | None,
    miniature: bool,
    models: bool,
    work: Path | None,
    max_cost: float | None,
    offline: bool,
    dry_run: bool,
    form: str,
) -> int:
    from papers import pages
    from papers.commands import Places, commands_of
    from papers.miniature import make_miniature
    from papers.results import cells_of
    from papers.runner import WAITING, Runner

    if models and not miniature:
        raise UsageError("--models is for --miniature.", hint="With --data the models of the settings are called.")
    if table is None:
        output.write(pages.catalogue_text((paper,)))
        return 0
    found, settings = read_paper(paper), options.settings()
    chosen, name = found.table(table), found.table_name(table)
    if not chosen.is_available:
        raise MissingRequirement(f"{found.title}, {name}: {pages.NOT_AVAILABLE}.", hint=" ".join(chosen.notes) or None)
    work = (work or settings.home / "reproduce" / (f"{paper}-miniature" if miniature else paper)).absolute()
    if data is None and not (miniature or dry_run):
        raise UsageError("Reproducing a table needs its data sets.", hint="Give --data DIR, or --miniature to try it.")
    root = data.absolute() if data else (work / "data" if miniature else None)
    llm = {} if miniature and not models else settings.llm
    places = Places(root=root or Path("DATA"), work=work, kb=None if miniature else settings.kb, llm=llm)
    if miniature:
        places = make_miniature(found, chosen, places, is_dry_run=dry_run)
    commands = commands_of(found, chosen, places)
    if dry_run:
        output.write(pages.plan_text(found, chosen, commands, llm, root=root, miniature=miniature))
        return 0
    run_options = _run_options(settings, work if miniature else None, with_models=not miniature or models)
    runner = Runner(work, replace(run_options, is_offline=offline, max_cost=max_cost), output.note)
    cells = list(cells_of(found, chosen, runner.run(commands)))
    rows = pages.comparison_rows(paper, name, cells)
    if form == "json":
        output.write(output.as_json({"paper": found.title, "measure": chosen.measure, "cells": rows}))
    elif form == "csv":
        output.write_rows(as_csv(frame_of(rows, pages.COLUMNS)))
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
    return exit_codes.PARTLY if runner.problems or runner.partial else 0


def _run_options(settings: Settings, own_home: Path | None, *, with_models: bool) -> RunOptions:
    """Return the options that every command gets from this one, and a hash of each setting that reaches it."""
    import kb
    from cli.common.settings import read_values
    from fieldmark import fieldmark_version
    from papers.runner import RunOptions

    given = options.invocation()
    values = read_values(file=given.settings, sets=given.set)
    sets = {key: value for key, value in given.set.items() if key not in ("kb", "home")}
    if own_home is not None:
        sets["home"] = str(own_home / "home")  # its replies, web answers and shipped knowledge stay apart
        if settings.kb is not None:
            with kb.open(None, home=own_home / "home") as store:
                sets["kb"] = str(store.path)
    prompts = sorted(settings.prompts.glob("*.md")) if settings.prompts else ()
    values |= {f"prompt {file.name}": file.read_text(encoding="utf-8") for file in prompts}
    values |= {"version": fieldmark_version(otherwise=""), "code": code_digest(Path(__file__).parents[1])}
    passed_on = [("--set", f"{key}={value}") for key, value in sets.items()]
    passed_on += [] if given.settings is None else [("--settings", str(given.settings))]
    return RunOptions(
        endpoints=settings.llm if with_models else {},
        home=settings.home if own_home is None else own_home / "home",
        reaching={key: sha256_hex(repr(value))[:12] for key, value in values.items()},
        passed_on=(*passed_on, *((("--quiet", ""),) if given.quiet else ())),
    )


def code_digest(root: Path) -> str:
    """Return a digest of sources, prompts and tables below a checkout, which change under one version."""
    folders = (root / name for name in ("data", "kb", "recognize", "rerank", "cli", "papers"))
    files = (file for folder in folders for file in folder.rglob("*") if file.suffix in (".py", ".md", ".toml"))
    return sha256_hex(repr([(str(file.relative_to(root)), sha256_of_file(file)) for file in sorted(files)]))
