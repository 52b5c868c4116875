"""Runs of commands of `kb` within this process: results as files, so that a stopped run continues."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from cli.common import exit_codes
from cli.common.settings import Invocation
from cli.verbs.eval.reproduce.commands import COSTLY, Command
from data.codec import dumps, loads
from data.errors import FieldmarkError, StoreError
from data.files import sha256_hex, write_atomic

if TYPE_CHECKING:
    from kb.endpoints.endpoint import Endpoint

WAITING: Final = "waits for the step"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A finished command."""

    step: str
    data: str
    command: str
    models: Mapping[str, str]
    """Endpoint -> name of its model."""
    lines: tuple[dict[str, str], ...] = ()
    """Figures, of a measured step."""
    is_partial: bool = False
    """Whether some photos or queries failed, here or in a step before; the next run tries again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Settings of a run that every command gets."""

    endpoints: Mapping[str, Endpoint]
    passed_on: tuple[str, ...] = ()
    """Options after every command: `--settings FILE`, `--set KEY=VALUE`, `--quiet`."""
    is_offline: bool = False
    max_cost: float | None = None


class Runner:
    """Runs commands in order and skips finished ones.

    Args:
        folder: folder of the results.
        options: settings of every command.
        say: function that prints a line on the progress.
    """

    def __init__(self, folder: Path, options: RunOptions, say: Callable[[str], None]) -> None:
        self.folder, self.options, self.say = folder, options, say
        self.spent_usd = 0.0
        self.problems: dict[str, str] = {}
        """Name of a command -> reason why it is not finished."""
        self.partial: list[str] = []
        """Commands with failed photos or queries; the figures of the steps after them may be too low."""
        self._keys: dict[tuple[str, str], str] = {}
        self._models: dict[tuple[str, str], dict[str, str]] = {}
        self._is_partial: dict[tuple[str, str], bool] = {}

    def run(self, commands: Sequence[Command]) -> list[Result]:
        """Run the commands and return all results of them, also of earlier runs with other models.

        A command that cannot run, or fails, is a problem, and so are those after it.
        """
        failed: dict[tuple[str, str], str] = {}
        for number, command in enumerate(commands, 1):
            head = f"[{number}/{len(commands)}] {command.title}" + (f", {command.data}" if command.data else "")
            self._identify(command)
            why = self._obstacle(command, failed)
            if why is not None:
                if not why.startswith(WAITING):
                    self.say(f"{head}: not run: {why}")
            elif self._is_done(command):
                self.say(f"{head}: finished before")
            else:
                self.say(f"{head}\n    {command.text}")
                if (why := self._execute(command)) is not None:
                    self.say(f"    not finished: {why}")
            if why is not None:
                failed[command.step, command.data] = self.problems[command.name] = why
        return list(self._results(commands))

    def _results(self, commands: Sequence[Command]) -> Iterator[Result]:
        """Yield the results of commands, those of this run first."""
        texts = {command.text for command in commands}
        own = [self._result_file(command) for command in commands]
        for file in dict.fromkeys([*own, *sorted(self.folder.glob("*.result.json"))]):
            with suppress(StoreError, FileNotFoundError):  # written by another version; not finished
                result = loads(Result, file.read_text(encoding="utf-8"))
                if result.command in texts:
                    yield result

    def _identify(self, command: Command) -> None:
        """Note the models of a command and of the steps before it, and a key of all that decides its result."""
        before = [
            found for step in command.after for found in ((step, ""), (step, command.data)) if found in self._keys
        ]
        models = {key: name for found in before for key, name in self._models[found].items()}
        for kind in command.kinds:
            if (endpoint := self.options.endpoints.get(kind)) is not None:
                models[kind] = endpoint.model
        parts = [command.arguments, sorted(models.items()), [self._keys[found] for found in before]]
        self._keys[command.step, command.data] = sha256_hex(json.dumps(parts))[:12]
        self._models[command.step, command.data] = models

    def _before(self, command: Command) -> list[tuple[str, str]]:
        """Return step and data set of the commands before a command."""
        return [found for step in command.after for found in ((step, ""), (step, command.data)) if found in self._keys]

    def _result_file(self, command: Command) -> Path:
        return self.folder / f"{command.name}-{self._keys[command.step, command.data]}.result.json"

    def _last_file(self, command: Command) -> Path:
        """Return the file with the key of the last run, which wrote the files of the step."""
        return self.folder / f"{command.name}.last"

    def _is_done(self, command: Command) -> bool:
        if command.makes is not None and command.makes.exists() and not self._last_file(command).exists():
            return True  # made by hand
        try:
            if loads(Result, self._result_file(command).read_text(encoding="utf-8")).is_partial:
                return False
        except (StoreError, FileNotFoundError):
            return False
        key = self._keys[command.step, command.data]
        return command.is_measured or self._last_file(command).read_text(encoding="utf-8") == key

    def _obstacle(self, command: Command, failed: Mapping[tuple[str, str], str]) -> str | None:
        """Return the reason why a command cannot run."""
        if command.input is not None and not command.input.exists():
            return f"{command.input} does not exist; expected {command.layout}"
        if absent := [kind for kind in command.kinds if kind not in self.options.endpoints]:
            return f"{', '.join(f'[llm.{kind}]' for kind in absent)} not set"
        before = [step for step in command.after if {(step, ""), (step, command.data)} & failed.keys()]
        return f"{WAITING} {before[0]}" if before else None

    def _execute(self, command: Command) -> str | None:
        """Run a command and keep its result; return the reason if it did not finish."""
        from cli.main import commands as group

        invocation = Invocation()
        out = io.StringIO()
        try:
            with redirect_stdout(out), group.make_context("kb", list(self._arguments(command)), obj=invocation) as ctx:
                group.invoke(ctx)
            code = 0
        except click.exceptions.Exit as ended:
            code = ended.exit_code
        except click.ClickException as error:
            return error.format_message()
        except FieldmarkError as error:
            return f"{error} {error.hint or ''}".strip()
        finally:
            self.spent_usd += sum(budget.counted_usd for budget in invocation.budgets)
        if code not in (0, exit_codes.PARTLY):
            return f"ended with {code}"
        if any(budget.is_exhausted for budget in invocation.budgets):
            return "cost limit reached; the same command with a higher --max-cost continues"
        place = command.step, command.data
        if code == exit_codes.PARTLY:
            self.partial.append(command.name)
        is_partial = code == exit_codes.PARTLY or any(self._is_partial.get(each) for each in self._before(command))
        self._is_partial[place] = is_partial
        result = Result(
            step=command.step,
            data=command.data,
            command=command.text,
            models=self._models[place],
            lines=_lines(out.getvalue(), command.lines) if command.is_measured else (),
            is_partial=is_partial,
        )
        write_atomic(self._last_file(command), self._keys[place].encode())
        write_atomic(self._result_file(command), dumps(result).encode())
        return None

    def _arguments(self, command: Command) -> Iterator[str]:
        yield from command.arguments
        yield from self.options.passed_on
        if command.kinds:
            limit, offline = COSTLY
            if self.options.is_offline:
                yield offline
            if self.options.max_cost is not None:
                yield from (limit, f"{max(0.0, self.options.max_cost - self.spent_usd):.6f}")


def _lines(text: str, key: str) -> tuple[dict[str, str], ...]:
    """Return the lines of CSV; with a key, the records of that list of JSON, nested keys joined by points."""
    if not key:
        return tuple(csv.DictReader(io.StringIO(text)))
    return tuple(dict(_flat(record)) for record in json.loads(text)[key]) if text else ()


def _flat(record: Mapping[str, object], above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in record.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        elif value is not None:
            yield f"{above}{key}", str(value)
