"""Runs of commands of `kb` within this process: results as files, each with all that decides it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from cli.common import exit_codes
from cli.common.settings import Invocation
from data.codec import dumps, loads
from data.errors import FieldmarkError, StoreError
from data.files import file_state, sha256_hex, sha256_of_file, write_atomic
from data.tables import cells_of, declared_table
from papers.commands import OF_PAPERS, Command

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
    """Endpoint -> name of its model, here and in the steps before."""
    reached_by: Mapping[str, str]
    """All that reached the run -> a hash of its value: settings, prompts, data, code and the steps before."""
    lines: tuple[dict[str, str], ...] = ()
    """Figures, of a measured step."""
    is_partial: bool = False
    """Whether some photos or queries failed, here or in a step before; the next run tries again."""

    @property
    def key(self) -> str:
        """Hash of all that decides the result."""
        return sha256_hex(json.dumps([sorted(self.models.items()), sorted(self.reached_by.items())]))[:12]

    def fits(self, other: Result) -> bool:
        """Return whether both differ in models and the settings of their endpoints alone."""
        own = {kind for kind, name in self.models.items() if other.models.get(kind) != name}
        ignored = tuple(f"llm.{kind}." for kind in own) + (("before",) if own else ())
        keys = self.reached_by.keys() | other.reached_by.keys()
        return all(self.reached_by.get(key) == other.reached_by.get(key) for key in keys if not key.startswith(ignored))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Settings of a run that every command gets."""

    endpoints: Mapping[str, Endpoint]
    reaching: Mapping[str, str]
    """All settings of the run, its prompts and its code -> a hash of each."""
    home: Path
    """Folder of the knowledge base that ships, which steps without `--kb` read."""
    passed_on: tuple[tuple[str, str], ...] = ()
    """Options of every command with their values: `--settings FILE`, `--set KEY=VALUE`, `--quiet`."""
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
        self._started: dict[tuple[str, str], Result] = {}
        """Step and data set -> the result to come, without its figures."""
        self._data: dict[Path, str] = {}
        """Data set, published or converted -> a hash of it."""

    def run(self, commands: Sequence[Command]) -> list[Result]:
        """Run the commands and return all results of them, also of earlier runs with other models.

        A command that cannot run, or fails, is a problem, and so are those after it.
        """
        failed: set[tuple[str, str]] = set()
        for number, command in enumerate(commands, 1):
            head = f"[{number}/{len(commands)}] {command.title}" + (f", {command.data}" if command.data else "")
            why = self._obstacle(command, failed) or self._prepare(command)
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
                failed.add((command.step, command.data))
                self.problems[command.name] = why
        return list(self._results())

    def _results(self) -> Iterator[Result]:
        """Yield the results of this run, and then earlier ones that differ in models alone."""
        kept = []
        for file in sorted(self.folder.glob("*.result.json")):
            with suppress(StoreError):  # written by another version
                kept.append(loads(Result, file.read_text(encoding="utf-8")))
        for result in kept:
            started = self._started.get((result.step, result.data))
            if started is not None and started.key == result.key:
                yield result
        for result in kept:
            started = self._started.get((result.step, result.data))
            if started is not None and started.models != result.models and started.fits(result):
                yield result

    def _prepare(self, command: Command) -> str | None:
        """Convert the data set, note all that decides the result, and return the reason if that fails."""
        source, reached = command.source, dict(self.options.reaching)
        if source is not None and command.is_converted:
            if source.converted not in self._data:
                from papers.datasets.convert import convert

                self.say(f"    {source.text}")
                try:
                    convert(
                        [each for each in (source.path, source.train) if each], source.converted, split=source.split
                    )
                except FieldmarkError as error:
                    return f"{error} {error.hint or ''}".strip()
                self._data[source.converted] = sha256_hex(source.converted.read_bytes())[:12]
            reached["data"] = self._data[source.converted]
        for path in () if source is None else (source.path, source.train):
            if path is not None:
                reached[f"published {path.name}"] = self._data.setdefault(path, _digest(path))
        try:
            if command.makes is not None and self._is_made_by_hand(command):
                reached["made by hand"] = self._generation(command) if command.reads_kb else _digest(command.makes)
            elif command.reads_kb and command.makes is None:
                reached["species"] = self._generation(command)
        except FieldmarkError as error:
            return f"{error} {error.hint or ''}".strip()
        before = [self._started[each] for each in self._before(command)]
        models = {kind: name for found in before for kind, name in found.models.items()}
        models |= {kind: self.options.endpoints[kind].model for kind in command.kinds}
        common, own = command.arguments[: -len(command.own) or None], command.own
        reached |= {"arguments": sha256_hex(repr(common))[:12], "llm.image.arguments": sha256_hex(repr(own))[:12]}
        reached |= {f"before {found.step}": found.key for found in before}
        self._started[command.step, command.data] = Result(
            step=command.step, data=command.data, command=command.text, models=models, reached_by=reached
        )
        return None

    def _is_made_by_hand(self, command: Command) -> bool:
        """Return whether what a step makes is there without that the step ever ran, perhaps interrupted."""
        if command.makes is None or not command.makes.exists():
            return False
        mark = self._started_file(command)
        return not mark.exists() or mark.read_text(encoding="utf-8") != str(command.makes)

    def _generation(self, command: Command) -> str:
        """Return the name of the published state of the knowledge base of a command."""
        import kb

        given = dict(pairwise(command.arguments)).get("--kb")
        with kb.open(given, home=self.options.home) as store:
            return store.ledger.generation()

    def _before(self, command: Command) -> list[tuple[str, str]]:
        """Return step and data set of the commands before a command."""
        found = ((step, data) for step in command.after for data in dict.fromkeys(("", command.data)))
        return [each for each in found if each in self._started]

    def _result_file(self, command: Command) -> Path:
        return self.folder / f"{command.name}-{self._started[command.step, command.data].key}.result.json"

    def _last_file(self, command: Command) -> Path:
        """Return the file with the key of the last run, which wrote the files of the step."""
        return self.folder / f"{command.name}.last"

    def _started_file(self, command: Command) -> Path:
        """Return the file with the path of the output of a step, written before the step runs."""
        return self.folder / f"{command.name}.started"

    def _is_done(self, command: Command) -> bool:
        if self._is_made_by_hand(command):
            return True
        try:
            if loads(Result, self._result_file(command).read_text(encoding="utf-8")).is_partial:
                return False
        except (StoreError, FileNotFoundError):
            return False
        key = self._started[command.step, command.data].key
        return command.is_measured or self._last_file(command).read_text(encoding="utf-8") == key

    def _obstacle(self, command: Command, failed: set[tuple[str, str]]) -> str | None:
        """Return the reason why a command cannot run."""
        if command.source is not None and not command.source.path.exists():
            return f"{command.source.path} does not exist; expected {command.source.layout}"
        if absent := [kind for kind in command.kinds if kind not in self.options.endpoints]:
            return f"{', '.join(f'[llm.{kind}]' for kind in absent)} not set"
        before = [step for step in command.after if {(step, ""), (step, command.data)} & failed]
        return f"{WAITING} {before[0]}" if before else None

    def _execute(self, command: Command) -> str | None:
        """Run a command and keep its result; return the reason if it did not finish."""
        if command.makes is None:
            return self._call(command)
        write_atomic(self._started_file(command), str(command.makes).encode())
        why = self._call(command)
        if not command.makes.exists():
            self._started_file(command).unlink()  # it may yet be made by hand
        return why

    def _call(self, command: Command) -> str | None:
        group = _group_of(command)
        invocation = Invocation()
        out = io.StringIO()
        try:
            with (
                redirect_stdout(out),
                group.make_context(group.name, list(self._arguments(command)), obj=invocation) as ctx,
            ):
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
        is_partial = code == exit_codes.PARTLY or any(self._started[each].is_partial for each in self._before(command))
        result = replace(
            self._started[place],
            lines=_lines(out.getvalue(), command.lines) if command.is_measured else (),
            is_partial=is_partial,
        )
        self._started[place] = result
        write_atomic(self._last_file(command), result.key.encode())
        write_atomic(self._result_file(command), dumps(result).encode())
        return None

    def _arguments(self, command: Command) -> Iterator[str]:
        yield from command.arguments
        own = {word.partition("=")[0] for word in command.arguments if "=" in word}  # settings of the step win
        for option, value in self.options.passed_on:
            if option != "--set" or value.partition("=")[0] not in own:
                yield from (option, *([value] if value else ()))
        if command.kinds:
            if self.options.is_offline:
                yield "--offline"
            if self.options.max_cost is not None:
                yield from ("--max-cost", f"{max(0.0, self.options.max_cost - self.spent_usd):.6f}")


def _group_of(command: Command) -> click.Group:
    """Return the group of a command: `kb`, or `python -m papers`."""
    from cli.main import commands, with_shared_options

    if command.arguments[0] not in OF_PAPERS:
        return commands
    from papers.answers.command import answers
    from papers.feedback.command import feedback
    from papers.species.command import species

    return click.Group("papers", [with_shared_options(each) for each in (answers, feedback, species)])


def _digest(path: Path) -> str:
    """Return a hash of a file, or of the names, sizes and times of all files in a folder."""
    if not path.is_dir():
        return sha256_of_file(path)[:12]
    return sha256_hex(repr([(str(file), file_state(file)) for file in sorted(path.rglob("*")) if file.is_file()]))[:12]


def _lines(text: str, key: str) -> tuple[dict[str, str], ...]:
    """Return the lines of CSV; with a key, the records of that list of JSON, nested keys joined by points."""
    if not key:
        columns = {name: at for at, name in enumerate(cells_of(text.partition("\n")[0], ","))}
        table = declared_table(text.encode(), columns, separator=",", has_quotes=True, n_skipped=1, place="CSV")
        return tuple({str(name): cell for name, cell in row.items()} for row in table.frame.to_dict("records"))
    return tuple(dict(_flat(record)) for record in json.loads(text)[key]) if text else ()


def _flat(record: Mapping[str, object], above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in record.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        elif value is not None:
            yield f"{above}{key}", str(value)
