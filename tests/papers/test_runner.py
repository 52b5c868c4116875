from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from data.errors import BadInput
from papers.commands import Command
from papers.runner import Runner, RunOptions

Run = Callable[..., list[str]]


def command_of(step: str, *arguments: str, after: tuple[str, ...] = (), **more: Any) -> Command:
    given: dict[str, Any] = {
        "own": (), "kinds": (), "source": None, "is_converted": False, "makes": None, "reads_kb": False,
        "is_measured": step == "measure", "lines": "", **more,
    }  # fmt: skip
    return Command(step=step, data="D", title=step, arguments=(step, *arguments), after=after, **given)


@pytest.fixture
def fault() -> list[BaseException]:
    """Errors that the next steps `make` raise, after the half of their work if they are no Fieldmark errors."""
    return []


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: list[BaseException]) -> Run:
    """Return a function that runs commands and returns the steps that ran; `make FILE` writes it, `measure` prints."""
    ran: list[str] = []

    def make(file: str) -> None:
        ran.append("make")
        error = fault.pop() if fault else None
        if isinstance(error, BadInput):
            raise error
        Path(file).write_text("half" if error else "whole")
        if error:
            raise error

    def measure(kb: str | None) -> None:
        ran.append("measure")
        click.echo("measure,mean\nhit@1,0.5")

    group = click.Group("kb", [
        click.Command("make", callback=make, params=[click.Argument(["file"])]),
        click.Command("measure", callback=measure, params=[click.Option(["--kb"])]),
    ])  # fmt: skip
    monkeypatch.setattr("papers.runner._group_of", lambda _: group)

    def run(*commands: Command) -> list[str]:
        ran.clear()
        options = RunOptions(endpoints={}, reaching={}, home=tmp_path / "home")
        Runner(tmp_path / "work", options, lambda _: None).run(commands)
        return list(ran)

    return run


def test_a_file_made_by_hand_is_kept_and_an_interrupted_step_runs_again(
    run: Run, fault: list[BaseException], tmp_path: Path
) -> None:
    made = tmp_path / "first.trec"
    steps = (command_of("make", str(made), makes=made), command_of("measure", after=("make",)))
    made.write_text("by hand")
    assert (run(*steps), run(*steps)) == (["measure"], [])
    made.write_text("another")  # reaches the steps after it
    assert (run(*steps), run(*steps)) == (["measure"], [])
    made.unlink()
    fault.append(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        run(*steps)
    assert made.read_text() == "half"
    assert (run(*steps), made.read_text(), run(*steps)) == (["make", "measure"], "whole", [])
    other = tmp_path / "other.trec"
    others = (command_of("make", str(other), makes=other), steps[1])
    fault.append(BadInput("no encoder"))
    assert run(*others) == ["make"]
    other.write_text("by hand")  # since the step could not make it
    assert run(*others) == ["measure"] and other.read_text() == "by hand"
