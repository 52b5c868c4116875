"""An API key is in no output and no file, even if the server repeats it and a defect quotes it."""

import base64
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kb.endpoints import client
from tests.servers.openai_server import Answer, Call, OpenAIServer, Reaction, Status
from tests.servers.scripted_distiller import distil

KEY = "sk-Tq7/secret+0123456789abcdef"  # with signs that JSON, addresses and base64 write otherwise
FORMS = tuple(
    form.encode() for form in (
        KEY, KEY.replace("/", r"\/"), KEY.replace("/", "%2F").replace("+", "%2B"),
        "".join(f"\\u{ord(sign):04x}" for sign in KEY), base64.b64encode(KEY.encode()).decode(), KEY[:20], KEY[-16:],
    )
)  # fmt: skip
ARTICLE = "## Description\nIt is a large owl with brown upperparts and yellow eyes. The bill is black.\n"


def echoing(call: Call) -> Reaction:
    """Answer as asked, with the key of the request in every text."""
    key = call.headers["authorization"].removeprefix("Bearer ")
    more = {"system_fingerprint": key, "debug": {"headers": {"authorization": f"Bearer {key}"}}}
    if call.images and "candidates" in call.text:
        return Answer(text=json.dumps({"reason": f"Its crest, by {key}.", "answer": "A"}), more=more)
    if "=== TEXTS" in call.text:
        sentence = {"text": f"Bare skin at the base of the bill, {key}.", "sources": [1]}
        return Answer(text=json.dumps({"sentences": [sentence]}), more=more)
    if "<<<" in call.text:
        return Answer(text=str(distil(call)), more=more)
    return Answer(text=f"Yes, {key}", more=more)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with OpenAIServer(echoing) as running:
        table = (
            f'model = "m"\nbase_url = "{running.base_url}"\napi_key_env = "TEST_KEY"\nprice_in = 1.0\nprice_out = 1.0\n'
        )
        (tmp_path / "fieldmark.toml").write_text("".join(f"[llm.{kind}]\n{table}" for kind in ("text", "vision")))
        monkeypatch.setenv("TEST_KEY", KEY)
        yield running


@pytest.fixture
def build(tmp_path: Path) -> list[str]:
    for name in ("Snowy Owl", "Great Horned Owl"):
        page = tmp_path / "owls" / name / "article.txt"
        page.parent.mkdir(parents=True)
        page.write_text(ARTICLE)
    return ["build", "--source", "folder:owls", "--taxon", "Bubo", "--kb", "owls.kb", "--distiller", "model"]


def leaks(*texts: str, folders: tuple[Path, ...] = ()) -> list[str]:
    """Return where the key stands in texts and files, in any of its forms."""
    places = [(f"output {n}", text.encode()) for n, text in enumerate(texts)]
    places += [(str(path), path.read_bytes()) for folder in folders for path in folder.rglob("*") if path.is_file()]
    return [place for place, content in places if any(form in content for form in FORMS)]


def test_no_verb_writes_the_key_that_a_server_repeats(
    cli: Any, build: list[str], built_kb: Path, drawings: Path, server: OpenAIServer, tmp_path: Path,
    isolated_environment: Path,
) -> None:  # fmt: skip
    """Ledger, Chroma's files, reply cache, run manifests, journal, cards, tables and JSON."""
    photos = ("identify", str(drawings), "--kb", str(built_kb), "--reader")
    runs = [
        build,
        ["status", "--kb", "owls.kb", "--format", "json"],
        ["show", "Snowy Owl", "--kb", "owls.kb", "--format", "json"],
        [*photos, "--format", "jsonl"],
        [*photos, "--output", "names.jsonl", "--cards", "cards"],
        ["context", "a cere", "--kb", str(built_kb), "--model", "--format", "json"],
        ["doctor", "models", "--format", "json"],
        ["export", "bundle", "--kb", "owls.kb"],
    ]
    texts = []
    for run in runs:
        done = cli.call(*run)
        assert done.exit_code in (0, 3, 7), (run, done.stderr)  # 3: the scripted model sees no pictures
        texts += [done.stdout, done.stderr]
    assert server.n_calls > 8
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} >= {".jsonl", ".html", ".bin", ".sqlite"}
    assert any(path.name == "replies.sqlite" for path in isolated_environment.rglob("*"))
    assert leaks(*texts, folders=(tmp_path, isolated_environment)) == []


def test_errors_and_tracebacks_do_not_show_the_key(
    cli: Any, build: list[str], server: OpenAIServer, tmp_path: Path, isolated_environment: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Of a server that refuses, of a reply that cannot be read, and of a library that quotes a header."""
    for reaction in (
        Status(status=401, error={"message": f"Incorrect API key provided: {KEY}.", "code": KEY, "param": KEY}),
        Status(status=404, error=f"<html>{KEY}</html>"),
        Answer(text=None, refusal=f"I refuse, {KEY}"),
        Answer(text=f'{{"statements": "{KEY}"}}'),
    ):
        server.script = lambda call, reaction=reaction: reaction
        done = cli.call("--debug", *build)
        assert done.exit_code != 0
        assert leaks(done.stdout, done.stderr, folders=(tmp_path, isolated_environment)) == []

    def defect(endpoint: Any) -> Any:
        raise RuntimeError(f"Illegal header value b'Bearer {KEY}'")

    monkeypatch.setattr(client, "_http", defect)
    done = cli.call("--debug", *build, "--no-cache")
    assert (done.exit_code, "Bearer ***" in done.stderr, "Traceback" in done.stderr) == (70, True, True)
    assert leaks(done.stdout, done.stderr) == []


def test_the_log_tells_requests_waits_stages_and_cached_replies_but_neither_keys_nor_texts(
    cli: Any, build: list[str], server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = [Status(status=503, error="try again")]
    server.script = lambda call: busy.pop() if busy else echoing(call)
    logged = cli.call(*build, "-q", "--log-level", "info", check=True).stderr
    model = r"m@127\.0\.0\.1(:\d+)?"
    for line in (
        rf"INFO kb\.endpoints\.client: POST {model} /v1/chat/completions 503, \d\.\d\d s$",
        rf"INFO kb\.endpoints\.client: POST {model} /v1/chat/completions 200, \d\.\d\d s$",
        rf"INFO kb\.endpoints\.client: {model}: SourceUnavailable; try 2 in \d\.\d s$",
        r"INFO kb\.pipeline\.stages\.run: stage distil: 2 subjects to do, 0 done before$",
    ):
        assert re.search(line, logged, re.MULTILINE), (line, logged)
    assert (leaks(logged), "upperparts" in logged, "DEBUG" in logged) == ([], False, False)
    monkeypatch.setenv("FIELDMARK_LOG", "debug")
    again = cli.call(*build, "--kb", "again.kb", check=True).stderr
    assert re.search(
        rf"DEBUG kb\.endpoints\.chat: {model}: the reply to [0-9a-f]{{12}} is cached$", again, re.MULTILINE
    )
    monkeypatch.delenv("FIELDMARK_LOG")
    assert "kb.endpoints" not in cli.call(*build, "--kb", "third.kb", check=True).stderr


@pytest.mark.integration
def test_ps_does_not_show_the_key(cli: Any, build: list[str], server: OpenAIServer) -> None:
    server.script = lambda call: Answer(text=str(distil(call)), after_s=2)
    running = subprocess.Popen(
        [*cli.command(), *build], cwd=cli.folder, env=cli.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        until = time.monotonic() + 300
        while not server.n_calls and time.monotonic() < until:
            time.sleep(0.05)
        lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if os.access(path, os.R_OK)]
        assert server.n_calls
        assert any(b"folder:owls" in line for line in lines)
        assert [line for line in lines if any(form in line for form in FORMS)] == []
    finally:
        running.terminate()
        running.communicate(timeout=120)
