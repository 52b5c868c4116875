"""Catalogue of published tables: well formed, and equal to the papers."""

from __future__ import annotations

import dataclasses
import re
import tomllib
import typing
from collections.abc import Iterator, Mapping
from importlib import resources
from math import isnan
from pathlib import Path
from typing import Any

import pytest

from cli.main import commands
from cli.verbs.eval.reproduce.catalogue import Paper, Place, read_paper
from cli.verbs.eval.reproduce.commands import Places, commands_of
from cli.verbs.eval.reproduce.costs import cost_of_table, runs_of
from cli.verbs.eval.reproduce.names import PAPERS
from cli.verbs.eval.reproduce.results import MEAN

FILES = {
    "vr-rag": "vr-rag.md",
    "divide-and-conquer": "divide-and-conquer.md",
    "visret": "visret.md",
    "interactive-retrieval": "interactive-retrieval.md",
}
TABLES = [(paper, table) for paper in PAPERS for table in read_paper(paper).tables]
# Rows that the papers' text or transposed tables hold in another form; read a second time by a person.
READ_BY_HAND = {("vr-rag", "figure-4"), ("divide-and-conquer", "figure-4"), ("divide-and-conquer", "figure-5")}


def unknown_keys(kind: Any, payload: Any, at: str = "") -> Iterator[str]:
    """Yield the keys of a payload that a record does not have."""
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        for key, value in payload.items():
            if key not in hints:
                yield f"{at}{key}"
            else:
                yield from unknown_keys(hints[key], value, f"{at}{key}.")
    elif typing.get_origin(kind) is tuple:
        for i, value in enumerate(payload):
            yield from unknown_keys(typing.get_args(kind)[0], value, f"{at}{i}.")
    elif typing.get_origin(kind) is Mapping:
        for key, value in payload.items():
            yield from unknown_keys(typing.get_args(kind)[1], value, f"{at}{key}.")


@pytest.mark.parametrize("name", PAPERS)
def test_every_key_of_a_file_is_known(name: str) -> None:
    file = resources.files("cli.verbs.eval.reproduce") / "papers" / f"{name}.toml"
    assert list(unknown_keys(Paper, tomllib.loads(file.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize(("name", "table"), TABLES)
def test_a_table_names_its_steps_data_sets_and_models(name: str, table: str, tmp_path: Path) -> None:
    paper = read_paper(name)
    found = paper.tables[table]
    if not found.is_available:
        assert found.notes
        return
    assert found.measure and found.columns and found.rows
    assert found.steps or all(row.missing for row in found.rows)
    done: set[str] = set()
    for step in found.steps:
        assert set(paper.steps[step].after) <= done
        done.add(step)
    for row in found.rows:
        assert len(row.published) in (0, len(found.columns)), row.name
        for column in found.columns:
            assert row.missing or (column.step or row.step) in done, (row.name, column.name)
            assert row.missing or (column.data or row.data) in (*found.data, MEAN), (row.name, column.name)
            assert row.missing or ((column.measure or row.measure) and (column.value or row.value)), row.name
    for each in (*found.rows, *found.columns):
        assert set(each.models) <= set(paper.models)
    for command in commands_of(paper, found, Places(root=tmp_path, work=tmp_path, kb=None)):
        assert not [each for each in command.arguments if re.search(r"\{\w+\}", each)], command.text
        assert set(command.kinds) <= set(paper.models)
    cost_of_table(paper, found)


@pytest.mark.parametrize("name", PAPERS)
def test_the_options_of_every_step_exist(name: str, tmp_path: Path) -> None:
    import click

    paper = read_paper(name)
    places = Places(root=tmp_path, work=tmp_path, kb=None)
    seen = {each.text: each for table in paper.tables.values() for each in commands_of(paper, table, places)}
    for command in seen.values():
        group: click.Command = commands
        words = list(command.arguments)
        while isinstance(group, click.Group):
            found = group.get_command(click.Context(group), words.pop(0))
            assert found is not None, command.text
            group = found
        known = {option for parameter in group.params for option in (*parameter.opts, *parameter.secondary_opts)}
        assert {word for word in words if word.startswith("--")} <= known, command.text


def test_visa_asks_and_answers_by_one_model() -> None:  # appendix B
    paper = read_paper("visret")
    names = {paper.model(step, kind).name for step in ("visa", "visa-e5v") for kind in ("text", "vision")}
    assert names == {"Qwen2.5-VL-72B-Instruct"}


def test_all_steps_are_used() -> None:
    for name in PAPERS:
        paper = read_paper(name)
        used = {step for table in paper.tables.values() for step, _ in runs_of(paper, table)}
        assert set(paper.steps) == used, name


def numbers(line: str) -> list[float]:
    return [float(text) for text in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w])", line)]


def is_within(wanted: list[float], found: list[float]) -> bool:
    """Return whether the numbers follow each other in the other list, with at most one other between two."""
    if not wanted:
        return True
    return any(number == wanted[0] and is_next(wanted[1:], found[i + 1 :]) for i, number in enumerate(found))


def is_next(wanted: list[float], found: list[float]) -> bool:
    """Return whether the first number is one of the next two of the other list, and so on."""
    return not wanted or any(
        number == wanted[0] and is_next(wanted[1:], found[i + 1 :]) for i, number in enumerate(found[:2])
    )


def pieces(row: Place, n: int) -> list[list[float]]:
    """Return the figures of a row in pieces of `n`: the papers break wide tables."""
    kept = [value for value in row.published if not isnan(value)]
    return [kept[i : i + n] for i in range(0, len(kept), n)]


@pytest.mark.parametrize(("name", "table"), [each for each in TABLES if each[0] in FILES and each not in READ_BY_HAND])
def test_published_figures_stand_in_the_paper(shared: Path, name: str, table: str) -> None:
    """Each row, in pieces of three, is found in a line of the paper."""
    lines = [numbers(line) for line in (shared / "papers" / FILES[name]).read_text(encoding="utf-8").splitlines()]
    for row in read_paper(name).tables[table].rows:
        for piece in pieces(row, 3):
            assert any(is_within(piece, line) for line in lines), (row.name, piece)
