"""A vision model as a judge: yes or no to a question on a photo, with a probability and how it was obtained.

Many servers silently ignore the request for log-probabilities, so a probe with two tiny images comes first. Without
them the model is asked several times, or states a number.
"""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from PIL import Image

from data.contracts import ChatModel, SeenImage
from data.errors import CutOff, MalformedAnswer, NotCached, Refused
from data.images.views import jpeg_of
from data.records import ChatMessage, ChatReply, ChatRequest, Judgement, Question, QuestionAnswer
from rerank.judges import answers
from rerank.judges.answers import (
    ANSWER_TOKENS,
    FIRST_WORDS,
    TOP_LOGPROBS,
    YesNo,
    answer_of,
    majority,
    refused,
    stated,
    unclear,
)
from rerank.prompting import Prompts, fenced_context, object_schema
from rerank.queries import PHOTO_LABEL, REFERENCE_LABEL
from rerank.reranker import total_cost
from rerank.scheduling import all_of, current_run
from rerank.settings import VisionSettings

SAMPLING_TEMPERATURE: Final = 1.0  # samples at temperature 0 would all be the same
REASONED_TOKENS: Final = 400  # room for reasons before the answer
STATED_TOKENS: Final = 30  # room for a number in JSON
_STATED: Final = object_schema({"probability": {"type": "integer", "minimum": 0, "maximum": 100}})

Kind = Literal["logprobs", "stated", "samples", "text"]

_LOG: Final = logging.getLogger(__name__)


class VisionJudge:
    """Asks a vision model; a `Judge`.

    Args:
        chat: the model; wrapped in `rerank.scheduling.FairChat`, queries share its calls fairly.
        settings: reasons, samples, and the source of probabilities.
        prompts: the prompts `question*`, `questions_together` and `direct`.

    Source:
        Divide and Conquer, section 3.3. Differs: see `VisionSettings` and `answers.probability_of_yes`; with
        `spelling="exact"`, one sample and no reasons before the answer the probabilities are the paper's.
    """

    costs_money = True
    sees_references = True

    def __init__(
        self, chat: ChatModel, *, settings: VisionSettings | None = None, prompts: Prompts | None = None
    ) -> None:
        self._chat = chat
        self._settings = settings or VisionSettings()
        self._prompts = prompts or Prompts()
        self._probing: asyncio.Task[Abilities] | None = None
        self._probed_in: object = None

    def look(self, path: Path) -> SeenImage:
        """Return the photo as a JPEG, scaled and encoded once for all questions."""
        return SeenImage(jpeg=jpeg_of(path, max_side=self._settings.max_side))

    async def abilities(self) -> Abilities:
        """Return the abilities of the endpoint, from a probe that runs once; one that fails, once in `run_jobs`."""
        probing, run = self._probing, current_run.get()
        has_failed = probing is not None and probing.done() and (probing.cancelled() or probing.exception() is not None)
        if probing is None or (has_failed and (run is None or self._probed_in is not run)):
            probing, self._probed_in = asyncio.create_task(self._probed()), run
            self._probing = probing
        try:
            return await asyncio.shield(probing)
        except MalformedAnswer as error:
            paid, error.cost_usd = copy(error), 0.0  # the cost counts once
            raise paid from error

    async def _probed(self) -> Abilities:
        try:
            found = await probe(self._chat)
        except NotCached:  # as for a server that gives no log-probabilities
            return Abilities(gives_logprobs=False, tells_colours=True)
        if not found.tells_colours:
            _LOG.warning("%s cannot tell a red image from a blue one; it may not see images", self._chat.name)
        return found

    async def judge(
        self, image: SeenImage, question: Question, *, query: str, context: str, earlier: Sequence[QuestionAnswer]
    ) -> Judgement:
        """Return the answer to one question."""
        settings = self._settings
        abilities = await self.abilities()
        kind: Kind = "logprobs" if abilities.gives_logprobs else settings.without_logprobs
        prompt = self._prompt(question, query, context, earlier, kind)
        n = settings.fallback_samples if kind == "samples" else settings.samples
        has_reasons = settings.reasons != "none" and kind != "stated"
        n_tokens = REASONED_TOKENS if has_reasons else STATED_TOKENS if kind == "stated" else ANSWER_TOKENS
        replies = await all_of(
            [self._reply(image, prompt, kind, n_tokens=n_tokens, seed=i if n > 1 else None) for i in range(n)]
        )
        paid = [reply.cost_usd for reply in replies]
        for reply in replies:
            if isinstance(reply, CutOff):
                reply.cost_usd = total_cost(paid)
                raise reply
        judged = [self._read(reply, kind) for reply in replies if not isinstance(reply, CutOff)]
        return judged[0] if n == 1 else majority(judged, is_share=kind in ("samples", "text"))

    async def judge_together(
        self, image: SeenImage, questions: Sequence[Question], *, query: str, context: str
    ) -> list[Judgement] | None:
        """Return the answers to all questions from one reply; None with reasons, samples or no log-probabilities.

        A question without a usable answer in the reply is asked again on its own.
        """
        abilities = await self.abilities()
        if self._settings.reasons != "none" or self._settings.samples > 1 or not abilities.gives_logprobs:
            return None
        listed = "\n".join(f"{i}. {question.question}" for i, question in enumerate(questions, 1))
        prompt = self._prompts.fill(
            "questions_together", context=fenced_context(context), query=query, questions=listed
        )
        reply = await self._reply(image, prompt, "logprobs", n_tokens=8 * len(questions) + 8, is_one=False)
        if isinstance(reply, CutOff):
            raise reply
        if isinstance(reply, Refused):
            return [refused(reply) for _ in questions]
        text, tokens = answers.text_of(reply), reply.logprobs or ()
        found: list[Judgement] = []
        earlier: list[QuestionAnswer] = []
        for question, span in zip(questions, answers.numbered_spans(text, len(questions)), strict=True):
            token = answers.token_at(tokens, span[0]) if span else None
            probability = answers.probability_of_yes(token, self._settings.spelling)[0] if token else None
            if span is None or probability is None:
                try:
                    one = await self.judge(image, question, query=query, context=context, earlier=earlier)
                except CutOff as error:
                    error.cost_usd = total_cost((error.cost_usd, reply.cost_usd, *(each.cost_usd for each in found)))
                    raise
            else:
                by = "logprobs; asked together"
                one = Judgement(probability=probability, answer=_word_at(text, span), obtained_by=by, cost_usd=0.0)
            found.append(one)
            earlier.append(answer_of(question, one))
        return [replace(found[0], cost_usd=total_cost((found[0].cost_usd, reply.cost_usd))), *found[1:]]

    def _prompt(
        self, question: Question, query: str, context: str, earlier: Sequence[QuestionAnswer], kind: str
    ) -> str:
        background = fenced_context(context)
        if kind == "stated":
            name = "question_stated"
        elif self._settings.reasons != "none":
            name = "question_reasoned" if self._settings.reasons == "before" else "question_explained"
        elif question.is_query:
            return self._prompts.fill("direct", context=background, question=question.question)
        else:
            name = "question"
        answered = "".join(f"- {one.question} {(one.answer or 'not clear').capitalize()}\n" for one in earlier)
        history = f"\nWhat was found so far:\n{answered}" if answered else ""
        return self._prompts.fill(name, context=background, query=query, earlier=history, question=question.question)

    async def _reply(
        self, image: SeenImage, prompt: str, kind: Kind, *, n_tokens: int, seed: int | None = None, is_one: bool = True
    ) -> ChatReply | Refused | CutOff:
        request = ChatRequest(
            messages=_messages(prompt, image),
            json_schema=_STATED if kind == "stated" else None,
            max_tokens=n_tokens,
            temperature=0.0 if seed is None else SAMPLING_TEMPERATURE,
            top_logprobs=TOP_LOGPROBS if kind == "logprobs" else None,
            seed=seed,
            first_words=FIRST_WORDS if kind != "stated" and self._settings.reasons != "before" else (),
            usable=(lambda reply: self._read(reply, kind).probability is not None) if is_one else None,
        )
        try:
            return await self._chat.reply(request)
        except (Refused, CutOff) as error:
            return error

    def _read(self, reply: ChatReply | Refused, kind: Kind) -> Judgement:
        if isinstance(reply, Refused):
            return refused(reply)
        if kind == "stated":
            return stated(reply)
        is_reasoned, is_exact = self._settings.reasons == "before", self._settings.spelling == "exact"
        text = answers.text_of(reply)
        span = answers.answer_span(text, is_reasoned=is_reasoned)
        word = _word_at(text, span) if span is not None else None
        note = answers.reason_of(text, span) if self._settings.reasons != "none" else ""
        if kind == "logprobs" and reply.logprobs:
            # Without a readable answer the alternatives of the first token still count; the paper reads only those.
            token = answers.token_at(reply.logprobs, span[0]) if span is not None else None
            if token is None and not is_reasoned:
                token = reply.logprobs[0]
            probability, mass = answers.probability_of_yes(token, self._settings.spelling) if token else (None, 0.0)
            if probability is not None and (mass >= answers.LEAST_MASS or is_exact):
                by = "logprobs" if word is not None else f"logprobs; yes and no have {mass:.0%} of the mass"
                answer = word or ("yes" if probability > 0.5 else "no")
                return Judgement(
                    probability=probability, answer=answer, obtained_by=by, note=note, cost_usd=reply.cost_usd
                )
            if is_exact:
                return unclear(reply, "neither Yes nor No among the alternatives")
        if word is None:
            return unclear(reply, "no yes or no in the reply")
        by = "samples" if kind == "samples" else "text"
        return Judgement(
            probability=float(word == "yes"), answer=word, obtained_by=by, note=note, cost_usd=reply.cost_usd
        )


def _messages(prompt: str, image: SeenImage) -> tuple[ChatMessage, ...]:
    """Return the prompt with the photo, or with the reference photo and then the photo, each with its label."""
    if not image.reference:
        return (ChatMessage(role="user", text=prompt, images=(image.jpeg,)),)
    return (
        ChatMessage(role="user", text=prompt),
        ChatMessage(role="user", text=REFERENCE_LABEL, images=(image.reference,)),
        ChatMessage(role="user", text=PHOTO_LABEL, images=(image.jpeg,)),
    )


def _word_at(text: str, span: tuple[int, int]) -> YesNo:
    return "yes" if text[slice(*span)].lower() == "yes" else "no"


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """Abilities of an endpoint, from its replies to one red and one blue image."""

    gives_logprobs: bool
    """Whether yes or no was among the alternatives of a token."""
    tells_colours: bool
    """Whether the model said yes to red and no to blue; otherwise it may not see images."""


async def probe(chat: ChatModel) -> Abilities:
    """Return the abilities of an endpoint; two cheap calls.

    Replies without log-probabilities are not cached: the server may take another form of requests by the next run.
    """
    question = "Is this picture red? Answer with the single word Yes or No and write nothing else."
    messages = [(ChatMessage(role="user", text=question, images=(plain_image(each),)),) for each in ("red", "blue")]
    asked = ChatRequest(
        messages=(), max_tokens=ANSWER_TOKENS, top_logprobs=TOP_LOGPROBS, first_words=FIRST_WORDS,
        usable=lambda reply: _answered(reply)[1],
    )  # fmt: skip
    replies = await all_of([chat.reply(replace(asked, messages=each)) for each in messages])
    found = [_answered(reply) for reply in replies]
    return Abilities(
        gives_logprobs=all(is_scored for _, is_scored in found),
        tells_colours=[word for word, _ in found] == ["yes", "no"],
    )


def _answered(reply: ChatReply) -> tuple[str | None, bool]:
    """Return the answer, and whether its token, or any token without one, has yes or no among its alternatives."""
    tokens, text = reply.logprobs or (), answers.text_of(reply)
    span = answers.answer_span(text, is_reasoned=False)
    at = answers.token_at(tokens, span[0]) if span else None
    is_scored = any(answers.probability_of_yes(token)[0] is not None for token in (tokens if at is None else (at,)))
    return _word_at(text, span) if span else None, is_scored


def plain_image(colour: str) -> bytes:
    """Return a small JPEG of one colour."""
    out = io.BytesIO()
    Image.new("RGB", (64, 64), colour).save(out, "JPEG")
    return out.getvalue()
