"""Denoising of a grown query by a language model: summary, keywords, or keywords and then a description."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from data.contracts import ChatModel
from data.errors import CutOff, MalformedAnswer, Refused
from data.quoting import quoted
from data.records import ChatMessage, ChatRequest
from rerank.feedback.settings import Denoising
from rerank.prompting import Prompts

MAX_TOKENS: Final = 400
_LABELS: Final = {"summary": "sentence|summary", "keywords": "keywords", "cot": "description"}

_NUMBER: Final = r"(?:\W*\d+[.)](?=\D))?"
_PREAMBLE: Final = re.compile(
    r"(?:(?:sure|certainly|of course|okay)\b[^\w\n:]*(?:\n|$|(?=here)))?"
    r"(?:here(?:'s|\u2019s| is| are)\b[^:\n]*:|[^\n]*:[ *]*(?:\n|$))?",
    re.IGNORECASE,
)
"""Politeness before an answer, up to a colon or the end of its line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denoised:
    """A denoised query; empty with the problem."""

    text: str = ""
    problem: str | None = None
    cost_usd: float | None = 0.0


async def denoise(
    chat: ChatModel, form: Denoising, query: str, captions: Sequence[str], *, prefix: str, prompts: Prompts
) -> Denoised:
    """Return the query that a model writes from the original query and all captions.

    Source:
        Zhu et al. (ICMR 2024), section 3.4.1 and table 1: instruction, demonstration and input, for the three subtasks
        summary, keywords (put behind a prefix), and a chain of thought whose last part is the query. Differs: our own
        instructions and demonstration.

    Raises:
        SourceError: if the provider failed.
        CostStop: if the reply could exceed the cost limit.
    """
    listed = "\n".join(f"- {quoted(caption)}" for caption in captions)
    message = ChatMessage(role="user", text=prompts.fill(f"feedback_{form}", query=query, captions=listed))
    try:
        reply = await chat.reply(ChatRequest(messages=(message,), max_tokens=MAX_TOKENS))
    except (Refused, CutOff, MalformedAnswer) as error:
        return Denoised(problem=str(error), cost_usd=getattr(error, "cost_usd", 0.0))
    text = query_in(reply.text, form)
    if not text:
        return Denoised(problem=f"the reply has no {_LABELS[form].partition('|')[0]}", cost_usd=reply.cost_usd)
    return Denoised(text=f"{prefix} {text}".strip() if form == "keywords" else text, cost_usd=reply.cost_usd)


def query_in(reply: str, form: Denoising) -> str:
    r"""Return the query in a model's reply, empty if there is none: a chain of thought needs its description.

    Example:
        >>> query_in("Keywords: red, bird\nTopic: birds\nTags: birds\n**Description:** a red bird", "cot")
        'a red bird'
        >>> query_in("Keywords: red, bird", "cot"), query_in("Keywords: red, bird", "keywords")
        ('', 'red, bird')
        >>> query_in("Sure! Here are the keywords:\n\n1. red\n2. bird", "keywords")
        'red, bird'
    """
    label = rf"^{_NUMBER}\W*(?:new )?(?:{_LABELS[form]})\s*\W*:\W*"
    found = re.split(label, reply, flags=re.IGNORECASE | re.MULTILINE)
    if form == "cot" and len(found) == 1:
        return ""
    paragraph = _PREAMBLE.sub("", found[-1].strip()).strip().split("\n\n")[0]
    items = [re.sub(f"^{_NUMBER}", "", line).strip(" -*\t") for line in paragraph.splitlines()]
    separator = ", " if form == "keywords" else " "
    return separator.join(item.rstrip(",") for item in items if item).strip(" \"'*")
