"""Commands of a table: steps with their placeholders filled in."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from papers.catalogue import DataSet, Paper, Step, Table
from papers.costs import needed_kinds, runs_of

if TYPE_CHECKING:
    from kb.endpoints.endpoint import Endpoint

OF_PAPERS: Final = ("feedback", "answers", "species")
"""Steps that are commands of `python -m papers`."""
EXTRACTIVE: Final = "extractive"
"""Distiller of the miniature without a text model."""
_REAL: Final = re.compile(r"\{real:([^|}]+)\|([^}]+)\}")
_QUALITY: Final = re.compile(r"\{quality:(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Folders, names and models that stand for placeholders."""

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
    llm: Mapping[str, Endpoint] = field(default_factory=dict)
    """Endpoints of this run."""

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
        argument = _QUALITY.sub(lambda found: self._with_quality(found[1]), argument)
        for name, value in known.items():
            argument = argument.replace("{" + name + "}", value)
        return (argument,)

    def _with_quality(self, quality: str) -> str:
        """Return the body of a request to [llm.image] with this quality of the drawings."""
        own = dict(self.llm["image"].extra_body) if "image" in self.llm else {}
        return json.dumps({**own, "quality": quality})


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A data set as published, and the file into which it is converted for `kb`."""

    path: Path
    layout: str
    """Files of the data set, in words."""
    converted: Path
    split: str | None
    train: Path | None

    @property
    def text(self) -> str:
        """The command that converts it, as typed."""
        given = [str(each) for each in (self.path, self.train) if each is not None]
        split = ["--split", self.split] if self.split else []
        return shlex.join(("python", "-m", "papers", "convert", *given, str(self.converted), *split))


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A step on a data set, ready to run."""

    step: str
    data: str
    """Empty for a step that all data sets share."""
    title: str
    arguments: tuple[str, ...]
    own: tuple[str, ...]
    """The last arguments, which the model of [llm.image] needs."""
    kinds: tuple[str, ...]
    """Endpoints that it calls."""
    after: tuple[str, ...]
    source: Source | None
    is_converted: bool
    """Whether it reads the converted data set."""
    makes: Path | None
    reads_kb: bool
    """Whether it reads or makes a knowledge base: that of `--kb`, or the one that ships."""
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
        program = ("python", "-m", "papers") if self.arguments[0] in OF_PAPERS else ("kb",)
        return shlex.join((*program, *self.arguments))


def commands_of(paper: Paper, table: Table, places: Places) -> list[Command]:
    """Return the commands of a table in the order in which they run."""
    unused = _unused(paper, table, places)
    found = runs_of(paper, table)
    return [_command(paper, paper.steps[step], step, data, places) for step, data in found if step not in unused]


def _unused(paper: Paper, table: Table, places: Places) -> set[str]:
    """Return the steps whose rows all name another model of [llm.image] than this run's, and the steps before them.

    A model that the table does not know stands for the paper's main model.
    """
    if "image" not in places.llm or "image" not in paper.models:
        return set()
    wanted = {
        step: [row.models.get("image") for row in table.rows if step in row.step.split("|")] for step in table.steps
    }
    known = {model for models in wanted.values() for model in models if model is not None}
    main = paper.models["image"].name
    model = next((each for each in sorted(known) if plays(places.llm["image"].model, each)), main)
    unused: set[str] = set()
    for step in reversed(table.steps):
        later = {each for each in table.steps if step in paper.steps[each].after}
        of_others = bool(wanted[step]) and not {None, model} & {*wanted[step]}
        if of_others or (not wanted[step] and later and later <= unused):
            unused.add(step)
    return unused


def _command(paper: Paper, step: Step, name: str, data: str, places: Places) -> Command:
    found = paper.data[data] if data else None
    source = _source(found, step, data, places) if found else None
    values = {"name": data}
    if source is not None:
        values |= {"data": str(source.converted), "published": str(source.path)}
    more = found.more.get(name, ()) if found else ()
    image = places.llm.get("image")
    given = next((each for model, each in step.for_model.items() if image and plays(image.model, model)), ())
    own = tuple(each for argument in given for each in places.filled(argument, values))
    makes = places.filled(step.makes, values)[0] if step.makes else ""
    return Command(
        step=name,
        data=data,
        title=step.title,
        arguments=(*(each for argument in (*step.run, *more) for each in places.filled(argument, values)), *own),
        own=own,
        kinds=() if "{distiller}" in step.run and places.distiller == EXTRACTIVE else needed_kinds(step),
        after=step.after,
        source=source,
        is_converted="{data}" in step.run,
        makes=Path(makes) if makes else None,
        reads_kb=bool({"{kb}", "{with_kb}"} & {*step.run}),
        is_measured=step.is_measured,
        lines=step.lines,
    )


def _source(found: DataSet, step: Step, data: str, places: Places) -> Source:
    suffix = "csv" if step.run[0] == "species" else "json"
    return Source(
        path=places.root / found.path,
        layout=found.layout,
        converted=places.work / "converted" / f"{data}.{suffix}",
        split=found.split,
        train=places.root / found.train if found.train else None,
    )


def plays(configured: str, of_paper: str) -> bool:
    """Return whether a configured model is the paper's: its name, perhaps behind an owner or before a date.

    Example:
        >>> plays("Qwen/Qwen2.5-VL-7B-Instruct", "Qwen2.5-VL-7B-Instruct"), plays("gpt-4o-mini", "gpt-4o")
        (True, False)
    """
    name = configured.lower().rpartition("/")[2]
    return re.fullmatch(re.escape(of_paper.lower()) + r"(-\d{4}-\d\d-\d\d)?", name) is not None
