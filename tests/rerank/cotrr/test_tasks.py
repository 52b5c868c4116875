"""CoTRR with composed queries and dialogues against a real HTTP server: what is shown, to which model, in which order.

The scripted model ranks by grey level and for composed queries by nearness to the reference photo, so these tests prove
that the reference reaches every call that sees photos, and nothing about the quality of a model.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image

from data.errors import BadImage, BadInput
from rerank.cotrr.settings import CotrrSettings
from rerank.settings import PRESETS
from tests.rerank.cotrr.test_reranker import (
    PARTS,
    Script,
    by_level,
    connected,
    folder,
    ids,
    job_of,
    level_of,
    levels,
    run,
    run_on,
)
from tests.servers.kinds import KINDS, as_kind
from tests.servers.openai_server import OpenAIServer

__all__ = ["folder"]

CHANGE = "the same frog, but darker"
TURNS = ("a frog in a pond", "is it green? yes", "is it alone? no")


class Nearest(Script):
    """A model that ranks photos by nearness to the reference photo, which it must be shown first."""

    def __call__(self, call: Any) -> Any:
        properties = call.payload["response_format"]["json_schema"]["schema"]["properties"]
        assert CHANGE in call.text
        if "comparison" in properties and not call.images:
            return super().__call__(call)  # notes
        reference, *shown = [level_of(picture) for picture in call.images]
        if set(properties) == set(PARTS):
            assert not shown
            return self.note("deconstruct", PARTS)
        near = [255 - abs(level - reference) for level in shown]
        if "overall" in properties:
            (level,) = near
            judged = {"judgement": "good match", "reason": f"level {level}"}
            return self.note("evaluate", dict.fromkeys(properties, judged))
        pull = [level - self.weight * place for place, level in enumerate(near)]
        ranking = sorted(range(1, len(near) + 1), key=lambda i: -pull[i - 1])
        if "evaluations" in properties:
            judged = [{"photo": i, "judgement": "good match", "reason": f"level {x}"} for i, x in enumerate(near, 1)]
            return self.note("all", {"query": PARTS, "evaluations": judged, "ranking": ranking})
        return self.note("rank", {"comparison": "", "ranking": ranking})


@pytest.fixture
def composed(folder: Any) -> Any:
    Image.new("RGB", (40, 40), (0, 0, 0)).save(folder / "dark.png")
    return replace(job_of(6), text="", reference_image="dark.png", modification=CHANGE)


def darkest_first() -> Any:
    return by_level(6)[::-1]


def test_a_reference_photo_is_shown_in_every_call_that_sees_photos(folder: Any, composed: Any) -> None:
    script = Nearest()
    rows, reranker, server = run(script, composed, folder, settings=PRESETS["paper"].cotrr)
    assert script.kinds == ["deconstruct", *["evaluate"] * 6, "rank"]
    assert ids(rows) == darkest_first()
    assert [len(call.images) for call in server.calls] == [1, *[2] * 6, 0]
    assert "which is not one of the photos to judge" in server.calls[1].text
    assert reranker.tally.is_complete
    assert "what the reference photo shows, with this change: the same frog, but darker" in server.calls[-1].text


def test_the_vision_model_deconstructs_a_composed_query(folder: Any, composed: Any) -> None:
    script = Nearest()
    with OpenAIServer(script) as other, connected(other) as text:
        rows, _, server = run(script, composed, folder, settings=PRESETS["paper"].cotrr, text=text)
        assert (server.n_calls, other.n_calls) == (7, 1)  # the text model ranks the notes
        assert ids(rows) == darkest_first()


@pytest.mark.parametrize("labels", [True, False])
def test_pictures_and_texts_are_in_turn_with_the_reference_first(folder: Any, composed: Any, labels: bool) -> None:
    settings = replace(PRESETS["authors"].cotrr, photo_messages=labels)
    script = Nearest()
    rows, _, server = run(script, composed, folder, settings=settings)
    (call,) = server.calls
    assert script.kinds == ["all"] and ids(rows) == darkest_first()
    assert len(call.images) == 7 and "look at the reference photo, apply the change" in call.text
    shown = [
        part["type"] if part["type"] != "text" else part["text"].split("\n")[0].split(",")[0]
        for message in call.payload["messages"]
        for part in (message["content"] if isinstance(message["content"], list) else ())
    ]
    numbered = [each for i in range(1, 7) for each in (f"Photo {i}:", "image_url")]
    assert shown[-14:] == ["Reference photo", "image_url", *numbered]
    # In one message the prompt is its first text.
    assert (len(call.payload["messages"]), len(shown)) == ((8, 14) if labels else (1, 15))


@pytest.mark.parametrize("settings", [CotrrSettings(), CotrrSettings(stages="ranking"), CotrrSettings(form="one-call")])
def test_position_bias_of_composed_queries_is_measured_and_fused(folder: Any, composed: Any, settings: Any) -> None:
    _, fair, _ = run(Nearest(), composed, folder, settings=settings)
    assert (fair.tally.bias.effect, fair.tally.bias.agreement) == (0.0, 1.0)
    weight = 60
    _, biased, _ = run(Nearest(weight), composed, folder, settings=settings)
    assert biased.tally.bias.effect > 0.3


def test_a_dialogue_is_deconstructed_as_a_whole(folder: Any) -> None:
    job = replace(job_of(6), text="", dialogue=TURNS)
    script = Script()
    rows, reranker, server = run(script, job, folder, settings=PRESETS["paper"].cotrr)
    assert script.kinds == ["deconstruct", *["evaluate"] * 6, "rank"] and ids(rows) == by_level(6)
    first = server.calls[0].text
    assert "a frog in a pond / is it green? yes / is it alone? no" in first and "A no rules something out" in first
    assert all("is it alone? no" in call.text for call in server.calls)
    assert reranker.tally.is_complete
    _, _, one_call = run(Script(), job, folder, settings=PRESETS["authors"].cotrr)
    assert "what the dialogue tells" in one_call.calls[0].text


def test_position_bias_of_dialogues_is_measured_and_fused(folder: Any) -> None:
    _, reranker, server = run(Script(40), replace(job_of(6), dialogue=TURNS), folder, settings=CotrrSettings())
    assert reranker.tally.bias.effect > 0.3
    ranked = [call.text for call in server.calls if "ranking" in json.dumps(call.payload["response_format"])]
    shown = [re.findall(r"\(level (\d+)\)$", text, re.MULTILINE) for text in ranked]
    assert sorted(shown) == sorted([(given := [str(x) for x in levels(6)]), given[::-1]])


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"reference_image": "dark.png", "dialogue": TURNS}, "a reference image and a dialogue"),
        ({"modification": CHANGE}, "no reference image"),
        ({"text": " ", "reference_image": "dark.png"}, "has no text"),
        ({"text": "", "dialogue": (" ",)}, "has no text"),
    ],
)
def test_incomplete_queries_are_refused_before_any_call(folder: Any, more: Any, error: str) -> None:
    with OpenAIServer(Script()) as server, pytest.raises(BadInput, match=error):
        run_on(server, replace(job_of(4), **more), folder)
    assert server.n_calls == 0


def test_an_unreadable_reference_photo_ends_the_job(folder: Any) -> None:
    with pytest.raises(BadImage, match=r"broken\.png"):
        run(Script(), replace(job_of(4), reference_image="broken.png", modification=CHANGE), folder)


def test_where_roles_must_alternate_one_message_has_pictures_and_texts_in_turn(folder: Any, composed: Any) -> None:
    strict = next(kind for kind in KINDS if kind.name == "roles alternate")
    with OpenAIServer(as_kind(Nearest(), strict)) as server:
        rows, reranker = run_on(server, composed, folder, settings=PRESETS["authors"].cotrr)
    assert ids(rows) == darkest_first() and reranker.tally.is_complete
    (message,) = server.calls[-1].payload["messages"]
    numbered = [each for i in range(1, 7) for each in (f"Photo {i}:", "image_url")]
    shown = [part.get("text", "image_url") for part in message["content"]]
    assert [text.split(",")[0] for text in shown[1:]] == ["Reference photo", "image_url", *numbered]
