"""Probe of a vision endpoint with two tiny images before the first question.

A reply with status 200 proves nothing: some servers silently ignore the request for log-probabilities.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

from PIL import Image

from data.contracts import ChatModel
from data.records import ChatMessage, ChatReply, ChatRequest
from rerank.judges import answers
from rerank.judges.answers import ANSWER_TOKENS, FIRST_WORDS, TOP_LOGPROBS
from rerank.scheduling import all_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """Abilities of an endpoint, from its replies to one red and one blue image."""

    gives_logprobs: bool
    """Whether yes or no was among the alternatives of a token."""
    tells_colours: bool
    """Whether the model said yes to red and no to blue; otherwise it may not see images."""


async def probe(chat: ChatModel) -> Abilities:
    """Return the abilities of an endpoint; two cheap calls."""
    replies = await _show_colours(chat)
    return Abilities(
        gives_logprobs=all(_is_scored(reply) for reply in replies),
        tells_colours=[_answer(reply) for reply in replies] == ["yes", "no"],
    )


async def _show_colours(chat: ChatModel) -> list[ChatReply]:
    question = "Is this picture red? Answer with the single word Yes or No and write nothing else."
    return await all_of(
        [
            chat.reply(
                ChatRequest(
                    messages=(ChatMessage(role="user", text=question, images=(plain_image(colour),)),),
                    max_tokens=ANSWER_TOKENS,
                    top_logprobs=TOP_LOGPROBS,
                    first_words=FIRST_WORDS,
                )
            )
            for colour in ("red", "blue")
        ]
    )


def _answer(reply: ChatReply) -> str | None:
    text = answers.text_of(reply)
    span = answers.answer_span(text, is_reasoned=False)
    return text[slice(*span)].lower() if span else None


def _is_scored(reply: ChatReply) -> bool:
    """Return whether the answer token has yes or no among its alternatives; any token if there is no answer."""
    tokens = reply.logprobs or ()
    span = answers.answer_span(answers.text_of(reply), is_reasoned=False)
    at = answers.token_at(tokens, span[0]) if span else None
    return any(answers.probability_of_yes(token)[0] is not None for token in ((at,) if at is not None else tokens))


def plain_image(colour: str) -> bytes:
    """Return a small JPEG of one colour."""
    out = io.BytesIO()
    Image.new("RGB", (64, 64), colour).save(out, "JPEG")
    return out.getvalue()
