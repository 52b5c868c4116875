"""Commands of a table: steps with their placeholders filled in."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cli.verbs.eval.reproduce.catalogue import Paper, Step, Table
from cli.verbs.eval.reproduce.costs import needed_kinds, runs_of

# Options of verbs that call models; `kb eval reproduce` passes its own on.
COSTLY = ("--max-cost", "--offline")

_REAL: Final = re.compile(r"\{real:([^|}]+)\|([^}]+)\}")
EXTRACTIVE: Final = "extractive"
"""Distiller of the miniature without a text model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Folders and names that stand for placeholders."""

    root: Path
    """Folder of `--data`."""
    work: Path
    """Folder of the results of a paper."""
    kb: Path | None
    """Knowledge base; None: made in `work`, or the one that ships where none is made."""
    is_miniature: bool = False
    """Whether the second choice of `{real:A|B}` holds: the shipped encoders, and endpoints instead of local models."""
    articles: tuple[str, ...] = ("--taxon", "Aves")
    distiller: str = "model-two-pass"

    def filled(self, argument: str, values: Mapping[str, str]) -> tuple[str, ...]:
        """Return the arguments that an argument with placeholders stands for."""
        if argument == "{articles}":
            return self.articles
        if argument == "{with_kb}":
            return () if self.kb is None else ("--kb", str(self.kb))
        known = {
            "root": str(self.root),
            "work": str(self.work),
            "kb": str(self.kb or self.work / ("birds.kb" if self.is_miniature else "wikipedia.kb")),
            "distiller": self.distiller,
            **values,
        }
        argument = _REAL.sub(lambda found: found[1 + self.is_miniature], argument)
        for name, value in known.items():
            argument = argument.replace("{" + name + "}", value)
        return (argument,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A step on a data set, ready to run."""

    step: str
    data: str
    """Empty for a step that all data sets share."""
    title: str
    arguments: tuple[str, ...]
    kinds: tuple[str, ...]
    """Endpoints that it calls."""
    after: tuple[str, ...]
    input: Path | None
    """File or folder of the data set."""
    layout: str
    """Files of the data set, in words."""
    makes: Path | None
    is_measured: bool
    lines: str
    """Key of the list of figures in JSON; empty for CSV."""

    @property
    def name(self) -> str:
        """Step and data set: `retrieval-CUB`."""
        return f"{self.step}-{self.data}" if self.data else self.step

    @property
    def text(self) -> str:
        """The command as typed."""
        return shlex.join(("kb", *self.arguments))


def commands_of(paper: Paper, table: Table, places: Places) -> list[Command]:
    """Return the commands of a table in the order in which they run."""
    return [_command(paper, paper.steps[step], step, data, places) for step, data in runs_of(paper, table)]


def _command(paper: Paper, step: Step, name: str, data: str, places: Places) -> Command:
    found = paper.data[data] if data else None
    path = places.root / found.path if found else None
    values = {"name": data, "data": str(path)}
    more = found.more.get(name, ()) if found else ()
    makes = places.filled(step.makes, values)[0] if step.makes else ""
    return Command(
        step=name,
        data=data,
        title=step.title,
        arguments=tuple(each for argument in (*step.run, *more) for each in places.filled(argument, values)),
        kinds=() if "{distiller}" in step.run and places.distiller == EXTRACTIVE else needed_kinds(step),
        after=step.after,
        input=path,
        layout=found.layout if found else "",
        makes=Path(makes) if makes else None,
        is_measured=step.is_measured,
        lines=step.lines,
    )
