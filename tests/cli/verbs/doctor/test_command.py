"""`kb doctor`: probes of model endpoints and encoders, and advice on missing abilities."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from data.records import ChatReply
from kb.endpoints.cache import ReplyCache
from kb.endpoints.endpoint import Endpoint
from recognize.settings import PROFILES
from tests.servers.kinds import Kind, as_kind
from tests.servers.openai_server import Answer, Call, OpenAIServer, Reaction, Status

YES = (("Yes", -0.1, (("Yes", -0.1), ("No", -2.4))),)


def ideal(call: Call) -> Reaction:
    """React as a model with every ability."""
    if call.images:
        if "Yes or No" in call.text:
            return Answer(text="Yes", logprobs=YES)
        return "Red." if len(call.images) == 1 else "Red, blue."
    if "response_format" in call.payload or "JSON schema" in call.text:
        return '{"legs": 8, "animal": "spider"}'
    if "speculum" in call.text:
        return Answer(text="A patch [1].", more={"citations": ["https://a.example/x"]})
    return "ready"


def settings(folder: Path, url: str, *kinds: str, more: str = "price_in = 1\nprice_out = 2\n") -> None:
    tables = [f'[llm.{kind}]\nmodel = "m"\nbase_url = "{url}"\n{more}' for kind in kinds]
    (folder / "fieldmark.toml").write_text("".join(tables))


def abilities(outcome: Any) -> dict[tuple[str, str], bool]:
    return {
        (found["endpoint"], found["ability"]): found["is_there"] for found in json.loads(outcome.stdout)["endpoints"]
    }


def test_abilities_of_models_are_found_and_missing_ones_explained(cli: Any, tmp_path: Path) -> None:
    outcome = cli.call("doctor", check=True)
    assert "No model set: [llm.text]" in outcome.stdout
    assert "not set (Wikimedia requires one" in outcome.stdout
    assert "extractive, until a build chooses another" in outcome.stdout
    with OpenAIServer(ideal) as server:
        settings(tmp_path, server.base_url, "text", "vision", "search")
        found = abilities(cli.call("doctor", "--format", "json", check=True))
    assert len(found) == 15 and all(found.values())
    dog = '{"legs": 4, "animal": "dog"}'
    one_image = Status(status=500, error={"message": "vision model only supports a single image per message"})
    no_images = Status(status=400, error={"message": "no images"})
    for server, lacking in (
        (OpenAIServer(ideal, gives_logprobs=False), {"logprobs"}),
        (OpenAIServer(ideal, knows_json_schema=False), {"JSON schema"}),
        (OpenAIServer(lambda call: dog if "dog" in call.text else ideal(call)), {"JSON schema"}),
        (
            OpenAIServer(lambda call: no_images if call.images else ideal(call)),
            {"vision", "several pictures", "logprobs"},
        ),
        (OpenAIServer(lambda call: one_image if len(call.images) > 1 else ideal(call)), {"several pictures"}),
        (OpenAIServer(lambda call: "Red." if len(call.images) > 1 else ideal(call)), {"several pictures"}),
        (OpenAIServer(as_kind(ideal, Kind(name="", thinking="tags"))), {"answers at once"}),
    ):
        with server:
            settings(tmp_path, server.base_url, "vision")
            outcome = cli.call("doctor", "--format", "json")
        assert ("--method decompose" in outcome.stdout) == ("only supports a single image" in outcome.stdout)
        assert outcome.exit_code == (3 if "vision" in lacking else 0)
        assert {ability for (_, ability), is_there in abilities(outcome).items() if not is_there} == lacking
    with OpenAIServer(lambda call: "ready" if call.payload["stream"] else Status(status=400)) as server:
        settings(tmp_path, server.base_url, "search", more="")
        text = cli.call("doctor", check=True).stdout
    assert "its answers cannot be checked; they are used with a warning" in text
    assert "--max-cost is not available" in text
    assert "replied 'ready'; it only streams: stream = true saves refused requests" in text


def test_reasoning_is_found_shown_or_hidden_and_a_budget_suggested(cli: Any, tmp_path: Path) -> None:
    for thinking in ("field", "hidden"):
        with OpenAIServer(as_kind(ideal, Kind(name="", thinking=thinking, n_thoughts=1_800))) as server:
            settings(tmp_path, server.base_url, "text")
            found = json.loads(cli.call("doctor", "--format", "json", check=True).stdout)["endpoints"]
            at_once = next(each for each in found if each["ability"] == "answers at once")
            assert not at_once["is_there"]
            assert re.search(r"reasons first, 1,80\d tokens for a small question", at_once["seen"])
            assert "max_tokens = 8192 saves this" in at_once["without"]
            assert "extra_body = {chat_template_kwargs = {enable_thinking = false}}" in at_once["without"]
            assert sum("gulls" in call.text for call in server.calls) == 1
            # With the budget, no reply is cut off.
            settings(tmp_path, server.base_url, "text", more="max_tokens = 8192\n")
            server.calls.clear()
            cli.call("doctor", check=True)
            asked = [(call.text, call.payload["max_tokens"]) for call in server.calls]
        assert len(asked) == len(set(asked)) and {n for _, n in asked} == {8192}


def test_the_cached_replies_are_deleted_on_request_and_the_report_says_how_much(cli: Any, tmp_path: Path) -> None:
    path = Path(os.environ["FIELDMARK_HOME"]) / "replies.sqlite"
    assert "No replies are cached" in cli.call("doctor", "--clear-cache", check=True).stdout
    with ReplyCache(path) as cache:
        for i in range(3):
            cache.store(str(i), ChatReply(text="Yes " * 100_000, model="m"))
        cache.learn(Endpoint(model="m"), room=9)
    said = cli.call("doctor", "--clear-cache", check=True).stdout
    assert re.search(r"Deleted 3 cached replies and freed [1-9]\d* MB", said)
    with ReplyCache(path) as cache:
        assert len(cache) == 0


def test_a_rejected_api_key_exits_with_3_after_one_call(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", "sk-wrong")
    with OpenAIServer(ideal, key="sk-right") as server:
        settings(tmp_path, server.base_url, "text", more='api_key_env = "TEST_KEY"\n')
        outcome = cli.call("doctor")
        assert server.n_calls == 1
    assert outcome.exit_code == 3
    assert "API key in TEST_KEY rejected" in outcome.stdout
    assert "sk-" not in outcome.stdout + outcome.stderr
    monkeypatch.delenv("TEST_KEY")
    assert "TEST_KEY, which is not set" in cli.call("doctor").stdout


def test_an_image_generator_draws_one_picture(cli: Any, tmp_path: Path) -> None:
    with OpenAIServer() as server:
        settings(tmp_path, server.base_url, "image", more="price_per_request = 0.04\n")
        text = cli.call("doctor", check=True).stdout
        assert [call.payload["n"] for call in server.calls] == [1]
        assert "yes  answers: drew a picture of 64 x 64 pixels" in text and "$0.04 for this drawing" in text
        settings(tmp_path, server.base_url, "image", more="")
        found = json.loads(cli.call("doctor", "--format", "json", check=True).stdout)["endpoints"]
        assert {each["ability"]: each["is_there"] for each in found} == {"answers": True, "price": False}
        refusal = Status(status=400, error={"message": "Unknown model.", "code": "invalid_value"})
        server.script = lambda _call: refusal
        outcome = cli.call("doctor")
        assert outcome.exit_code == 3 and "no   answers: " in outcome.stdout and "Unknown model" in outcome.stdout


def test_doctor_encoders_lists_profiles_and_exits_with_3_if_the_one_in_use_is_not_ready(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    outcome = cli.call("doctor", "encoders", "--format", "json", check=True)
    found = json.loads(outcome.stdout)
    assert found["hub_cache"] == str(tmp_path / "hub")
    profiles = {profile["profile"]: profile for profile in found["profiles"]}
    assert tuple(profiles) == PROFILES
    assert [name for name, profile in profiles.items() if profile["is_set"]] == ["starter"]
    assert [profile["is_ready"] for profile in profiles.values()] == [True, True, *[False] * (len(PROFILES) - 2)]
    dino = profiles["paper"]["encoders"][3]
    assert (dino["name"], dino["role"], dino["package"]) == ("vit_large_patch14_dinov2.lvd142m", "visual", "timm")
    assert (dino["place"], dino["download_bytes"]) == ("missing", 4 * 304_367_616)
    (tmp_path / "fieldmark.toml").write_text('profile = "paper"')
    outcome = cli.call("doctor", "encoders")
    assert outcome.exit_code == 3
    assert "profile paper (set): not ready; about 10.7 GB of memory" in outcome.stdout
    assert "timm/ViT-L-16-SigLIP-256, timm/ViT-B-16-SigLIP" in outcome.stdout
    assert "Download on first use (kb build --profile paper): about 7.3 GB" in outcome.stdout
    (tmp_path / "fieldmark.toml").write_text('profile = "papyrus"')
    outcome = cli.call("doctor", "encoders")
    assert outcome.exit_code == 2 and 'Unknown profile "papyrus". Expected one of starter, ' in outcome.stderr
