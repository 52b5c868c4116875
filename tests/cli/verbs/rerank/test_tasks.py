"""`kb rerank` with composed queries and dialogues in a file of jobs, for every method."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.verbs.rerank.conftest import COLOURS, jobs_file, script
from tests.conftest import CommandLine
from tests.rerank.scripted import questions_reply
from tests.servers.openai_server import OpenAIServer

CHANGE = {"text": "", "reference_image": "photos/blue bird.png", "modification": "in red"}
CHAT = {"text": "", "dialogue": ["a crimson bird", "red? yes"]}


def jobs_with(photos: Path, more: dict[str, Any]) -> Path:
    """Write a job with other fields over the photos."""
    file = jobs_file(photos)
    file.write_text(json.dumps(json.loads(file.read_text()) | more) + "\n")
    return file


@pytest.mark.parametrize("more", [CHANGE, CHAT])
def test_decompose_judges_composed_queries_and_dialogues_with_a_vision_model(
    cli: CommandLine, birds: Path, photos: Path, endpoint: Callable[..., None], more: dict[str, Any]
) -> None:
    def last_is_red(call: Any) -> Any:
        if not call.images:
            return questions_reply()
        (content,) = [m["content"] for m in call.payload["messages"][-1:]]
        return script(type(call)(**{**vars(call), "payload": {"messages": [{"content": content}]}}))

    file = jobs_with(photos, more)
    with OpenAIServer(last_is_red) as server:
        endpoint(server)
        run = cli.call("rerank", file, "--kb", birds, "--format", "jsonl", "--preset", "paper", check=True)
        n_images = {len(call.images) for call in server.calls if "fit this description" in call.text}
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert rows[0]["image_id"] == str(sorted(COLOURS).index("red"))
    assert n_images == ({2} if more is CHANGE else {1})


def test_the_encoder_judge_says_what_it_cannot_judge(cli: CommandLine, birds: Path, photos: Path) -> None:
    for more, message in (
        (CHANGE, "The encoder judge cannot compare a photo with a reference image."),
        (CHAT, "The rule that writes questions cannot divide a dialogue."),
    ):
        for dry in ((), ("--dry-run",)):
            run = cli.call("rerank", jobs_with(photos, more), "--kb", birds, "--judge", "encoder", *dry)
            assert (run.exit_code, run.stdout) == (2, "")
            assert message in run.stderr and "--method similarity" in run.stderr
