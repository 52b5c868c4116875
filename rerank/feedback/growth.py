"""Growth of the query by captions of the marked images, its denoising by a language model, and the counts of both."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from data.contracts import ChatModel, ImageCollection, TextEncoder
from data.errors import BadInput, CutOff, FieldmarkError, MalformedAnswer, Refused, UsageError
from data.prompts import quoted
from data.records import ChatMessage, ChatRequest
from data.words import plural
from rerank.feedback.captions import Captioner
from rerank.feedback.methods import Denoising, FeedbackMethod, FeedbackSettings, needs_text_model, text_form
from rerank.feedback.queries import joined, original_and_captions, sampled
from rerank.feedback.session import Caption, Session, Turn
from rerank.prompting import Prompts


@dataclass(slots=True, kw_only=True)
class FeedbackTally:
    """Captions and queries so far, with the ones that failed."""

    n_captions: int = 0
    refused_captions: list[str] = field(default_factory=list)
    """Images without a caption, each with the reason."""
    n_denoised: int = 0
    failed_rewrites: list[str] = field(default_factory=list)
    """Reasons for queries that grew by captions alone because no model denoised them."""
    n_truncated: int = 0
    """Queries cut off at `max_tokens`."""
    n_blind: int = 0
    """Queries of words that the encoder cannot compare with photos."""
    errors: list[FieldmarkError] = field(default_factory=list, compare=False)
    """Errors of whole queries, in the order in which they happened."""

    @property
    def is_complete(self) -> bool:
        """Whether every photo was captioned and every query denoised that should have been."""
        return not self.refused_captions and not self.failed_rewrites

    def lines(self) -> list[str]:
        """Return the counts in words; zero counts are left out."""
        counts = (
            (self.n_captions, "caption", "captions"),
            (self.n_denoised, "denoised query", "denoised queries"),
            (self.n_truncated, "query cut off", "queries cut off"),
        )
        return [plural(n, one, many) for n, one, many in counts if n]

    def warnings(self) -> list[str]:
        """Return the fallbacks that the user should know of."""
        found = []
        if refused := self.refused_captions:
            found.append(f"{plural(len(refused), 'image')} could not be captioned: {'; '.join(refused[:3])}")
        if failed := self.failed_rewrites:
            n = plural(len(failed), "query", "queries")
            reasons = "; ".join(dict.fromkeys(failed[:3]))
            found.append(f"{n} could not be denoised and grew by captions alone: {reasons}")
        if self.n_blind:
            n = plural(self.n_blind, "query has", "queries have")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NextQuery:
    """The query of the next turn, with fallbacks in words and its cost without captions."""

    text: str
    notes: tuple[str, ...] = ()
    cost_usd: float | None = 0.0


class QueryGrowth:
    """Writes the query of the next turn; the arguments are those of `FeedbackSearch`.

    Raises:
        UsageError: if the method needs a captioner or a model that is not given.
    """

    def __init__(
        self,
        encoder: TextEncoder,
        collection: ImageCollection,
        *,
        method: FeedbackMethod,
        settings: FeedbackSettings,
        captioner: Captioner | None,
        text: ChatModel | None,
        prompts: Prompts,
    ) -> None:
        self._encoder, self._collection = encoder, collection
        self._method, self._settings = method, settings
        self._captioner, self._text, self._prompts = captioner, text, prompts
        self.tally = FeedbackTally()
        if text_form(method, settings) is not None and captioner is None:
            raise UsageError(f"The method {method} needs a captioner.")
        if needs_text_model(method, settings) and text is None:
            raise UsageError(f"The method {method} needs a text model.", hint="Use the method captions, or rocchio.")

    async def grow(self, session: Session) -> tuple[Session, NextQuery]:
        """Return the session with captions of its last turn, and the next query: unchanged without a new caption."""
        last = session.turns[-1]
        form = text_form(self._method, self._settings)
        if form is None or not last.relevant:
            return session, NextQuery(text=last.query)
        if not last.captions:
            last = await self._captioned(session)
            session = replace(session, turns=(*session.turns[:-1], last))
        notes = tuple(f"no caption of {each.image_id}: {each.error}" for each in last.captions if each.error)
        is_first = sum(bool(turn.relevant) for turn in session.turns) == 1
        if all(caption.error for caption in last.captions) or (self._method == "rocchio-then-text" and is_first):
            return session, NextQuery(text=last.query, notes=notes)
        original, captions = original_and_captions(session)
        grown = NextQuery(text=joined([original, *captions]), notes=notes)
        if form == "captions" or len(session.turns) == 1:
            return session, grown
        assert self._text is not None  # checked in __init__
        made = await denoise(self._text, form, original, captions, prefix=self._settings.prefix, prompts=self._prompts)
        problem = made.problem
        if problem is None and not self._encoder.encode_texts([made.text])[0].any():
            problem = "the encoder knows no word of the denoised query"
        if problem is None:
            self.tally.n_denoised += 1
            return session, replace(grown, text=made.text, cost_usd=made.cost_usd)
        self.tally.failed_rewrites.append(problem)
        notes = (*notes, f"not denoised, grown by captions alone: {problem}")
        return session, replace(grown, notes=notes, cost_usd=made.cost_usd)

    async def _captioned(self, session: Session) -> Turn:
        ids = sampled(session, len(session.turns) - 1)
        captions = await asyncio.gather(*map(self._caption, ids))
        self.tally.n_captions += sum(caption.error is None for caption in captions)
        self.tally.refused_captions += [f"{each.image_id}: {each.error}" for each in captions if each.error]
        return replace(session.turns[-1], captions=tuple(captions))

    async def _caption(self, image_id: str) -> Caption:
        assert self._captioner is not None  # checked in __init__
        try:
            path = self._collection.path(image_id)
        except BadInput as error:  # the photo left the collection between two turns
            return Caption(image_id=image_id, error=str(error))
        return await self._captioner(image_id, path)
