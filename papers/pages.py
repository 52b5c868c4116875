"""Pages on the published tables: the catalogue, the plan of a table, our figures beside the published ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cli.common import output
from data.frames import Columns
from papers.catalogue import PAPERS, Paper, Table, read_paper
from papers.commands import Command, Places, commands_of
from papers.costs import (
    PHOTOS_PER_S,
    cost_of,
    cost_of_table,
    cost_text,
    derivations,
    runs_of,
)
from papers.results import Cell

if TYPE_CHECKING:
    from kb.endpoints.endpoint import Endpoint

COLUMNS: Final[Columns] = {
    **dict.fromkeys(("paper", "table", "row", "column"), "text"),
    **dict.fromkeys(("published", "ours", "difference"), "number"),
    "model": "text",
}
NOT_AVAILABLE = "table not available"


def catalogue_text(papers: Sequence[str] = PAPERS) -> str:
    """Return the tables of papers, with data sets, models and cost at the list prices of the paper's models."""
    parts = []
    for name in papers:
        paper = read_paper(name)
        lines = [f"{name}: {paper.title}", paper.source, f"Needs {paper.needs}."]
        width = max(map(len, paper.tables))
        for table, each in paper.tables.items():
            lines.append(f"  {table:{width}}  {each.title}")
            about = {
                "data": ", ".join(each.data),
                "models": ", ".join(models_of(paper, each)),
                "cost": cost_text(cost_of_table(paper, each)) if each.steps else "",
            }
            more = [f"{what}: {text}" for what, text in about.items() if text] if each.is_available else [NOT_AVAILABLE]
            more += dict.fromkeys(row.missing for row in each.rows if row.missing and not each.steps)
            lines += [f"  {'':{width}}    {line}" for line in more]
        parts.append("\n".join(lines))
    parts.append(
        "python -m papers PAPER TABLE --data DIR --dry-run prints the layout of DIR, the commands and their cost; "
        "--miniature runs them on a small data set of drawings."
    )
    return "\n\n".join(parts)


def models_of(paper: Paper, table: Table) -> list[str]:
    """Return the models of a table: `vision gpt-4.1`."""
    called = ((step, calls.kind) for step in table.steps for calls in paper.steps[step].calls)
    return list(dict.fromkeys(f"{kind} {paper.model(step, kind).name}" for step, kind in called))


def plan_text(
    paper: Paper,
    table: Table,
    commands: Sequence[Command],
    endpoints: Mapping[str, Endpoint],
    *,
    root: Path | None,
    miniature: bool,
) -> str:
    """Return the layout of the data, what of it `root` lacks, the commands, and their cost."""
    parts = [f"{table.title}\n{table.measure}", *table.notes]
    if miniature:
        parts += [f"Data: drawings and a few queries in the published layout, made in {root}."]
    else:
        parts += ["Data, below --data:\n" + "\n".join(f"  {line}" for line in layout_lines(paper, table))]
    if root is not None and not miniature:
        wanted = dict.fromkeys(command.source.path for command in commands if command.source is not None)
        missing = [str(path) for path in wanted if not path.exists()]
        parts += [f"Not found: {', '.join(missing)}."] if missing else []
    lines = []
    converted = dict.fromkeys(command.source.text for command in commands if command.source and command.is_converted)
    lines += [f"  {text}" for text in converted]
    for command in commands:
        lines += [f"  {command.text}"]
        if not miniature:
            for line in derivations(paper, command.step, command.data):
                lines.append(f"      {line}")
            cost = cost_of(paper, command.step, command.data, _for_prices(endpoints, command))
            lines += [f"      {cost_text(cost)}"] if cost_text(cost) != "nothing" else []
    parts += ["Commands:\n" + "\n".join(lines)]
    if not miniature:
        kinds = {kind for command in commands for kind in command.kinds}
        known = kinds <= endpoints.keys()
        total = cost_of_table(paper, table, endpoints if known else None)
        whose = "at the prices of your models" if known else "at the list prices of the paper's models"
        parts += [f"All together, {whose}: {cost_text(total)}."]
    return "\n\n".join(parts)


def layout_lines(paper: Paper, table: Table) -> Iterator[str]:
    """Yield a line for each data set: files and source."""
    for name in table.data:
        found = paper.data[name]
        counts = ", ".join(f"{n:,} {what}" for what, n in found.counts.items())
        yield f"{found.title} ({counts}): {found.layout}; from {found.source}"


def comparison_text(paper: Paper, name: str, table: Table, cells: Sequence[Cell], *, miniature: bool) -> str:
    """Return the published figures and ours, two lines for each row, and the definition of the measure."""
    ours = "ours, miniature" if miniature else "ours"
    columns = [column.name for column in table.columns]
    rows = []
    for row in table.rows:
        of_row = [cell for cell in cells if cell.row == row.name]
        shown = [[_number(cell.published, table) for cell in of_row], [_number(cell.ours, table) for cell in of_row]]
        model = next((cell.model for cell in of_row if cell.model), "")
        rows += [[row.name, "paper", *shown[0]]] if any(shown[0]) else []
        note = next((cell.note for cell in of_row if cell.note), "") or model
        rows += [["" if any(shown[0]) else row.name, f"{ours} ({note})" if note else ours, *shown[1]]]
    text = output.as_table(["", "", *columns], rows, right=columns)
    return "\n\n".join([f"{paper.title}, {name}: {table.title}", text, f"Measure: {table.measure}.", *table.notes])


def comparison_rows(paper: str, name: str, cells: Sequence[Cell]) -> list[dict[str, object]]:
    """Return the cells as records for CSV and JSON."""
    return [
        {
            "paper": paper, "table": name, "row": cell.row, "column": cell.column, "published": cell.published,
            "ours": cell.ours, "difference": _difference(cell), "model": cell.model,
        }
        for cell in cells
    ]  # fmt: skip


def _difference(cell: Cell) -> float | None:
    return None if cell.ours is None or cell.published is None else cell.ours - cell.published


def _number(value: float | None, table: Table) -> str:
    return "" if value is None else f"{value:.{table.digits}f}"


def _for_prices(endpoints: Mapping[str, Endpoint], command: Command) -> Mapping[str, Endpoint] | None:
    """Return the endpoints if they have all models of a command; else the list prices count."""
    return endpoints if set(command.kinds) <= endpoints.keys() else None


_PLACES: Final = Places(root=Path("DATA"), work=Path("WORK"), kb=None)


def page_of(name: str) -> str:
    """Return the page of the documentation on a paper: models, data sets, each table with its commands and costs."""
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
        lines += _table_page(paper, name, table, found)
    return "\n".join(lines) + "\n"


def _table_page(paper: Paper, paper_name: str, name: str, table: Table) -> Iterator[str]:
    yield from (f"## {name}: {table.title}", "")
    if not table.is_available:
        yield from (f"{NOT_AVAILABLE.capitalize()}. {' '.join(table.notes)}", "")
        return
    yield from (f"`python -m papers {paper_name} {name} --data DATA`", "")
    yield from (f"Measure: {table.measure}.", "")
    for note in table.notes:
        yield from (note, "")
    yield from ("Data:", "", *(f"- {line}" for line in layout_lines(paper, table)), "", "Commands:", "", "```sh")
    shown: set[str] = set()
    for command in commands_of(paper, table, _PLACES):
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
