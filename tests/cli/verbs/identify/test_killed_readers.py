"""`kill -9` while a reader runs: only replies in flight are requested again, and the results do not change."""

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

from tests.drawn_birds import drawn_bird
from tests.servers.openai_server import Answer, Call, OpenAIServer, Reaction
from tests.servers.scripted_reader import read

N_ANSWERED = 7  # before the kill; in the middle of a photo's samples
N_IN_FLIGHT = 2
N_PHOTOS, N_SAMPLES = 6, 3


class Holding:
    """A model that answers `N_ANSWERED` calls and holds back all others until it is released."""

    def __init__(self) -> None:
        self.is_released = threading.Event()

    def __call__(self, call: Call) -> Reaction:
        if call.number > N_ANSWERED:
            self.is_released.wait(300)
        return read(call)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Six drawings in folders named after their species."""
    for name in ("Cardinalis cardinalis", "Cyanocitta cristata", "Bubo scandiacus"):
        for seed in (1, 2):
            path = tmp_path / "birds" / name / f"{seed}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(drawn_bird(name.lower().replace(" ", "-"), seed))
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
    """Run `kb` until the model holds back every call that can be in flight, and kill it.

    A call is in flight until its reply is on disk: with `N_IN_FLIGHT` calls held back, all other replies are cached.
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
        model.is_released.set()
        server.script = read


def questions(server: OpenAIServer) -> Counter[str]:
    """Return each request and its count."""
    return Counter(json.dumps(call.payload, sort_keys=True) for call in server.calls)


def use_empty_cache(monkeypatch: pytest.MonkeyPatch, server: OpenAIServer, tmp_path: Path) -> None:
    """Switch to an empty cache and clear the recorded calls."""
    monkeypatch.setenv("FIELDMARK_HOME", str(tmp_path / "another"))
    server.calls.clear()


@pytest.mark.integration
def test_a_killed_identify_repeats_only_calls_in_flight(
    cli: Any, built_kb: Path, photos: Path, server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("identify", photos, "--kb", built_kb, "--reader", "--set", f"reader_samples={N_SAMPLES}", "--output")
    killed(cli, server, *command, tmp_path / "killed.jsonl")
    cli.call(*command, tmp_path / "killed.jsonl", check=True)
    after = questions(server)
    assert sorted(after.values())[-3:] == [1, 2, 2]
    use_empty_cache(monkeypatch, server, tmp_path)
    cli.call(*command, tmp_path / "whole.jsonl", check=True)
    assert len(questions(server)) == server.n_calls == N_PHOTOS * N_SAMPLES
    assert questions(server).keys() == after.keys()

    def rows(name: str) -> list[dict[str, Any]]:
        found = [{**json.loads(line), "seconds": 0} for line in (tmp_path / name).read_text().splitlines()]
        return sorted(found, key=lambda row: str(row["image"]))

    assert rows("killed.jsonl") == rows("whole.jsonl")
    assert len(rows("whole.jsonl")) == N_PHOTOS
