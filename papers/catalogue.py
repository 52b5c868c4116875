"""Published tables of the five papers, with the commands that measure them: the files of `tables/`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Final

from data.codec import from_json
from data.errors import UsageError, did_you_mean

PAPERS: Final = ("vr-rag", "divide-and-conquer", "cotrr", "visret", "interactive-retrieval")


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """A data set and its place below the folder of `--data`."""

    title: str
    path: str
    """File or folder that the commands read."""
    layout: str
    """Files that it must hold, below `--data`."""
    source: str
    counts: Mapping[str, int] = field(default_factory=dict)
    """Published numbers of photos, queries and more, for the cost."""
    more: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Step -> more arguments on this data set."""
    split: str | None = None
    """Split to read, where a file holds several."""
    train: str = ""
    """File or folder of the training photos, if it is another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The paper's model of an endpoint, with list prices at the time of the paper in US dollars."""

    name: str
    price_in: float = 0.0
    """Per million input tokens; 0 for open weights on your own server."""
    price_out: float = 0.0
    price_per_request: float = 0.0
    """Per request, or per drawing."""
    tokens_per_s: int = 0
    """Input tokens per second of one GPU with open weights, in batches; a guess. 0: hosted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Model calls of a step on one data set: the product of `times`."""

    kind: str
    """Endpoint: `text`, `vision`, `search` or `image`."""
    times: tuple[str, ...]
    """Names of counts of the data set, or numbers with their unit: `3 questions`."""
    tokens_in: int
    tokens_out: int
    """Tokens per call, photos included."""
    basis: str
    """Origin of the tokens per call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A command of `kb`, run once for each data set of a table, or once for all without `each`."""

    run: tuple[str, ...]
    """Arguments with `{data}` (the data set as `kb` reads it), `{published}` (as published), `{root}`, `{work}`,
    `{kb}`, `{with_kb}`, `{real:A|B}`, `{articles}`, `{distiller}`, and `{name}`, which is that of the data set.
    `feedback`, `answers` and `species` are commands of `python -m papers`, all others of `kb`."""
    title: str
    each: bool = True
    after: tuple[str, ...] = ()
    """Steps that must be done before."""
    calls: tuple[Calls, ...] = ()
    encodes: tuple[str, ...] = ()
    """Photos to encode: factors as in `Calls.times`."""
    makes: str = ""
    """A path whose existence makes the step unnecessary."""
    models: Mapping[str, str] = field(default_factory=dict)
    """Endpoint -> entry of the paper's models, where it is not the endpoint's own."""
    for_model: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Model of [llm.image] -> more arguments, as the paper used it."""
    is_measured: bool = False
    """Whether its output has figures: CSV, or JSON with a list."""
    lines: str = ""
    """Key of the list in JSON; its records become lines, with keys such as `accuracy.macro`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Row or column of a table: the parts of a cell that it decides."""

    name: str
    step: str = ""
    """Step with the figure; of several, with `|` between, the mean."""
    data: str = ""
    """Data set; `mean` for the mean over those of the columns with the same measure."""
    measure: str = ""
    value: str = ""
    """Column of the step's output with the value."""
    pick: Mapping[str, str] = field(default_factory=dict)
    """Column -> value of the line of the step's output, or several values with `|` between."""
    models: Mapping[str, str] = field(default_factory=dict)
    """Endpoint -> model of the paper."""
    missing: str = ""
    """Reason why it cannot be measured."""
    published: tuple[float, ...] = ()
    """Of a row: one figure for each column; `nan` where the paper has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A published table, and the steps that measure it."""

    title: str
    measure: str
    """Definition of the measures."""
    columns: tuple[Place, ...] = ()
    rows: tuple[Place, ...] = ()
    steps: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    scale: float = 1.0
    """Factor from our figures to those of the paper: 100 for percent."""
    digits: int = 1
    notes: tuple[str, ...] = ()
    is_available: bool = True
    """False: we do not have the paper's figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A paper: data sets, models, steps and tables, each by its name."""

    title: str
    source: str
    needs: str
    """Hardware, packages and models in one line."""
    models: Mapping[str, Model]
    data: Mapping[str, DataSet]
    steps: Mapping[str, Step]
    tables: Mapping[str, Table]
    notes: tuple[str, ...] = ()

    def model(self, step: str, kind: str) -> Model:
        """Return the paper's model of an endpoint in a step."""
        return self.models[self.steps[step].models.get(kind, kind)]

    def table(self, name: str) -> Table:
        """Return a table; `2` is short for `table-2`.

        Raises:
            UsageError: if there is no such table.
        """
        found = self.tables.get(self.table_name(name))
        if found is None:
            raise UsageError(f'Unknown table "{name}".', hint=did_you_mean(name, list(self.tables)))
        return found

    def table_name(self, name: str) -> str:
        """Return the full name of a table.

        Example:
            >>> read_paper("vr-rag").table_name("2")
            'table-2'
        """
        return f"table-{name}" if name.isdigit() else name


def expanded(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a file with the steps of its runs: for each retriever, a run and its figures.

    A run that is measured itself has no step for its figures.
    """
    content.setdefault("steps", {})
    retrievers: dict[str, str] = content.pop("retrievers", {})
    of_run: dict[tuple[str, str], list[str]] = {}
    for name, run in content.pop("runs", {}).items():
        for suffix in run.pop("retrievers", retrievers):
            step, stem = f"{name}{suffix}", f"{{work}}/{{name}}-{name}{suffix}"
            profile = f"profile={{real:{retrievers[suffix]}|starter}}"
            arguments = [each.replace("{retriever}", suffix) for each in run["run"]]
            again = [
                {**calls, "times": ["0 new calls"], "basis": f"cached after the step {name}"}
                for calls in run.get("calls", ())
            ]
            is_measured = run.get("is_measured", False)
            given = arguments if is_measured else ["rerank", "{data}", *arguments]
            written = ["--format", "csv"] if is_measured else ["--output", stem]
            more = {key: value for key, value in run.items() if key not in ("is_repeated", "run", "title", "calls")}
            title = run["title"] + (f" ({retrievers[suffix]})" if suffix else "")
            content["steps"][step] = {
                "encodes": ["images"],
                **more,
                "title": title,
                "run": [*given, "--set", profile, *written],
                "after": [f"{each}{suffix}" for each in run.get("after", ())],
                "calls": again if suffix and not run.get("is_repeated") else run.get("calls", ()),
            }
            of_run[name, suffix] = [step]
            if is_measured:
                continue
            measure = ["eval", "rerank", f"{step}={stem}.jsonl", "--jobs", "{data}", "-k", "1", "-k", "10", "-k", "30"]
            content["steps"][f"{step}-figures"] = {
                "title": f"Measures: {title}",
                "run": [*measure, "--resamples", "100", "--format", "csv"],
                "after": [step],
                "is_measured": True,
                "models": run.get("models", {}),
            }
            of_run[name, suffix].append(f"{step}-figures")
    for table in content["tables"].values():
        if isinstance(table.get("columns"), str):  # those of another table
            table["columns"] = content["tables"][table["columns"]]["columns"]
        wanted = [(name, suffix) for name in table.pop("runs", ()) for suffix in table.get("retrievers", retrievers)]
        table.pop("retrievers", None)
        table.setdefault("steps", [step for each in wanted for step in of_run.get(each, ())])
    return content


@cache
def read_paper(name: str) -> Paper:
    """Return a paper of the catalogue.

    Raises:
        UsageError: if it is unknown.
    """
    if name not in PAPERS:
        raise UsageError(f'Unknown paper "{name}".', hint=did_you_mean(name, PAPERS))
    file = resources.files("papers") / "tables" / f"{name}.toml"
    return from_json(Paper, expanded(tomllib.loads(file.read_text(encoding="utf-8"))))
