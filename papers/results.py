"""Our figures beside the published ones, from the results of the steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan

from papers.catalogue import Paper, Place, Table
from papers.commands import plays
from papers.runner import Result
from rerank.evaluation.request import ASPECT, AXES, ROUND

MEAN = "mean"
_NONE = "(none)"
NO_ENCODER = "no such encoder in this run"
_UNLABELLED = dict.fromkeys((*AXES, ROUND, ASPECT), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One figure of a table, in the unit of the paper."""

    row: str
    column: str
    published: float | None
    ours: float | None
    model: str
    """Our models, if they are not those of the row."""
    note: str = ""
    """Why our figure is missing, if that is known."""


def cells_of(paper: Paper, table: Table, results: Sequence[Result]) -> Iterator[Cell]:
    """Yield the cells of a table, row by row."""
    for row in table.rows:
        for i, column in enumerate(table.columns):
            published = row.published[i] if i < len(row.published) else float("nan")
            ours, model = (None, "") if row.missing else _figure(paper, table, row, column, results)
            yield Cell(
                row=row.name,
                column=column.name,
                published=None if isnan(published) else published,
                ours=None if ours is None else ours * table.scale,
                model=model,
                note=row.missing or ("" if ours is not None else _missing_encoder(row, column, results)),
            )


def _figure(
    paper: Paper, table: Table, row: Place, column: Place, results: Sequence[Result]
) -> tuple[float | None, str]:
    """Return the figure of a cell in our unit, and the models that made it if they are others than the paper's."""
    data, steps = column.data or row.data, (column.step or row.step).split("|")
    if len(steps) > 1:
        parts = [_figure(paper, table, replace(row, step=step), replace(column, step=""), results) for step in steps]
        return _mean([value for value, _ in parts]), parts[0][1]
    if data == MEAN:
        named = dict.fromkeys(each.data for each in table.columns if each.data not in (MEAN, ""))
        found = [_of_data(paper, table, row, column, name, results) for name in named or table.data]
        return _mean([value for value, _ in found]), found[0][1]
    return _of_data(paper, table, row, column, data, results)


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values, None if one is missing."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def _missing_encoder(row: Place, column: Place, results: Iterable[Result]) -> str:
    """Return the note on a figure of an encoder that no run of its step has; empty if that is not the reason."""
    places = {**row.pick, **column.pick}.get("encoders")
    runs = [result.lines for result in results if result.step == (column.step or row.step) and result.lines]
    is_missing = bool(places and runs) and all(_NONE in _encoders(str(places), lines) for lines in runs)
    return NO_ENCODER if is_missing else ""


def _of_data(
    paper: Paper, table: Table, row: Place, column: Place, data: str, results: Sequence[Result]
) -> tuple[float | None, str]:
    step, measure = column.step or row.step, column.measure or row.measure
    value, pick = column.value or row.value, {**row.pick, **column.pick}
    wanted = {**row.models, **column.models}
    for result in results:
        if result.step != step or result.data not in (data, ""):
            continue
        others = _other_models(paper, table, result, wanted)
        if others is None:
            continue
        for line in result.lines:
            if line.get("measure", measure) == measure and _matches(line, pick, result.lines) and line.get(value):
                return float(line[value]), others
    return None, ""


def _other_models(paper: Paper, table: Table, result: Result, wanted: Mapping[str, str]) -> str | None:
    """Return the names of our models that are not the paper's; None if the result belongs to another row.

    A model that the table does not know stands for the paper's main model.
    """
    strange = []
    for kind, name in result.models.items():
        main = paper.model(result.step, kind).name
        known = {place.models[kind] for place in (*table.rows, *table.columns) if kind in place.models} | {main}
        played = next((each for each in sorted(known) if plays(name, each)), None)
        if (played or main) != wanted.get(kind, main):
            return None
        strange += [] if played else [f"{kind} {name}"]
    return ", ".join(strange)


def _matches(line: Mapping[str, str], pick: Mapping[str, str], lines: Sequence[Mapping[str, str]]) -> bool:
    """Return whether a line has the values of `pick`; of queries by label, those of all queries unless it names one."""
    return all(
        line.get(column, "") in (_encoders(wanted, lines) if column == "encoders" else wanted).split("|")
        for column, wanted in {**_UNLABELLED, **pick}.items()
    )


def _encoders(places: str, lines: Sequence[Mapping[str, str]]) -> str:
    """Return the names of encoders at places of the profile: `1`, `1+2`, or `all`; they are joined by `+`."""
    single = (line["encoders"] for line in lines if line.get("encoders") and "+" not in line["encoders"])
    names = dict(enumerate(dict.fromkeys(single), 1))
    chosen = list(names) if places == "all" else [int(place) for place in places.split("+")]
    return "+".join(names.get(place, _NONE) for place in chosen)
