"""Steps that are finished before, made by hand, or interrupted; the commands are scripted."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest

from data.errors import BadInput
from papers.commands import Command, Source
from papers.runner import Runner, RunOptions
from papers.table import code_digest

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


def test_published_data_and_the_species_of_a_knowledge_base_reach_a_step(run: Run, birds: Path, tmp_path: Path) -> None:
    from kb.store.ledger import Ledger

    data, base = tmp_path / "queries.json", Path(shutil.copytree(birds, tmp_path / "birds.kb"))
    (tmp_path / "photos").mkdir()
    source = Source(path=data, layout="", converted=tmp_path / "x.json", split=None, train=tmp_path / "photos")
    data.write_text("[1]")
    measured = command_of("measure", "--kb", str(base), source=source, reads_kb=True)
    assert (run(measured), run(measured)) == (["measure"], [])
    data.write_text("[2]")
    assert (run(measured), run(measured)) == (["measure"], [])
    (tmp_path / "photos" / "1.png").write_text("x")
    assert (run(measured), run(measured)) == (["measure"], [])
    for kind, expected in (("term", []), ("taxon", ["measure"])):
        ledger = Ledger(base / "ledger.sqlite")
        with ledger.transaction():
            ledger.put("facts", [("generation", kind), (f"generation:{kind}", kind)])
        ledger.close()
        assert run(measured) == expected, kind
    assert run(replace(measured, reads_kb=False)) == ["measure"]


def test_the_digest_of_the_code_counts_sources_prompts_and_tables(tmp_path: Path) -> None:
    found = [code_digest(tmp_path)]
    for name in ("kb/a.py", "rerank/prompts/direct.md", "papers/tables/visret.toml"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("x")
        found.append(code_digest(tmp_path))
    (tmp_path / "kb" / "a.py").write_text("y")
    (tmp_path / "kb" / "photo.png").write_text("no code")
    assert len({*found, code_digest(tmp_path)}) == 5
