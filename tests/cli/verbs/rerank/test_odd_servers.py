"""`kb rerank` with servers that refuse or misreport parts of the protocol, as public bug reports tell of them."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import CommandLine
from tests.servers.free_port import free_port

N_PHOTOS = 4
SETTINGS = """
[llm.{kind}]
model = "m"
base_url = "{url}"
price_in = 0.15
price_out = 0.6
max_wait = 30
"""
# mode -> exit code, most requests, words on stderr. Where every reply fails, 12 are possible: two for texts and the two
# pictures of the probe, which four photos share, all tried three times.
MODES: dict[str, tuple[int, int, str]] = {
    "plain": (0, 16, ""),
    "deepseek-json": (0, 22, ""),
    "xgrammar": (0, 18, ""),
    "gemini-additional": (0, 20, ""),
    "gemini-logprobs": (0, 20, ""),
    "max-logprobs-5": (0, 19, ""),
    "openai-403-logprobs": (0, 20, ""),
    "fastapi-detail": (0, 26, ""),
    "tgi-temperature": (0, 34, ""),
    "o1-too-few": (0, 30, "tokens were too few"),
    "no-message-until-1500": (0, 30, "tokens were too few"),
    "stream-only": (0, 40, ""),
    "sse-anyway": (0, 12, ""),
    "sse-if-omitted": (0, 16, ""),
    "legacy-logprobs": (0, 16, ""),
    "logprob-null": (0, 16, ""),
    "finish:abort": (6, 12, "ended with 'abort'"),
    "finish-error": (6, 12, "Upstream provider disconnected"),
    "finish:content_filter: RECITATION": (6, 4, "filter blocked"),
    "reasoning-only": (6, 12, "enable_thinking = false"),
    "no-mmproj": (6, 4, "--mmproj"),
    "gemini-429": (0, 24, "asks to wait"),
    "loading": (0, 40, "loads its model"),
    "gemini-key": (3, 1, "API key"),
    "html-200": (6, 12, "expected JSON"),
    "hidden-tokens": (0, 16, "$0.0298"),
    "ollama-truncates": (0, 15, "cut the prompt off"),
    "vllm-one-image": (0, 16, ""),
    "lmstudio-no-v1": (6, 0, "set base_url to"),
    "ctx-exceeded": (6, 1, "larger context"),
}
# These send as many requests whatever their order.
EXACT = ("plain", "sse-anyway", "sse-if-omitted", "legacy-logprobs", "logprob-null", "gemini-key", "hidden-tokens",
         "ollama-truncates", "vllm-one-image", "lmstudio-no-v1", "ctx-exceeded")  # fmt: skip


@contextmanager
def odd_server(shared: Path, mode: str, log: Path) -> Iterator[str]:
    """Run the server of the shared cases in a mode, and yield its base URL."""
    program, port = shared / "cases/wikis-and-models/odd_llm_server.py", free_port()
    command = [sys.executable, str(program), mode, "--port", str(port), "--log", str(log), "--limit-s", "6"]
    running = subprocess.Popen(command)
    try:
        for _ in range(400):
            with socket.socket() as attempt:
                if attempt.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        running.kill()
        running.wait()


# One of each mechanism; the others run before a release.
OFTEN = ("deepseek-json", "gemini-logprobs", "openai-403-logprobs", "stream-only", "o1-too-few", "no-mmproj",
         "gemini-key")  # fmt: skip


@pytest.mark.parametrize(
    "mode", [each if each in OFTEN else pytest.param(each, marks=pytest.mark.thorough) for each in MODES]
)
def test_photos_are_judged_or_the_error_says_why(
    cli: CommandLine,
    birds: Path,
    drawings: Path,
    shared: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    mode: str,
) -> None:
    exit_code, most, words = MODES[mode]
    log = tmp_path / "calls.jsonl"
    log.touch()
    is_long = mode in ("ctx-exceeded", "ollama-truncates")
    query = "a red bird " * 600 if is_long else "a red bird with a crest"
    command = ("rerank", drawings, "--query", query, "--format", "jsonl", "--kb", birds)
    with odd_server(shared, mode, log) as url:
        url = url.removesuffix("/v1") if mode == "lmstudio-no-v1" else url
        settings = [SETTINGS.format(kind=kind, url=url) for kind in ("text", "vision")]
        Path("fieldmark.toml").write_text("".join(settings))
        run = cli.call(*command)
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    judged = [row for row in rows if row.get("error") is None]
    calls = log.read_text().splitlines()
    assert run.exit_code == exit_code, (mode, run.stderr, len(calls))
    assert words in run.stderr + caplog.text, (mode, run.stderr)
    assert len(judged) == (N_PHOTOS if exit_code == 0 else 0), (mode, rows)
    assert len(calls) == most if mode in EXACT else len(calls) <= most, (mode, len(calls))
