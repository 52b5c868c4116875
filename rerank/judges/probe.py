"""What a multimodal endpoint really does, found out by two tiny pictures before the first question.

Servers that drop `logprobs` without a word are why a reply with status 200 proves nothing.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

from PIL import Image

from data.contracts import ChatModel
from data.records import ChatMessage, ChatReply, ChatRequest
from rerank.judges import answers
from rerank.judges.answers import ANSWER_TOKENS, THINKING_TOKENS, TOP_LOGPROBS
from rerank.reasoning import is_thought
from rerank.scheduling import all_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What an endpoint really does, by two tiny pictures: one red, one blue, and the question whether it is red."""

    gives_logprobs: bool
    """Whether yes or no stood among the alternatives of a token."""
    is_thinking: bool
    """Whether it thinks aloud, or spends all its tokens on thoughts, before it answers."""
    tells_colours: bool
    """Whether it said yes to red and no to blue; if not, it may not see pictures at all."""


async def probe(chat: ChatModel) -> Abilities:
    """Return what an endpoint really does; two cheap calls, and two longer ones where these were cut off."""
    replies = await _shown(chat, ANSWER_TOKENS)
    is_thinking = any(_thinks(reply) for reply in replies)
    if any(reply.finish == "length" and _said(reply) is None for reply in replies):
        # Thoughts or many words. Templates that begin the thought themselves leave no mark before its end.
        replies = await _shown(chat, THINKING_TOKENS)
        is_thinking = is_thinking or any(_thinks(reply) for reply in replies)
    return Abilities(
        gives_logprobs=all(_is_scored(reply) for reply in replies),
        is_thinking=is_thinking,
        tells_colours=[_said(reply) for reply in replies] == ["yes", "no"],
    )


async def _shown(chat: ChatModel, n_tokens: int) -> list[ChatReply]:
    question = "Is this picture red? Answer with the single word Yes or No and write nothing else."
    return await all_of(
        [
            chat.reply(
                ChatRequest(
                    messages=(ChatMessage(role="user", text=question, images=(picture_of(colour),)),),
                    max_tokens=n_tokens,
                    top_logprobs=TOP_LOGPROBS,
                )
            )
            for colour in ("red", "blue")
        ]
    )


def _said(reply: ChatReply) -> str | None:
    text = answers.text_of(reply)
    span = answers.answer_span(text, is_reasoned=False)
    return text[slice(*span)].lower() if span else None


def _thinks(reply: ChatReply) -> bool:
    text = answers.text_of(reply)
    return is_thought(text) or (not text.strip() and reply.finish == "length")


def _is_scored(reply: ChatReply) -> bool:
    """Return whether the token of the answer has alternatives to read, or any token where there is no answer."""
    tokens = reply.logprobs or ()
    span = answers.answer_span(answers.text_of(reply), is_reasoned=False)
    at = answers.token_at(tokens, span[0]) if span else None
    return any(answers.probability_of_yes(token)[0] is not None for token in ((at,) if at is not None else tokens))


def picture_of(colour: str) -> bytes:
    """Return a small picture of one colour, as a JPEG."""
    out = io.BytesIO()
    Image.new("RGB", (64, 64), colour).save(out, "JPEG")
    return out.getvalue()
