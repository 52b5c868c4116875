"""Replies in the answers of chat servers: ends, tokens, log-probabilities, reasoning, citations, streamed answers."""

import json
from typing import Any

import pytest

from data.errors import MalformedAnswer, Refused, ReplyLost
from data.records import ChatMessage, ChatReply, ChatRequest, TokenLogprobs
from kb.endpoints.answer import chat_of_events, end_of, reply_of
from kb.endpoints.endpoint import Endpoint

URL = "https://a.example/frogs"
REQUEST = ChatRequest(messages=(ChatMessage(role="user", text="What is amplexus?"),), max_tokens=50)


def reply(
    finish: str | None = "stop", *, usage: Any = None, choice: Any = None, settings: Any = None, **message: Any
) -> ChatReply:
    answer = {"choices": [{"message": message, "finish_reason": finish, **(choice or {})}], "usage": usage}
    return reply_of(answer, REQUEST, Endpoint(model="m", price_in=1.0, price_out=1.0, **(settings or {})))


def test_only_known_words_end_a_reply_well() -> None:
    for end, words in {
        "complete": (None, "", "stop", "STOP", "eos", "eos_token", "end_turn"),
        "cut off": ("length", "max_tokens", "MAX_TOKENS", "model_length", "model_context_window_exceeded"),
        "refused": ("content_filter", "content_filter: RECITATION", "SAFETY", "refusal", "sensitive", "content-filter"),
        "failed": ("error", "abort", "insufficient_system_resource", "tool_calls", "somehow"),
    }.items():
        for word in words:
            assert end_of(word) == end, word


def test_the_end_decides_what_a_reply_is() -> None:
    assert reply("eos", content="Yes").finish == "stop"
    assert reply("MAX_TOKENS", content="Yes").finish == "length"
    with pytest.raises(Refused, match="the provider's filter blocked the reply"):
        reply("content_filter: RECITATION", content="An emb")
    with pytest.raises(MalformedAnswer, match="the reply ended with 'abort': no reason"):
        reply("abort", content="An emb")
    with pytest.raises(MalformedAnswer, match="the reply ended with 'stop': Upstream provider disconnected"):
        reply("stop", content="An emb", choice={"error": {"code": 502, "message": "Upstream provider disconnected"}})
    half = {"choices": [{"message": {"content": "Half an"}, "finish_reason": None}], "error": {"message": "overloaded"}}
    with pytest.raises(MalformedAnswer, match="overloaded"):
        reply_of(half, REQUEST, Endpoint(model="m"))
    no_message = reply_of({"choices": [{"finish_reason": "length"}]}, REQUEST, Endpoint(model="m"))
    assert (no_message.text, no_message.finish) == ("", "length")


def test_tokens_that_only_the_total_shows_are_paid_for() -> None:
    for usage, out in (
        ({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}, 2),
        ({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 3_009}, 3_002),
        ({"prompt_tokens": 7, "total_tokens": 270}, 263),
        ({"prompt_tokens": 7, "completion_tokens": 2}, 2),
        ({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 5}, 2),
    ):
        found = reply(content="Yes", usage=usage)
        assert (found.input_tokens, found.output_tokens, found.finish) == (7, out, "stop"), usage
        assert found.cost_usd == pytest.approx((7 + out) * 1e-6), usage
    zeros = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    for unknown in (zeros, None):
        assert reply(content="Yes", usage=unknown).cost_usd == pytest.approx((17 + 16 + 50) * 1e-6), "the most possible"
    hidden = {"prompt_tokens": 7, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 3_000}}
    assert reply(content="Yes", usage=hidden).finish == "stop", "the limit of 50 does not count them"
    apart = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9, "reasoning_tokens": 3_000}
    assert [reply(content="Yes", usage=each).output_tokens for each in (hidden, apart)] == [3_002, 3_002]
    assert reply(content="Yes", usage=hidden | {"completion_tokens": 50}).finish == "length"


def test_log_probabilities_are_read_in_all_known_forms_without_the_impossible_ones() -> None:
    top = [{"token": "Yes", "logprob": -0.1}, {"token": "No", "logprob": -2.4}, {"token": "w", "logprob": None}]
    by_token = {"Yes": -0.1, "No": -2.4, "w": None}
    for given in (
        {"content": [{**top[0], "top_logprobs": [*top, {"token": "x"}]}]},
        {"content": [{**top[0], "top_logprobs": by_token}]},
        {"tokens": ["Yes"], "token_logprobs": [-0.1], "top_logprobs": [by_token]},
    ):
        found = reply(content="Yes", choice={"logprobs": given}).logprobs
        assert found == (TokenLogprobs(token="Yes", logprob=-0.1, top=(("Yes", -0.1), ("No", -2.4))),), given
    marked = {"content": [{"token": token, "logprob": -0.1} for token in ("<|begin_of_box|>", "Yes", "<|end_of_box|>")]}
    boxed = reply(content="<|begin_of_box|>Yes<|end_of_box|>", choice={"logprobs": marked})
    assert (boxed.text, [each.token for each in boxed.logprobs or ()]) == ("Yes", ["Yes"])
    unknown = reply(content="Yes", choice={"logprobs": {"content": [{"tok": "Yes"}]}})
    assert (unknown.text, unknown.logprobs) == ("Yes", None)


def cited(annotations: object) -> list[tuple[str, str | None]]:
    found = reply(content="An embrace.", annotations=annotations)
    return [(passage.source.title, passage.source.url) for passage in found.citations]


def test_message_annotations_become_citations_and_malformed_ones_are_ignored() -> None:
    assert cited([{"type": "url_citation", "url_citation": {"url": URL, "title": "Frogs"}}]) == [("Frogs", URL)]
    for malformed in (None, 5, "x", {"url": URL}, [], ["x", 3]):
        assert cited(malformed) == [], malformed


def test_reasoning_is_kept_apart() -> None:
    for message in (
        {"content": "B", "reasoning_content": "A? No."},
        {"content": "B", "reasoning": "A? No."},
        {"content": "<think>A? No.</think> B"},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "A? No."}]}, {"text": "B"}]},
    ):
        found = reply(**message)
        assert (found.text, found.reasoning) == ("B", "A? No."), message


def test_reasoning_without_an_answer_is_an_error_unless_cut_off_or_all_that_the_server_sends() -> None:
    with pytest.raises(MalformedAnswer, match="reasoning without an answer") as caught:
        reply(content=None, reasoning_content="Hm.")
    assert "enable_thinking = false" in (caught.value.hint or "")
    assert (reply("length", content="<think>Hm").text, reply("length", content="<think>Hm").finish) == ("", "length")
    switched_off = {"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}}
    assert reply(content=None, reasoning_content="Hm.", settings=switched_off).text == "Hm."
    assert reply(content=None, reasoning_content="Hm.", settings={"reasoning_effort": "none"}).text == "Hm."


def events(*parts: object, end: str = "data: [DONE]\n\n") -> str:
    return ": comment\n" + "".join(f"data: {json.dumps(part)}\n\n" for part in parts) + end


def test_a_streamed_answer_is_the_one_that_is_not_streamed() -> None:
    token = {"token": "Yes", "logprob": -0.1, "top_logprobs": []}
    parts = [
        {"model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "reasoning_content": "Hm"}}]},
        {"model": "m", "choices": [{"index": 0, "delta": {"reasoning_content": "."}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {"content": "Ye"}, "logprobs": {"content": [token]}}]},
        {"choices": [{"index": 1, "delta": {"content": "other"}}, {"index": 0, "delta": {"content": [{"text": "s"}]}}]},
        {"choices": [{"index": 0, "delta": {"content": None}, "finish_reason": "stop"}], "citations": [URL]},
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}},
    ]
    for end in ("data: [DONE]\n\n", ""):
        found = reply_of(chat_of_events(events(*parts, end=end), "m"), REQUEST, Endpoint(model="n"))
        assert (found.text, found.model, found.reasoning, found.finish) == ("Yes", "m", "Hm.", "stop")
        assert (found.input_tokens, found.output_tokens, found.citations[0].source.url) == (3, 2, URL)
        assert found.logprobs is not None and found.logprobs[0].token == "Yes"
    with pytest.raises(ReplyLost, match="the stream ended before the reply did"):
        chat_of_events(events(*parts[:3], end=""), "m")
    with pytest.raises(ReplyLost):
        chat_of_events(events({"choices": [{"delta": {"content": "Ye"}, "finish_reason": ""}]}, end=""), "m")
    last = {"object": "chat.completion", "choices": [{"message": {"content": "Yes"}, "finish_reason": "stop"}]}
    for before in (parts[:3], parts[:1]):
        assert chat_of_events(events(*before, last), "m")["choices"][0]["message"]["content"] == "Yes"
    token |= {"token": "No"}
    no = {"choices": [{"delta": {"content": "No"}, "logprobs": {"content": [token]}}]}
    empties: tuple[dict[str, Any], ...] = ({"logprobs": {"content": []}}, {"message": {"content": None}})
    for empty in empties:
        stop = {"choices": [{"delta": {}, "finish_reason": "stop", **empty}]}
        found = reply_of(chat_of_events(events(no, stop), "m"), REQUEST, Endpoint(model="n"))
        assert (found.text, len(found.logprobs or ())) == ("No", 1), empty
    failed = {"object": "error", "message": "the engine is dead", "code": 500}
    assert chat_of_events(events(*parts[:3], failed), "m") == {**failed, "is_begun": True}
    role, busy = {"choices": [{"delta": {"role": "assistant"}}]}, {"error": {"message": "busy"}}
    assert chat_of_events(events(role, busy), "m") == busy
