"""`kb find` by drawings, anchors and captions, with a scripted server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.conftest import CommandLine
from tests.servers.openai_server import Call, OpenAIServer, Reaction


def served(call: Call) -> Reaction:
    if call.images:
        return "a bird on a branch, seen from the side in the evening"
    return "a blue bird with spread wings"  # and drawings of one colour each


@pytest.fixture
def find(
    cli: CommandLine, drawings: Path, built_kb: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., tuple[Any, list[Any], OpenAIServer]]]:
    """Return a function that searches the drawings by a method, with models behind a server."""
    Image.new("RGB", (40, 40), "blue").save(drawings / "blue.png")
    monkeypatch.setenv("FIELDMARK_KB", str(built_kb))
    with OpenAIServer(served) as server:
        for kind in ("TEXT", "VISION", "IMAGE"):
            monkeypatch.setenv(f"FIELDMARK_LLM_{kind}_MODEL", "m")
            monkeypatch.setenv(f"FIELDMARK_LLM_{kind}_BASE_URL", server.base_url)
        monkeypatch.setenv("FIELDMARK_LLM_IMAGE_PRICE_PER_REQUEST", "0.04")

        def run(query: str, method: str, *more: str, by: Any = served, toml: str = "") -> Any:
            server.script = by
            Path("fieldmark.toml").write_text(toml)
            called = cli.call("find", query, "--images", drawings, "--method", method, "--format", "jsonl", *more)
            return called, [json.loads(line) for line in called.stdout.splitlines()], server

        yield run


def test_a_collection_is_searched_by_drawings(find: Any) -> None:
    run, rows, server = find("a red bird", "visret", "--top", "2")
    assert run.exit_code == 0, run.stderr
    assert [call.payload.get("n") for call in server.calls] == [None, 3] and len(rows) == 2
    assert server.calls[1].payload["prompt"] == "Generate a small image of a blue bird with spread wings"
    assert rows[0]["evaluation"].startswith("instruction: a blue bird with spread wings; drawings: ")
    assert rows[0]["evaluation"] in run.stderr and "3 drawings; 2 model calls" in run.stderr
    assert find("a red bird", "visret", "--offline", "--top", "2")[1] == [row | {"cost_usd": 0.0} for row in rows]
    assert find("a red bird", "visret", "--max-cost", "0.01", toml="[rerank.visret]\nimages = 4\n")[0].exit_code != 0
    assert server.n_calls == 2


def test_anchors_search_without_any_model(find: Any) -> None:
    run, rows, server = find("Blue Jay", "visret", "--set", "visret.generator=anchors")
    assert run.exit_code == 0, run.stderr
    assert "anchors of Blue Jay, no drawing" in run.stderr and server.n_calls == 0
    assert rows[0]["image_id"].startswith("cyanocitta-cristata")
    whole = find("Blue Jay", "visret", "--set", "rerank.visret.generator=anchors", "--set", "visret.images=1")
    assert "1 anchor of named species" in whole[0].stderr
    wrong = find("Blue Jay", "visret", "--set", "visret.generators=anchors")[0]
    assert wrong.exit_code == 2 and 'Did you mean "visret.generator"' in wrong.stderr


def test_captions_of_the_collection_are_written_once(find: Any) -> None:
    run, rows, server = find("a bird on a branch", "captions")
    n = server.n_calls
    assert run.exit_code == 0 and n == len(rows) and rows[0]["evaluation"].startswith("caption: a bird on a branch")
    assert (
        f"{n} captions, compared with the query by starter-words" in run.stderr and f"captions {n} of {n}" in run.stderr
    )
    assert find("a red bird", "captions")[2].n_calls == n
