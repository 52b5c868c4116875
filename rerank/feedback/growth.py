"""Growth of the query by captions of the marked images, and its denoising."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from data.contracts import ChatModel, ImageCollection, TextEncoder
from data.errors import BadInput, UsageError
from rerank.feedback.captions import Captioner
from rerank.feedback.denoise import denoise
from rerank.feedback.queries import joined, original_and_captions, sampled
from rerank.feedback.records import Caption, Session, Turn
from rerank.feedback.settings import FeedbackMethod, FeedbackSettings, needs_text_model, text_form
from rerank.feedback.tally import FeedbackTally
from rerank.prompting import Prompts


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
