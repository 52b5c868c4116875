"""`kb rerank --method visret` with a scripted image generator: requests on the wire, settings, refusals, cache."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.cli.verbs.rerank.conftest import jobs_file
from tests.servers.openai_server import Call, OpenAIServer, Raw, Reaction, Status

PAINT = {"red": ("red", "red", "orange"), "blue": ("blue", "blue", "red")}
REFUSED = Status(status=400, error={"message": "Rejected by the safety system.", "code": "content_policy_violation"})


def served(call: Call) -> Reaction:
    """Write the instruction, and draw its colour."""
    if not call.path.endswith("/images/generations"):
        return '"A blue bird with spread wings."'
    data = []
    for colour in PAINT["blue" if "blue" in call.payload["prompt"] else "red"][: call.payload["n"]]:
        out = io.BytesIO()
        Image.new("RGB", (40, 40), colour).save(out, "PNG")
        data.append({"b64_json": base64.b64encode(out.getvalue()).decode()})
    return Raw(body=json.dumps({"data": data}).encode(), media_type="application/json")


@pytest.fixture
def ranked(cli: Any, photos: Path, endpoint: Callable[..., None]) -> Iterator[Callable[..., Any]]:
    """Return a function that ranks the photos by a server's drawings."""
    file = jobs_file(photos)
    with OpenAIServer(served) as server:

        def rank(*more: str, by: Any = served, text: bool = True) -> Any:
            server.script = by
            endpoint(server, kind="image", price_per_request=0.04)
            if text:
                endpoint(server, kind="text")
            run = cli.call("rerank", str(file), "--method", "visret", "--format", "jsonl", *more)
            rows = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
            return run, rows, server

        yield rank


def test_one_instruction_three_drawings_and_the_fused_ranking(ranked: Any) -> None:
    run, rows, server = ranked()
    assert run.exit_code == 0, run.stderr
    written, drawn = server.calls
    assert written.payload["temperature"] == 0 and "a red bird, 0" in written.text
    assert drawn.payload == {
        "model": "m", "prompt": "Generate a small image of a blue bird with spread wings", "n": 3,
    }  # fmt: skip
    assert "instruction: a blue bird with spread wings" in rows[0]["evaluation"]
    assert "3 drawings" in run.stderr and "$0.13" in run.stderr
    again = ranked()
    assert server.n_calls == 2 and [row["image_id"] for row in again[1]] == [row["image_id"] for row in rows]
    assert ranked("--offline")[1][0]["image_id"] == rows[0]["image_id"]


def test_settings_change_requests_and_scores(ranked: Any) -> None:
    _, plain, server = ranked()
    ranked("--set", "visret.prompt=feature")
    assert "Question: a red bird, 0" in server.calls[-1].text
    ranked("--set", "visret.images=1", "--set", "visret.template=A photo of {instruction}")
    sent = server.calls[-1].payload
    assert (sent["n"], sent["prompt"]) == (1, "A photo of a blue bird with spread wings")
    seen = [[row["score"] for row in plain]]
    for each in ("visret.damping=60", "visret.fusion=mean-similarity", "visret.fusion=with-text", "visret.sample=3"):
        run, rows, _ = ranked("--set", each)
        assert run.exit_code == 0, run.stderr
        assert [row["score"] for row in rows] not in seen, each
        seen.append([row["score"] for row in rows])


def test_a_refused_drawing_is_counted_and_the_query_ranks_by_its_text(ranked: Any) -> None:
    run, rows, server = ranked(by=lambda call: REFUSED if "images" in call.path else "a bird")
    assert run.exit_code == 7
    assert "not drawn: " in rows[0]["evaluation"] and rows[0]["evaluation"].endswith("; ranked by text similarity")
    assert "1 query could not be drawn" in run.stderr
    assert {row["status"] for row in rows} == {"ok"}
    n_calls = server.n_calls
    ranked()
    assert server.n_calls == n_calls, "refusals are cached"


def test_the_preset_paper_draws_the_reply_as_it_is(ranked: Any) -> None:
    _, _, server = ranked("--preset", "paper")
    assert server.calls[-1].payload["prompt"] == 'Generate a small image of the "A blue bird with spread wings."'
    n_calls = server.n_calls
    ranked("--set", "visret.tidy=false")
    assert server.n_calls == n_calls, "the same drawing"
