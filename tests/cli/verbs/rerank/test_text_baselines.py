"""Baselines of VisRet in `kb rerank`, with scripted models: rewriting, captions, and VISA."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.cli.verbs.rerank.conftest import COLOURS, jobs_file
from tests.servers.openai_server import Call, OpenAIServer, Reaction, Status

REFUSED = Status(status=400, error={"message": "Rejected by the safety system.", "code": "content_policy_violation"})
QUESTIONS = ("What colour is the bird?", "Where does it sit?", "What does it hold?")


def colour_of(call: Call) -> str:
    """Return the name of the colour of the photo."""
    seen = Image.open(io.BytesIO(call.images[0])).convert("RGB").resize((1, 1)).getpixel((0, 0))
    known = {name: Image.new("RGB", (1, 1), name).getpixel((0, 0)) for name in COLOURS}
    return min(known, key=lambda name: sum(abs(a - b) for a, b in zip(known[name], seen, strict=True)))


def served(call: Call) -> Reaction:
    """Rewrite a query, write questions, caption a photo by its colour, or answer a question about it."""
    if not call.images:
        is_visa = "key phrases" in call.text
        return json.dumps({"phrases": ["red bird"], "questions": QUESTIONS}) if is_visa else "A yellow bird."
    if "caption of this photo" in call.text:
        return f"a {colour_of(call)} bird"
    if QUESTIONS[0] in call.text:
        return f"The bird is {colour_of(call)}."
    return "Uncertain." if QUESTIONS[1] in call.text else REFUSED


@pytest.fixture
def ranked(cli: Any, photos: Path, endpoint: Callable[..., None]) -> Iterator[Callable[..., Any]]:
    """Return a function that ranks the photos by a method, with a text and a vision model."""
    file = jobs_file(photos)
    with OpenAIServer(served) as server:

        def rank(method: str, *more: str, by: Any = served, kinds: tuple[str, ...] = ("text", "vision")) -> Any:
            server.script = by
            for kind in kinds:
                endpoint(server, kind=kind)
            run = cli.call("rerank", str(file), "--method", method, "--format", "jsonl", *more)
            rows = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
            return run, rows, server

        yield rank


def named(rows: list[dict[str, Any]]) -> list[str]:
    return [sorted(COLOURS)[int(row["image_id"])] for row in rows]


def test_a_rewritten_query_is_compared_as_a_text(ranked: Any) -> None:
    run, rows, server = ranked("rewrite")
    assert run.exit_code == 0 and named(rows)[0] == "yellow", run.stderr
    assert rows[0]["evaluation"] == "instruction: a yellow bird" and "1 rewritten query" in run.stderr
    assert server.n_calls == 1 and server.calls[0].payload["temperature"] == 0
    run, rows, _ = ranked("rewrite", by=lambda _call: REFUSED)
    assert run.exit_code == 0, "from the cache"
    run, rows, _ = ranked("rewrite", "--set", "visret.prompt=feature", by=lambda _call: REFUSED)
    assert run.exit_code == 7 and "so the query itself is used" in rows[0]["evaluation"]


def test_captions_are_scored_as_texts_and_summed_with_the_first_stage(ranked: Any) -> None:
    run, rows, server = ranked("captions", "--depth", "4")
    assert run.exit_code == 0 and "4 captions, compared with the query by starter-words" in run.stderr, run.stderr
    assert len(server.calls) == 4 and {len(call.images) for call in server.calls} == {1}
    assert rows[0]["evaluation"] == f"caption: a {named(rows)[0]} bird" and [row["score"] for row in rows[4:]] == [
        -5.0,
        -6.0,
    ]
    alone = ranked("captions", "--depth", "4", "--set", "captions.first_stage=false")[1]
    assert server.n_calls == 4, "captions are kept"
    assert named(alone)[0] == "red"
    first = {row["image_id"]: 1 - int(row["image_id"]) / 3 for row in rows[:4]}  # scaled over the first four
    texts = {row["image_id"]: row["score"] for row in alone[:4]}
    low, high = min(texts.values()), max(texts.values())
    for row in rows[:4]:
        own = (texts[row["image_id"]] - low) / (high - low)
        assert row["score"] == pytest.approx(own + first[row["image_id"]], abs=1e-4)


def test_visa_asks_three_questions_and_drops_uncertain_and_refused_answers(ranked: Any) -> None:
    run, rows, server = ranked("visa")
    assert run.exit_code == 7 and named(rows)[0] in ("red", "black"), run.stderr
    assert "6 captions, compared with the query by starter-words; 18 answers, 12 uncertain" in run.stderr
    written = server.calls[0]
    assert written.payload["temperature"] == 0.2 and "a red bird, 0" in written.text
    assert server.n_calls == 1 + 6 * 4
    answers = rows[0]["questions"]
    assert [answer["question"] for answer in answers] == list(QUESTIONS)
    assert answers[0]["answer"] == f"The bird is {named(rows)[0]}."
    assert (answers[1]["answer"], answers[1]["obtained_by"]) == (None, "uncertain")
    assert answers[2]["answer"] is None and answers[2]["obtained_by"].startswith("refused: ")
    assert all("red bird" in call.text for call in server.calls[1:] if "caption" not in call.text)


def test_without_questions_visa_ranks_by_captions_alone_and_says_so(ranked: Any) -> None:
    run, rows, _ = ranked("visa", by=lambda call: served(call) if call.images else "I have no questions.")
    assert run.exit_code == 7 and "No questions for 1 query, ranked by captions alone: q0" in run.stderr
    assert {len(row["questions"]) for row in rows} == {0} and {row["status"] for row in rows} == {"ok"}


@pytest.mark.skipif(find_spec("transformers") is not None, reason="the extra `models` is installed")
def test_local_models_name_their_extra(ranked: Any) -> None:
    for setting in ("captions.captioner=BLIP", "captions.scorer=BGE"):
        run, _, _ = ranked("captions", "--set", setting)
        assert run.exit_code == 3 and "'.[models]'" in run.stderr, setting
