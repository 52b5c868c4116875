import dataclasses
import re
import tomllib
import typing
from collections.abc import Iterator, Mapping
from importlib import resources
from math import isnan
from pathlib import Path
from typing import Any

import click

from cli.common.settings import set_keys
from cli.main import commands
from kb.endpoints.endpoint import Endpoint
from papers.__main__ import commands as own_commands
from papers.catalogue import PAPERS, Paper, Place, expanded, read_paper
from papers.commands import OF_PAPERS, Places, commands_of
from papers.costs import cost_of_table, runs_of
from papers.results import MEAN

FILES = ("vr-rag", "divide-and-conquer", "visret", "interactive-retrieval")
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


def test_every_key_of_a_file_is_known_and_all_steps_are_used() -> None:
    for name in PAPERS:
        file = resources.files("papers") / "tables" / f"{name}.toml"
        assert list(unknown_keys(Paper, expanded(tomllib.loads(file.read_text(encoding="utf-8"))))) == [], name
        paper = read_paper(name)
        used = {step for table in paper.tables.values() for step, _ in runs_of(paper, table)}
        assert set(paper.steps) == used, name


def test_a_table_names_its_steps_data_sets_and_models(tmp_path: Path) -> None:
    for name, table in TABLES:
        paper = read_paper(name)
        found = paper.tables[table]
        if not found.is_available:
            assert found.notes
            continue
        assert found.measure and found.columns and found.rows
        assert found.steps or all(row.missing for row in found.rows)
        done: set[str] = set()
        for step in found.steps:
            assert set(paper.steps[step].after) <= done
            done.add(step)
        for row in found.rows:
            assert len(row.published) in (0, len(found.columns)), (name, table, row.name)
            for column in found.columns if not row.missing else ():
                where = (name, table, row.name, column.name)
                assert set((column.step or row.step).split("|")) <= done, where
                assert (column.data or row.data) in (*found.data, MEAN), where
                assert (column.measure or row.measure) and (column.value or row.value), where
        for each in (*found.rows, *found.columns):
            assert set(each.models) <= set(paper.models)
        for command in commands_of(paper, found, Places(root=tmp_path, work=tmp_path, kb=None)):
            assert not [each for each in command.arguments if re.search(r"\{\w+\}", each)], command.text
            assert set(command.kinds) <= set(paper.models)
        cost_of_table(paper, found)


def test_the_options_and_settings_of_every_step_exist(tmp_path: Path) -> None:
    """A command of each step is parsed, and its settings are read, as in a run."""
    for name in PAPERS:
        paper = read_paper(name)
        places = Places(root=tmp_path, work=tmp_path, kb=None)
        seen = {each.step: each for table in paper.tables.values() for each in commands_of(paper, table, places)}
        for command in seen.values():
            group: click.Command = own_commands if command.arguments[0] in OF_PAPERS else commands
            words = list(command.arguments)
            while isinstance(group, click.Group):
                found = group.get_command(click.Context(group), words.pop(0))
                assert found is not None, command.text
                group = found
            known = {option for parameter in group.params for option in (*parameter.opts, *parameter.secondary_opts)}
            assert {word for word in words if word.startswith("--")} <= known, command.text
            verb = ".".join(command.arguments[: len(command.arguments) - len(words)])
            given = {word.partition("=")[0] for at, word in enumerate(words) if words[at - 1] == "--set"}
            assert given <= set(set_keys(verb)), command.text


def drawn_by(model: str, tmp_path: Path, **body: str) -> dict[str, str]:
    """Return step -> settings of table 3 of VisRet for a model of [llm.image]."""
    paper = read_paper("visret")
    places = Places(root=tmp_path, work=tmp_path, kb=None, llm={"image": Endpoint(model=model, extra_body=body)})
    found = commands_of(paper, paper.table("3"), places)
    return {
        each.step: " ".join(word for word in each.arguments if word.startswith(("llm.", "visret."))) for each in found
    }


def test_drawings_have_the_quality_and_the_number_of_the_paper(tmp_path: Path) -> None:
    of_openai = drawn_by("gpt-image-1", tmp_path, background="opaque")
    for step in ("visret", "visret-e5v"):
        assert of_openai[step] == 'llm.image.extra_body={"background": "opaque", "quality": "high"}'
    assert of_openai["low"] == 'llm.image.extra_body={"background": "opaque", "quality": "low"}'
    assert drawn_by("dall-e-3", tmp_path)["visret"] == "visret.images=1"
    assert drawn_by("gemini-2.5-flash-image-preview", tmp_path)["visret"] == ""
    samples = [step for step in read_paper("visret").tables["table-4"].steps if step.startswith("sample")]
    assert [step for step in samples if not step.endswith("figures")] == [
        f"sample-{n}{suffix}" for n in (1, 2, 3) for suffix in ("", "-e5v")
    ]


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


def test_published_figures_stand_in_the_paper(shared: Path) -> None:
    """Each row, in pieces of three, is found in a line of the paper."""
    for name, table in TABLES:
        if name not in FILES or (name, table) in READ_BY_HAND:
            continue
        lines = [numbers(line) for line in (shared / "papers" / f"{name}.md").read_text(encoding="utf-8").splitlines()]
        for row in read_paper(name).tables[table].rows:
            for piece in pieces(row, 3):
                assert any(is_within(piece, line) for line in lines), (name, table, row.name, piece)
