"""A search for dead options, in two runs.

    pytest --note-options FOLDER FILES
    pytest --dead-options FOLDER FILES

The first runs the tests as usual and notes the options that each passed test gives to `kb` on an accepted run. The
second has one check per option: its value is replaced with the default, and the tests that give it run again, the
fastest first, until one fails that passes with the option. An option that no test gives, or that no test misses, fails
its check. The settings of a command (`--set key=value`) are checked in the same way.

A run that ends in a usage error does not count: a test of a refused combination does not show that the
option does anything.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import pytest
from _pytest.runner import runtestprotocol

from cli.common.settings import Invocation

USAGE = 2  # exit code of `kb`

SET = "--set "
Option = tuple[str, str]  # words of the command; name of the parameter, or `--set KEY`


@dataclass(slots=True)
class Run:
    """A run of `kb` within a test: its place among the test's runs, and the options given."""

    place: int
    given: set[Option]


@dataclass(slots=True)
class Tried:
    """A passed test: its id, its duration, and its accepted runs of `kb`."""

    test: str
    seconds: float
    runs: list[Run]

    def to_json(self) -> str:
        """Return one line."""
        return json.dumps(asdict(self), default=sorted)

    @classmethod
    def from_json(cls, line: str) -> Tried:
        """Read one line."""
        found = json.loads(line)
        runs = [Run(run["place"], {(words, name) for words, name in run["given"]}) for run in found["runs"]]
        return cls(found["test"], found["seconds"], runs)


def all_options() -> list[Option]:
    """Return every option and setting of every command."""
    from cli.common.settings import keys_of
    from cli.main import commands

    def walk(command: click.Command, words: tuple[str, ...]) -> Iterator[Option]:
        if isinstance(command, click.Group):
            with click.Context(command) as context:
                for name in command.list_commands(context):
                    inner = command.get_command(context, name)
                    assert inner is not None
                    yield from walk(inner, (*words, name))
            return
        for parameter in command.params:
            if isinstance(parameter, click.Option) and parameter.name:
                yield option_of(" ".join(words), parameter)
        for key in keys_of(table_of(" ".join(words))):
            yield " ".join(words), SET + key

    return list(dict.fromkeys(walk(commands, ())))


def table_of(words: str) -> str:
    """Return the table of a command's settings: `eval.species`."""
    return words.replace(" ", ".")


def option_of(words: str, parameter: click.Option) -> Option:
    """Return the key of an option; options shared by all commands count once."""
    return words if parameter.expose_value else "", str(parameter.name)


def spellings(option: Option) -> tuple[str, ...]:
    """Return the spellings of an option, the main one first: `--wiki`, `--no-wiki`; `chain` for `--set chain=true`."""
    from cli.main import commands

    words, name = option
    if name.startswith(SET):
        return (name.removeprefix(SET),)
    if not words:
        return (f"--{name.replace('_', '-')}",)
    command: click.Command = commands
    for word in words.split():
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    [parameter] = [each for each in command.params if each.name == name]
    return tuple(sorted(parameter.opts, key=len, reverse=True) + parameter.secondary_opts)


def title(option: Option) -> str:
    """Return the command and the option: `rerank --top`, `rerank --set chain`."""
    words, name = option
    return f"{words} {SET if name.startswith(SET) else ''}{spellings(option)[0]}".strip()


class Observer:
    """Base of both plugins: notes the options of the current test's runs of `kb`, and disables one in some of them."""

    def __init__(self) -> None:
        self.current: list[Run] = []
        self.place = 0
        self.disabled: Option | None = None
        self.disabled_runs: set[int] = set()
        self.home = TemporaryDirectory()

    def begin(self, disabled: Option | None = None, places: set[int] | None = None) -> None:
        """Begin a test, with an option disabled in the runs of `kb` at these places."""
        self.current, self.place = [], 0
        self.disabled, self.disabled_runs = disabled, places or set()

    def pytest_configure(self) -> None:
        whole = click.Command.invoke

        def invoke(command: click.Command, context: click.Context) -> Any:  # click's own signature
            if isinstance(command, click.Group):
                return whole(command, context)
            return self.invoked(whole, command, context)

        click.Command.invoke = invoke  # type: ignore[method-assign]

    def invoked(self, whole: Any, command: click.Command, context: click.Context) -> Any:
        """Run a command of `kb`; record its options, or disable one."""
        place, self.place = self.place, self.place + 1
        words = context.command_path.removeprefix("kb ")
        options = {option.name: option for option in command.params if isinstance(option, click.Option) and option.name}
        given = {
            option_of(words, option)
            for name, option in options.items()
            if context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE
        }
        invocation = context.ensure_object(Invocation)
        given |= {(words, SET + key.removeprefix(f"{table_of(words)}.")) for key in invocation.set}
        if self.disabled in given and place in self.disabled_runs:
            if self.disabled[1].startswith(SET):
                key = self.disabled[1].removeprefix(SET)
                invocation.set.pop(key, None)
                invocation.set.pop(f"{table_of(words)}.{key}", None)
            else:
                reset_to_default(context, options[self.disabled[1]])
            if self.disabled[1] == "kb":  # the shipped knowledge base replaces it, and unpacking takes seconds
                os.environ["FIELDMARK_HOME"] = self.home.name  # restored by the fixture that set it
        if not given:
            return whole(command, context)
        try:
            result = whole(command, context)
        except click.UsageError:
            raise
        except Exception as error:
            if getattr(error, "exit_code", None) != USAGE:
                self.current.append(Run(place, given))
            raise
        self.current.append(Run(place, given))
        return result


class NoteOptions(Observer):
    """The plugin of `--note-options`."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder.resolve() / f"{os.getpid()}.jsonl"
        self.has_passed, self.seconds = True, 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note the options of a test that passes."""
        self.begin()
        self.has_passed = True
        result = yield
        if self.current and self.has_passed:
            with self.file.open("a", encoding="utf-8") as file:
                file.write(Tried(item.nodeid, self.seconds, self.current).to_json() + "\n")
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.has_passed &= report.passed
        if report.when == "call":  # without fixtures of the whole session
            self.seconds = report.duration


class OptionCheck(pytest.Item):
    """A test of an option: one of the tests that give it must miss it."""

    def __init__(self, *, option: Option, tried: list[Tried], plugin: DeadOptions, **others: Any) -> None:
        super().__init__(**others)
        self.option, self.tried, self.plugin = option, tried, plugin
        # A test that runs out of time with an option disabled would pass for one that misses it.
        self.add_marker(pytest.mark.timeout(0))

    def runtest(self) -> None:
        """Fail if no test misses the option."""
        if not self.tried:
            pytest.fail(f"no test gives {self.name}", pytrace=False)
        if not any(self.plugin.misses(tried, self.option) for tried in self.tried):
            pytest.fail(f"{len(self.tried)} tests give {self.name}, none misses it", pytrace=False)


class DeadOptions(Observer):
    """The plugin of `--dead-options`: replaces the tests with one check per option."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        lines = [line for file in folder.glob("*.jsonl") for line in file.read_text(encoding="utf-8").splitlines()]
        self.tried = sorted(map(Tried.from_json, lines), key=lambda each: each.seconds)
        self.items: dict[str, pytest.Item] = {}
        self.passes: dict[str, bool] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Replace the tests."""
        self.items = {item.nodeid: item for item in items}
        by_option: dict[Option, list[Tried]] = defaultdict(list)
        for tried in self.tried:
            if tried.test in self.items:
                for option in {option for run in tried.runs for option in run.given}:
                    by_option[option].append(tried)
        items[:] = [
            OptionCheck.from_parent(session, name=title(each), option=each, tried=by_option[each], plugin=self)
            for each in all_options()
        ]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: OptionCheck, nextitem: OptionCheck | None) -> bool:
        """Run a check outside pytest's own protocol, which sets up one test at a time."""
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        call = pytest.CallInfo.from_call(item.runtest, "call", reraise=(KeyboardInterrupt, pytest.exit.Exception))
        item.ihook.pytest_runtest_logreport(report=pytest.TestReport.from_item_and_call(item, call))
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        if nextitem is None:
            item.session._setupstate.teardown_exact(None)
        return True

    def misses(self, tried: Tried, option: Option) -> bool:
        """Return whether a test fails with an option disabled and passes with it."""
        if not self.fails(tried, option, {run.place for run in tried.runs if option in run.given}):
            return False
        if tried.test not in self.passes:
            self.passes[tried.test] = not self.fails(tried)
        return self.passes[tried.test]

    def fails(self, tried: Tried, disabled: Option | None = None, places: set[int] | None = None) -> bool:
        """Run a test and return whether it fails."""
        item = self.items[tried.test]
        self.begin(disabled, places)
        reports = runtestprotocol(item, log=False, nextitem=Stay(item.session))  # type: ignore[arg-type]
        self.begin()
        return any(report.failed for report in reports)


class Stay:
    """Stand-in for the next test with only its session, so that fixtures of modules are torn down."""

    def __init__(self, session: pytest.Session) -> None:
        self.session = session

    def listchain(self) -> list[pytest.Session]:
        """Return the nodes that stay set up."""
        return [self.session]


def reset_to_default(context: click.Context, option: click.Option) -> None:
    """Replace the given value of an option with its default."""
    assert option.name
    default = option.get_default(context)
    if type(default).__name__ == "Sentinel":  # click's mark of an option without a default
        default = () if option.multiple else None
    default = option.type_cast_value(context, default)
    context.set_parameter_source(option.name, click.core.ParameterSource.DEFAULT)
    if option.expose_value:
        context.params[option.name] = default
    elif option.name == "language":  # stored as a setting by a callback
        context.ensure_object(Invocation).set.pop("language")
    else:  # stored in the invocation by a callback
        field = {"set": "sets"}.get(option.name, option.name)
        setattr(context.ensure_object(Invocation), field, getattr(Invocation(), field))
