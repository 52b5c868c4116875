"""Queries that a language model denoises, and the counts of an interactive search."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from data.contracts import ChatModel
from data.errors import CutOff, MalformedAnswer, Refused
from data.prompts import quoted
from data.records import ChatMessage, ChatRequest
from data.words import plural
from rerank.feedback.methods import Denoising
from rerank.prompting import Prompts
from rerank.reranker import Tally


@dataclass(slots=True, kw_only=True)
class FeedbackTally(Tally):
    """Counts of captions, denoised and truncated queries, and `blind` ones, of words that the encoder cannot see."""

    words: Mapping[str, tuple[str, str]] = field(
        default_factory=lambda: {
            "captions": ("caption", "captions"),
            "denoised": ("denoised query", "denoised queries"),
            "truncated": ("query cut off", "queries cut off"),
        }
    )

    refused_captions: list[str] = field(default_factory=list)
    """Images without a caption, each with the reason."""
    failed_rewrites: list[str] = field(default_factory=list)
    """Reasons for queries that grew by captions alone because no model denoised them."""

    @property
    def is_complete(self) -> bool:
        """Whether every photo was captioned and every query denoised that should have been."""
        return not self.refused_captions and not self.failed_rewrites

    def lines(self) -> list[str]:
        """Return the counts in words; zero counts are left out."""
        return self.in_words(self.words)

    def warnings(self) -> list[str]:
        """Return the fallbacks that the user should know of."""
        found = []
        if refused := self.refused_captions:
            found.append(f"{plural(len(refused), 'image')} could not be captioned: {'; '.join(refused[:3])}")
        if failed := self.failed_rewrites:
            n = plural(len(failed), "query", "queries")
            reasons = "; ".join(dict.fromkeys(failed[:3]))
            found.append(f"{n} could not be denoised and grew by captions alone: {reasons}")
        if n_blind := self.counts["blind"]:
            n = plural(n_blind, "query has", "queries have")
            found.append(f"{n} few words that the encoder can compare with photos, so the first turn means little")
        return found


MAX_TOKENS: Final = 400
_LABELS: Final = {"summary": "sentence|summary", "keywords": "keywords", "cot": "description"}

_NUMBER: Final = r"(?:\W*\d+[.)](?=\D))?"
_PREAMBLE: Final = re.compile(
    r"(?:(?:sure|certainly|of course|okay)\b[^\w\n:]*(?:\n|$|(?=here)))?"
    r"(?:here(?:'s|\u2019s| is| are)\b[^:\n]*:|[^\n]*:[ *]*(?:\n|$))?",
    re.IGNORECASE,
)
"""Politeness before an answer, up to a colon or the end of its line."""


async def denoise(
    chat: ChatModel, form: Denoising, query: str, captions: Sequence[str], *, prefix: str, prompts: Prompts
) -> tuple[str, str, float | None]:
    """Return the query that a model writes from the original query and all captions, why there is none, and the cost.

    Source:
        Zhu et al. (ICMR 2024), section 3.4.1 and table 1: instruction, demonstration and input, for the three subtasks
        summary, keywords (put behind a prefix), and a chain of thought whose last part is the query. Differs: our own
        instructions and demonstration.
    """
    listed = "\n".join(f"- {quoted(caption)}" for caption in captions)
    message = ChatMessage(role="user", text=prompts.fill(f"feedback_{form}", query=query, captions=listed))
    try:
        reply = await chat.reply(ChatRequest(messages=(message,), max_tokens=MAX_TOKENS))
    except (Refused, CutOff, MalformedAnswer) as error:
        return "", str(error), getattr(error, "cost_usd", 0.0)
    text = query_in(reply.text, form)
    if not text:
        return "", f"the reply has no {_LABELS[form].partition('|')[0]}", reply.cost_usd
    return f"{prefix} {text}".strip() if form == "keywords" else text, "", reply.cost_usd


def query_in(reply: str, form: Denoising) -> str:
    r"""Return the query in a model's reply, empty if there is none: a chain of thought needs its description."""
    label = rf"^{_NUMBER}\W*(?:new )?(?:{_LABELS[form]})\s*\W*:\W*"
    found = re.split(label, reply, flags=re.IGNORECASE | re.MULTILINE)
    if form == "cot" and len(found) == 1:
        return ""
    paragraph = _PREAMBLE.sub("", found[-1].strip()).strip().split("\n\n")[0]
    items = [re.sub(f"^{_NUMBER}", "", line).strip(" -*\t") for line in paragraph.splitlines()]
    separator = ", " if form == "keywords" else " "
    return separator.join(item.rstrip(",") for item in items if item).strip(" \"'*")


@dataclass(frozen=True, slots=True, kw_only=True)
class NextQuery:
    """The query of the next turn, with fallbacks in words and its cost without captions."""

    text: str
    notes: tuple[str, ...] = ()
    cost_usd: float | None = 0.0
