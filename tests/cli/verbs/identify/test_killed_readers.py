"""`kill -9` amid reading photos: no reply is paid for twice but those in flight, and the end is that of a whole run."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers.openai_server import Answer, Call, OpenAIServer, Reaction
from tests.servers.scripted_reader import read
from training.plates.catalogue import plates_of

N_ANSWERED = 7  # before the kill; in the middle of a photo's passes
N_IN_FLIGHT = 2
N_PHOTOS, N_PASSES = 6, 3


class Holding:
    """A model that answers so many calls and holds all further ones back until it is let go."""

    def __init__(self) -> None:
        self.is_let_go = threading.Event()

    def __call__(self, call: Call) -> Reaction:
        if call.number > N_ANSWERED:
            self.is_let_go.wait(300)
        return read(call)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Six drawings in folders that say what they show."""
    for name in ("Cardinalis cardinalis", "Cyanocitta cristata", "Bubo scandiacus"):
        for seed in (1, 2):
            path = tmp_path / "birds" / name / f"{seed}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(plates_of(name.lower().replace(" ", "-"))[0].png("query", seed))
    return tmp_path / "birds"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with OpenAIServer(Answer(text="?")) as running:
        (tmp_path / "fieldmark.toml").write_text(
            f'[llm.vision]\nmodel = "scripted"\nbase_url = "{running.base_url}"\n'
            f"price_in = 1.0\nprice_out = 1.0\nmax_concurrent = {N_IN_FLIGHT}\n"
        )
        monkeypatch.chdir(tmp_path)
        yield running


def killed(cli: Any, server: OpenAIServer, *arguments: str | Path) -> None:
    """Run `kb` until the model holds back all that may be in flight, and kill it.

    A call in flight is one whose reply is not on the disk: when so many of them are held back, all others are kept.
    """
    model = Holding()
    server.script = model
    process = subprocess.Popen(
        [*cli.command(), *map(str, arguments)],
        env=cli.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        until = time.monotonic() + 240
        while server.n_calls < N_ANSWERED + N_IN_FLIGHT and process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        assert process.poll() is None, "it was over before it could be killed"
        assert server.n_calls == N_ANSWERED + N_IN_FLIGHT
    finally:
        process.kill()
        process.wait(timeout=60)
        model.is_let_go.set()
        server.script = read


def questions(server: OpenAIServer) -> Counter[str]:
    """Return each request and its count."""
    return Counter(json.dumps(call.payload, sort_keys=True) for call in server.calls)


def elsewhere(monkeypatch: pytest.MonkeyPatch, server: OpenAIServer, tmp_path: Path) -> None:
    """Forget all that was kept."""
    monkeypatch.setenv("FIELDMARK_HOME", str(tmp_path / "another"))
    server.calls.clear()


def test_identify_that_was_killed_ends_as_a_whole_run_and_asks_again_what_was_in_flight(
    cli: Any, built_kb: Path, photos: Path, server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("identify", photos, "--kb", built_kb, "--reader", "--reader-samples", str(N_PASSES), "--output")
    killed(cli, server, *command, tmp_path / "killed.jsonl")
    cli.call(*command, tmp_path / "killed.jsonl", check=True)
    after = questions(server)
    assert sorted(after.values())[-3:] == [1, 2, 2]
    elsewhere(monkeypatch, server, tmp_path)
    cli.call(*command, tmp_path / "whole.jsonl", check=True)
    assert len(questions(server)) == server.n_calls == N_PHOTOS * N_PASSES
    assert questions(server).keys() == after.keys()

    def rows(name: str) -> list[dict[str, Any]]:
        found = [{**json.loads(line), "seconds": 0} for line in (tmp_path / name).read_text().splitlines()]
        return sorted(found, key=lambda row: str(row["image"]))

    assert rows("killed.jsonl") == rows("whole.jsonl")
    assert len(rows("whole.jsonl")) == N_PHOTOS


def test_an_evaluation_that_was_killed_ends_with_the_figures_of_a_whole_run(
    cli: Any, built_kb: Path, photos: Path, server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("--kb", built_kb, "--reader", "--reader-samples", str(N_PASSES), "--format", "json")
    command = (
        "eval",
        "species",
        photos,
        *asked,
        "--set",
        "resamples=100",
        "--set",
        "keep_leaks=true",
        "--set",
        "vocabulary=open",
    )
    killed(cli, server, *command)
    resumed = json.loads(cli.call(*command, check=True).stdout)
    after = questions(server)
    assert sorted(after.values())[-3:] == [1, 2, 2]
    elsewhere(monkeypatch, server, tmp_path)
    whole = json.loads(cli.call(*command, check=True).stdout)
    assert questions(server).keys() == after.keys()

    taken = [report["readers"]["figures"][0].pop("replies") for report in (resumed, whole)]
    assert resumed == whole
    assert taken[0]["by_rule"] == taken[1]["by_rule"]
    assert [each["cached"] for each in taken] == [N_ANSWERED, 0]
    assert [each["calls"] for each in taken] == [N_PHOTOS * N_PASSES - N_ANSWERED, N_PHOTOS * N_PASSES]
