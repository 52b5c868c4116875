"""Pages of the documentation on the published tables, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from pathlib import Path

from cli.verbs.eval.reproduce.catalogue import Paper, Table, read_paper
from cli.verbs.eval.reproduce.commands import Places, commands_of
from cli.verbs.eval.reproduce.costs import PHOTOS_PER_S, cost_of, cost_of_table, cost_text, derivations, runs_of
from cli.verbs.eval.reproduce.pages import NOT_AVAILABLE, layout_lines

PLACES = Places(root=Path("DATA"), work=Path("WORK"), kb=None)


def page_of(name: str) -> str:
    """Return the page of a paper: models, data sets, and each table with its commands and costs."""
    paper = read_paper(name)
    lines = [f"# {paper.title}", "", f"{paper.source}. Needs {paper.needs}.", ""]
    lines += [f"- {note}" for note in paper.notes]
    lines += ["", "| use | model of the paper | list price, US dollars |", "|---|---|---|"]
    for kind, model in paper.models.items():
        price = f"{model.price_in:g} in, {model.price_out:g} out per million tokens"
        price += f", {model.price_per_request:g} per request" if model.price_per_request else ""
        if not (model.price_in or model.price_out or model.price_per_request):
            price = f"open weights; {model.tokens_per_s:,} tokens per second of a GPU assumed"
        lines.append(f"| {kind} | {model.name} | {price} |")
    lines += ["", f"GPU hours of encoders assume {PHOTOS_PER_S} photos per second and encoder.", ""]
    for table, found in paper.tables.items():
        lines += _table(paper, name, table, found)
    return "\n".join(lines) + "\n"


def _table(paper: Paper, paper_name: str, name: str, table: Table) -> Iterator[str]:
    yield from (f"## {name}: {table.title}", "")
    if not table.is_available:
        yield from (f"{NOT_AVAILABLE.capitalize()}. {' '.join(table.notes)}", "")
        return
    yield from (f"`kb eval reproduce {paper_name} {name} --data DATA`", "")
    yield from (f"Measure: {table.measure}.", "")
    for note in table.notes:
        yield from (note, "")
    yield from ("Data:", "", *(f"- {line}" for line in layout_lines(paper, table)), "", "Commands:", "", "```sh")
    shown: set[str] = set()
    for command in commands_of(paper, table, PLACES):
        if command.step not in shown:  # one of the data sets
            shown.add(command.step)
            yield from (f"# {command.title}", command.text)
    yield from ("```", "", "| step | data set | calls | cost |", "|---|---|---|---|")
    for step, data in runs_of(paper, table):
        calls = "; ".join(derivations(paper, step, data))
        yield f"| {paper.steps[step].title} | {data} | {calls} | {cost_text(cost_of(paper, step, data))} |"
    yield from (f"| all | | | {cost_text(cost_of_table(paper, table))} |", "")
    yield from ("Published figures:", "", f"| | {' | '.join(column.name for column in table.columns)} |")
    yield f"|---|{'---|' * len(table.columns)}"
    for row in table.rows:
        if row.published:
            cells = ("" if isnan(value) else f"{value:.{table.digits}f}" for value in row.published)
            yield f"| {row.name} | {' | '.join(cells)} |"
    yield ""
