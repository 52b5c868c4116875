"""Settings of methods: precedence, types, and errors that name the nearest key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import click
import pytest
from annotated_types import Ge
from click.testing import CliRunner, Result

from cli.common import options, settings
from cli.common.settings import TABLES, general_hints, hints_of, keys_of, settings_class, type_in_words
from cli.main import VERBS, commands
from docs import generate


@dataclass(frozen=True, kw_only=True)
class ToySettings:
    """Settings of a toy method."""

    weight: float = 0.5
    """Weight of the text."""
    depth: Annotated[int, Ge(1)] | None = None
    chained: bool = False
    mode: Literal["mean", "max"] = "mean"
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= 1:
            raise ValueError(f"expected weight from 0 to 1, got {self.weight}")


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[Any]]:
    """`kb status` with settings of its own, run in an empty folder; the list holds the settings that it read."""
    monkeypatch.setitem(TABLES, "status", f"{__name__}:ToySettings")
    monkeypatch.setitem(TABLES, "status.deep", f"{__name__}:ToySettings")
    monkeypatch.setattr(settings, "settings_class", lambda _table: ToySettings)
    monkeypatch.chdir(tmp_path)
    command = commands.get_command(click.Context(commands, info_name="kb"), "status")
    assert command is not None
    read: list[Any] = []

    def callback(**_: object) -> None:
        read.append(options.settings())
        read.append(options.method_settings("status", ToySettings, base=BASE[0], **FLAGS))
        read.append(options.method_settings("status.deep", ToySettings))

    monkeypatch.setattr(command, "callback", callback)
    yield read
    BASE[0] = None
    FLAGS.clear()


BASE: list[ToySettings | None] = [None]
FLAGS: dict[str, object] = {}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(commands, ["status", *arguments], prog_name="kb")


def test_precedence_is_option_set_settings_file_project_file_default(toy: list[Any]) -> None:
    def weight(*arguments: str) -> float:
        toy.clear()
        result = run(*arguments)
        assert result.exit_code == 0, result.output
        found: float = toy[1].weight
        return found

    assert weight() == 0.5
    BASE[0] = ToySettings(weight=0.1)
    assert weight() == 0.1
    Path("fieldmark.toml").write_text("[status]\nweight = 0.2\n")
    assert weight() == 0.2
    Path("run.toml").write_text("[status]\nweight = 0.3\n")
    assert weight("--settings", "run.toml") == 0.3
    assert weight("--settings", "run.toml", "--set", "weight=0.4") == 0.4
    FLAGS["weight"] = 0.6
    assert weight("--settings", "run.toml", "--set", "weight=0.4") == 0.6
    FLAGS["weight"] = None
    assert weight("--set", "weight=0.4") == 0.4


def test_the_environment_overrides_the_project_file_only(toy: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def language(*arguments: str) -> str:
        toy.clear()
        result = run(*arguments)
        assert result.exit_code == 0, result.output
        found: str = toy[0].language
        return found

    Path("fieldmark.toml").write_text('language = "fr"\n')
    assert language() == "fr"
    monkeypatch.setenv("FIELDMARK_LANGUAGE", "es")
    assert language() == "es"
    Path("run.toml").write_text('language = "de"\n[llm.text]\nmodel = "a"\n')
    assert language("--settings", "run.toml") == "de"
    assert language("--settings", "run.toml", "--set", "language=nl") == "nl"


def test_set_changes_an_endpoint_for_one_run(toy: list[Any]) -> None:
    Path("fieldmark.toml").write_text('[llm.text]\nmodel = "small"\nprice_in = 1\n')
    assert run("--set", "llm.text.model=large").exit_code == 0
    assert (toy[0].llm["text"].model, toy[0].llm["text"].price_in) == ("large", 1.0)


def test_keys_of_a_nested_table_are_prefixed_with_its_name(toy: list[Any]) -> None:
    Path("fieldmark.toml").write_text("[status.deep]\ndepth = 3\n[status]\ndepth = 2\n")
    assert run("--set", "deep.weight=0.9").exit_code == 0
    assert (toy[1].depth, toy[1].weight, toy[2].depth, toy[2].weight) == (2, 0.5, 3, 0.9)
    assert "deep.weight" in keys_of("status")


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("depth=3", "depth", 3),
        ("depth=none", "depth", None),
        ("chained=true", "chained", True),
        ("mode=max", "mode", "max"),
        ("names=a, b", "names", ("a", "b")),
        ("weight=1", "weight", 1.0),
    ],
)
def test_set_values_are_parsed_by_field_type(toy: list[Any], text: str, field: str, value: object) -> None:
    BASE[0] = ToySettings(depth=9)
    assert run("--set", text).exit_code == 0
    assert getattr(toy[1], field) == value


@pytest.mark.parametrize(
    ("arguments", "file", "message"),
    [
        (["--set", "wieght=1"], "", 'Unknown setting "wieght" in --set.\nhint: Did you mean "weight"?'),
        (["--set", "contcat=x"], "", 'Unknown setting "contcat" in --set.\nhint: Did you mean "contact"?'),
        (["--set", "weight"], "", 'Expected --set KEY=VALUE, got "weight".'),
        (["--set", "weight=much"], "", "Setting \"status.weight\" in --set: expected a number, got 'much'."),
        (["--set", "depth=0"], "", "Setting \"status.depth\" in --set: expected a whole number from 1, got '0'."),
        (["--set", "mode=sum"], "", "Setting \"status.mode\" in --set: expected one of mean, max, got 'sum'."),
        (["--set", "weight=2"], "", "[status]: expected weight from 0 to 1, got 2.0"),
        ([], "[status]\nwieght = 1", 'Unknown setting "status.wieght" in '),
        ([], "[status]\nchained = 1", 'Setting "status.chained" in '),
        ([], '[status]\nweight = "0.1"', "expected a number, got '0.1'."),
        ([], "[status.deeper]\nweight = 1", 'Unknown setting "status.deeper.weight" in '),
        ([], "[statsu]\nweight = 1", 'Unknown setting "statsu.weight" in '),
    ],
)
def test_an_invalid_setting_fails_with_its_source_and_the_expected_value(
    toy: list[Any], arguments: list[str], file: str, message: str
) -> None:
    Path("fieldmark.toml").write_text(file)
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_command_help_lists_its_settings(toy: list[Any]) -> None:
    words = " ".join(run("--help").output.split())
    assert "Settings: weight, depth, chained, mode, names, deep.weight" in words


def test_types_are_put_in_words() -> None:
    hints = hints_of(ToySettings)
    assert (type_in_words(hints["weight"]), type_in_words(hints["depth"])) == ("a number", "a whole number from 1")
    assert type_in_words(tuple[float, ...]) == "a list, each a number"


def test_every_table_belongs_to_a_command_and_every_setting_is_documented() -> None:
    assert {table.split(".")[0] for table in TABLES} <= set(VERBS)
    documented = [each for table in TABLES for each in generate.documented_fields(settings_class(table))]
    assert [field.name for field, text in documented if not text] == []


def test_method_settings_and_general_settings_have_different_names() -> None:
    assert [key for table in TABLES for key in keys_of(table) if key in general_hints()] == []
