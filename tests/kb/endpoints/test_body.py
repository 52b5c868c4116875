"""Bodies of requests, by the settings of an endpoint and the form that its server takes."""

from typing import Any

from data.records import ChatMessage, ChatRequest
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.form import Form, body_of

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


def body(request: ChatRequest = TALK, form: Form | None = None, **settings: Any) -> dict[str, Any]:
    return body_of(Endpoint(model="m", **settings), request, form)


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


def test_messages_are_apart_or_those_of_one_role_joined_with_texts_and_pictures_in_turn() -> None:
    apart = [("user", "Photo 1: #"), ("user", "Photo 2: #"), ("assistant", "Hm."), ("user", "Go on.")]
    assert told(body()) == [("system", "Be brief."), *apart]
    joined = ("user", "Photo 1: # Photo 2: #")
    rest = [("assistant", "Hm."), ("user", "Go on.")]
    assert told(body(form=Form(roles="joined"))) == [("system", "Be brief."), joined, *rest]
    both = told(body(form=Form(roles="user")))
    assert both == [("user", f"Be brief. {joined[1]}"), *rest]


def test_a_schema_in_words_ends_the_last_message_of_the_user() -> None:
    request = ChatRequest(messages=TALK.messages[:3], json_schema={"type": "object"})
    roles_and_texts = told(body(request, Form(json="text")))
    assert [role for role, _ in roles_and_texts] == ["system", "user", "user"]
    assert "JSON schema" in roles_and_texts[-1][1]
    assert "JSON schema" not in roles_and_texts[1][1]


def test_each_part_is_left_out_or_replaced_as_the_form_says() -> None:
    schema = {
        "type": "object", "additionalProperties": False, "required": ["title"],
        "properties": {"title": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2}},
    }  # fmt: skip
    request = ChatRequest(messages=TALK.messages[1:2], json_schema=schema, max_tokens=5, seed=1, top_logprobs=20)
    whole = body(request)
    changes_of: tuple[tuple[Form, dict[str, object]], ...] = (
        (Form(), {}),
        (Form(seed=False), {"seed": None}),
        (Form(temperature=False), {"temperature": None}),
        (Form(logprobs=5), {"top_logprobs": 5}),
        (Form(logprobs=0), {"logprobs": None, "top_logprobs": None}),
        (Form(tokens="max_completion_tokens"), {"max_tokens": None, "max_completion_tokens": 5}),
        (Form(stream=True), {"stream": True, "stream_options": {"include_usage": True}}),
        (Form(stream=True, stream_usage=False), {"stream": True}),
        (Form(json="object"), {"response_format": {"type": "json_object"}, "messages": "in words"}),
        (Form(json="text"), {"response_format": None, "messages": "in words"}),
    )
    for form, changes in changes_of:
        found = body(request, form)
        assert {name for name in {*whole, *found} if whole.get(name) != found.get(name)} == set(changes), form
        assert all(found.get(name) == value for name, value in changes.items() if name != "messages"), form
        assert ("JSON schema" in told(found)[-1][1]) == ("messages" in changes), form
    assert body(request, Form(json="plain schema"))["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "strict": False, "schema": {
            "type": "object", "required": ["title"],
            "properties": {"title": {"type": "array", "items": {"type": "string"}}},
        }},
    }  # fmt: skip
    assert body(request, stream=True)["stream"] is True


def test_effort_and_more_fields_are_sent() -> None:
    more = {"chat_template_kwargs": {"enable_thinking": False}, "temperature": 0.6}
    payload = body(reasoning_effort="low", extra_body=more)
    assert (payload["reasoning_effort"], payload["temperature"]) == ("low", 0.6)
    assert payload["chat_template_kwargs"] == {"enable_thinking": False}
    assert "reasoning_effort" not in body()
    assert "reasoning_effort" not in body(form=Form(effort=False), reasoning_effort="low")


def test_settings_that_change_replies_are_in_the_name_of_a_model() -> None:
    plain = Endpoint(model="m")
    changes: tuple[dict[str, Any], ...] = (
        {"reasoning_effort": "low"}, {"reasoning_effort": "none"}, {"extra_body": {"a": 1}}, {"extra_body": {"a": 2}},
    )  # fmt: skip
    assert len({plain.name, *(Endpoint(model="m", **settings).name for settings in changes)}) == 5
    assert plain.name == Endpoint(model="m", max_tokens=9_000, timeout=5, image_px=9, price_in=1).name
    assert plain.name == "m@api.openai.com"
    local = Endpoint(model="m", base_url="http://[::1]:8000/v1")
    assert (local.name, local.address) == ("m@::1", "m@[::1]:8000"), "the port of this machine may change"
    assert Endpoint(model="m", base_url="https://a.example:8443/v1").name == "m@a.example:8443"
    assert Endpoint(model="m", **changes[0]).name == "m@api.openai.com (reasoning_effort=low)"
