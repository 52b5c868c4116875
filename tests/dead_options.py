"""A search for dead options, switched on by `pytest --dead-options tests/cli`.

The tests run as usual, and the options that each of them gives to `kb` on an accepted run are recorded. Then every
option is disabled by replacing its value with the default, and the tests that give it run again, the
fastest first, until one fails. An option that no test gives, or that no test misses, fails the run. The settings of
a command (`--set key=value`) are checked in the same way.

A run that ends in a usage error does not count: a test of a refused combination does not show that the
option does anything.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any

import click
import pytest
from _pytest.runner import runtestprotocol

from cli.common.config import Invocation

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
    """A passed test: its accepted runs of `kb`, and its duration."""

    item: pytest.Item
    seconds: float
    runs: list[Run] = field(default_factory=list)


def all_options() -> list[Option]:
    """Return every option and setting of every command."""
    from cli.common.method_settings import keys_of
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
        for key in keys_of(".".join(words)):
            yield " ".join(words), SET + key

    return list(dict.fromkeys(walk(commands, ())))


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
        return (f"--{name}",)
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


class DeadOptions:
    """The plugin: records the options that tests give, disables each, and reports options that no test misses."""

    def __init__(self) -> None:
        self.tried: list[Tried] = []
        self.current: list[Run] = []
        self.place = 0
        self.disabled: Option | None = None
        self.disabled_runs: set[int] = set()
        self.dead: list[str] = []
        self.never_given: list[str] = []
        self.seconds: dict[str, float] = {}
        self.home = TemporaryDirectory()

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
        given |= {(words, SET + key) for key in invocation.set}
        if self.disabled in given and place in self.disabled_runs:
            if self.disabled[1].startswith(SET):
                del invocation.set[self.disabled[1].removeprefix(SET)]
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

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all tests, then for each option the tests that give it, with the option disabled."""
        began = time.perf_counter()
        for item, following in zip(session.items, [*session.items[1:], Stay(session)], strict=True):
            self.note(item, following)
        self.seconds["the tests as usual"] = time.perf_counter() - began
        by_option: dict[Option, list[Tried]] = defaultdict(list)
        for tried in sorted(self.tried, key=lambda each: each.seconds):
            for option in {option for run in tried.runs for option in run.given}:
                by_option[option].append(tried)
        for option in all_options():
            if option not in by_option:
                self.never_given.append(title(option))
                continue
            began = time.perf_counter()
            if not any(self.missed(option, tried, session) for tried in by_option[option]):
                self.dead.append(title(option))
            self.seconds[title(option)] = time.perf_counter() - began
        session.testsfailed += len(self.dead) + len(self.never_given)
        session._setupstate.teardown_exact(None)
        return True

    def note(self, item: pytest.Item, following: pytest.Item | Stay) -> None:
        """Run a test as usual and record the options that it gives."""
        self.current, self.place, self.disabled, began = [], 0, None, time.perf_counter()
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, log=True, nextitem=following)  # type: ignore[arg-type]
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        if self.current and all(report.passed for report in reports):
            self.tried.append(Tried(item, time.perf_counter() - began, self.current))

    def missed(self, option: Option, tried: Tried, session: pytest.Session) -> bool:
        """Run a test with an option disabled and return whether the test fails."""
        self.current, self.place, self.disabled = [], 0, option
        self.disabled_runs = {run.place for run in tried.runs if option in run.given}
        reports = runtestprotocol(tried.item, log=False, nextitem=Stay(session))  # type: ignore[arg-type]
        self.disabled = None
        return any(report.failed for report in reports)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the options that no test gives or misses."""
        for title, names in (("given by no test", self.never_given), ("missed by no test", self.dead)):
            terminalreporter.section(f"options {title}: {len(names)}")
            for name in names:
                terminalreporter.line(name)
        terminalreporter.section(f"seconds: {sum(self.seconds.values()):.0f}, the slowest of {len(self.seconds)}")
        for name, seconds in sorted(self.seconds.items(), key=lambda each: -each[1])[:20]:
            terminalreporter.line(f"{seconds:7.1f} {name}")


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
