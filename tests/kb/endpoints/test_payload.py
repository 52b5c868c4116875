"""Bodies of requests by the settings of an endpoint; citations in replies of different servers."""

from __future__ import annotations

from typing import Any

import pytest

from data.errors import MalformedAnswer
from data.records import ChatMessage, ChatRequest
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.payload import payload_of, reply_of

URL = "https://a.example/frogs"
REQUEST = ChatRequest(messages=(ChatMessage(role="user", text="What is amplexus?"),))


def cited(annotations: object) -> list[tuple[str, str | None]]:
    message: dict[str, Any] = {"content": "An embrace.", "annotations": annotations}
    reply = reply_of({"choices": [{"message": message}]}, REQUEST, where="sonar", prices=None, image_tokens=1)
    return [(passage.source.title, passage.source.url) for passage in reply.citations]


def test_message_annotations_become_citations() -> None:
    found = [{"type": "url_citation", "url_citation": {"url": URL, "title": "Frogs"}}]
    assert cited(found) == [("Frogs", URL)]


def test_malformed_annotations_are_ignored() -> None:
    for malformed in (None, 5, "x", {"url": URL}, [], ["x", 3]):
        assert cited(malformed) == [], malformed


# --- requests ------------------------------------------------------------------------------------------------------

JPEG = b"\xff\xd8\xff made up"
TALK = ChatRequest(
    messages=(
        ChatMessage(role="system", text="Be brief."),
        ChatMessage(role="user", text="Photo 1:", images=(JPEG,)),
        ChatMessage(role="user", text="Photo 2:", images=(JPEG,)),
        ChatMessage(role="assistant", text="Hm."),
        ChatMessage(role="user", text="Go on."),
    ),
    max_tokens=50,
)


def body(request: ChatRequest = TALK, *, without: tuple[str, ...] = (), **settings: Any) -> dict[str, Any]:
    return payload_of(Endpoint(model="m", **settings), request, without=without)


def told(payload: dict[str, Any]) -> list[tuple[str, str]]:
    """Return role and content of each message, pictures as #."""
    return [
        (
            message["role"],
            message["content"]
            if isinstance(message["content"], str)
            else " ".join(part.get("text", "#") for part in message["content"]),
        )
        for message in payload["messages"]
    ]


def test_messages_have_the_roles_of_the_settings() -> None:
    rest = [("user", "Photo 1: #"), ("user", "Photo 2: #"), ("assistant", "Hm."), ("user", "Go on.")]
    assert told(body()) == [("system", "Be brief."), *rest]
    assert told(body(system_role="developer")) == [("developer", "Be brief."), *rest]
    in_one = [("user", "Be brief. Photo 1: #"), *rest[1:]]
    assert told(body(system_role="user")) == told(body(without=("system messages",))) == in_one


def test_messages_of_one_role_are_joined_with_texts_and_pictures_in_turn() -> None:
    joined = ("user", "Photo 1: # Photo 2: #")
    rest = [("assistant", "Hm."), ("user", "Go on.")]
    assert told(body(without=("consecutive messages",))) == [("system", "Be brief."), joined, *rest]
    both = told(body(without=("consecutive messages", "system messages")))
    assert both == [("user", f"Be brief. {joined[1]}"), *rest]


def test_a_schema_in_words_ends_the_last_message_of_the_user() -> None:
    request = ChatRequest(messages=TALK.messages[:3], json_schema={"type": "object"})
    roles_and_texts = told(body(request, json="text"))
    assert [role for role, _ in roles_and_texts] == ["system", "user", "user"]
    assert "JSON schema" in roles_and_texts[-1][1]
    assert "JSON schema" not in roles_and_texts[1][1]


def test_effort_and_more_fields_are_sent() -> None:
    more = {"chat_template_kwargs": {"enable_thinking": False}, "temperature": 0.6}
    payload = body(reasoning_effort="low", extra_body=more)
    assert (payload["reasoning_effort"], payload["temperature"]) == ("low", 0.6)
    assert payload["chat_template_kwargs"] == {"enable_thinking": False}
    assert "reasoning_effort" not in body()
    assert "reasoning_effort" not in body(reasoning_effort="low", without=("reasoning_effort",))


def test_settings_that_change_replies_are_in_the_name_of_a_model() -> None:
    plain = Endpoint(model="m")
    changes: tuple[dict[str, Any], ...] = (
        {"reasoning_effort": "low"}, {"reasoning_effort": "none"}, {"extra_body": {"a": 1}}, {"extra_body": {"a": 2}},
        {"system_role": "user"}, {"json": "text"}, {"json": "object"},
    )  # fmt: skip
    assert len({plain.name, *(Endpoint(model="m", **settings).name for settings in changes)}) == 8
    assert plain.name == Endpoint(model="m", max_tokens=9_000, timeout=5, image_px=9, price_in=1).name
    assert plain.name == "m@api.openai.com"
    assert Endpoint(model="m", **changes[0]).name == "m@api.openai.com (reasoning_effort=low)"


# --- reasoning -----------------------------------------------------------------------------------------------------


def reply(finish: str = "stop", **message: Any) -> Any:
    answer = {"choices": [{"message": message, "finish_reason": finish}]}
    return reply_of(answer, REQUEST, where="m", prices=None, image_tokens=1)


def test_reasoning_in_a_field_is_kept_apart() -> None:
    for field in ("reasoning_content", "reasoning"):
        found = reply(content="B", **{field: "A? No."})
        assert (found.text, found.reasoning) == ("B", "A? No."), field


def test_reasoning_in_the_text_is_kept_apart() -> None:
    found = reply(content="<think>the answer is A</think> B")
    assert (found.text, found.reasoning) == ("B", "the answer is A")


def test_reasoning_without_an_answer_is_an_error_unless_cut_off() -> None:
    with pytest.raises(MalformedAnswer, match="reasoning without an answer"):
        reply(content=None, reasoning_content="Hm.")
    assert (reply("length", content="<think>Hm").text, reply("length", content="<think>Hm").finish) == ("", "length")
