"""Ranking by texts about photos: captions, for VISA answers to questions about the query, and their scores."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL.Image import Image

from data.cache_file import CacheFile
from data.contracts import ChatModel, TextEncoder
from data.errors import BadImage, FieldmarkError, MalformedAnswer, Refused, UsageError
from data.files import file_state, sha256_hex
from data.images import MAX_SIDE
from data.images.decode import ENCODER_SIDE, read_image
from data.images.views import jpeg_of
from data.records import ChatMessage, ChatRequest, Job, JobImage, QuestionAnswer, RankedImage
from rerank.prompting import REPAIRS, Prompts, ask, fields_in, object_schema
from rerank.reranker import FAILURES, Tally, begin, error_rows, ranked_by_score, share_of, total_cost
from rerank.scheduling import all_of, current_step
from rerank.settings import CaptionSettings

CAPTION_TOKENS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PhotoText:
    """A text about a photo, and its cost in US dollars; None if unknown."""

    text: str
    cost_usd: float | None = 0.0


class ImageCaptioner(Protocol):
    """A captioner on this machine."""

    @property
    def name(self) -> str:
        """Model and settings; part of the key of stored captions."""

    def caption_images(self, images: Sequence[Image]) -> list[str]:
        """Return a caption of each image."""


class Captioner(Protocol):
    """Writes captions of photos."""

    async def caption(self, path: Path) -> PhotoText:
        """Return the caption of a photo.

        Raises:
            BadImage: if it cannot be read.
            MalformedAnswer: if the caption is empty.
            SourceError, CostStop, NotCached: if the model declines or cannot be reached.
        """


class VisionCaptioner:
    """Captions by a vision model.

    Source:
        VisRet (Wu et al., 2025), appendix B, captioning re-ranking: one prompt, without the query. Differs: our own
        words, which ask for at least ten words as the paper does of BLIP (ten tokens).
    """

    def __init__(
        self,
        chat: ChatModel,
        *,
        prompts: Prompts | None = None,
        prompt: str = "caption",
        max_tokens: int = CAPTION_TOKENS,
    ) -> None:
        self._chat, self._prompts = chat, prompts or Prompts()
        self._prompt, self._max_tokens = prompt, max_tokens

    async def caption(self, path: Path) -> PhotoText:
        """Return the caption of a photo."""
        jpeg = await asyncio.to_thread(jpeg_of, path, max_side=MAX_SIDE)
        message = ChatMessage(role="user", text=self._prompts.fill(self._prompt), images=(jpeg,))
        request = ChatRequest(messages=(message,), max_tokens=self._max_tokens)
        text, cost = await ask(self._chat, request, partial(_in_one_line, model=self._chat.name))
        return PhotoText(text=text, cost_usd=cost)


class LocalCaptioner:
    """Captions by a model on this machine, one photo at a time; a cache stores them by file, size and time."""

    def __init__(self, model: ImageCaptioner, cache: CacheFile | None = None) -> None:
        self._model, self._cache = model, cache
        self._turn = asyncio.Lock()

    async def caption(self, path: Path) -> PhotoText:
        """Return the caption of a photo."""
        key = sha256_hex(f"{self._model.name}\n{path.resolve()}\n{file_state(path)}")
        if self._cache is not None and (stored := self._cache.get(key)):
            return PhotoText(text=stored)
        image = await asyncio.to_thread(read_image, path, min_side=ENCODER_SIDE)
        async with self._turn:
            (text,) = await asyncio.to_thread(self._model.caption_images, [image])
        made = PhotoText(text=_in_one_line(text, self._model.name))
        if self._cache is not None:
            self._cache.put(key, made.text)
        return made


def _in_one_line(text: str, model: str) -> str:
    if not text.strip():
        raise MalformedAnswer(f"{model}: an empty caption")
    return " ".join(text.split())


class TextScorer(Protocol):
    """Scores texts for a query; higher is better."""

    @property
    def name(self) -> str:
        """The model."""

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the `(n,)` scores of `n` texts."""


class SentenceScorer:
    """Cosines of query and texts by a sentence encoder; a text without a known word scores 0."""

    def __init__(self, encoder: TextEncoder) -> None:
        self._encoder = encoder

    @property
    def name(self) -> str:
        """The encoder."""
        return self._encoder.name

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the `(n,)` cosines."""
        if not texts:
            return np.zeros(0)
        rows = self._encoder.encode_texts(list(texts))
        asked = self._encoder.encode_texts([query])[0]
        # One by one: a matrix product may round equal rows differently, and ties must stay ties.
        return np.array([float(np.dot(row, asked)) for row in rows])


def bounded(scores: ArrayLike) -> NDArray[np.float64]:
    """Return scores divided by the size of the largest, if that is above 1: logits are then no lower than -1."""
    array = np.asarray(scores, dtype=np.float64)
    scaled: NDArray[np.float64] = array / max(1.0, float(np.abs(array).max(initial=0.0)))
    return scaled


def min_max(scores: ArrayLike) -> NDArray[np.float64]:
    """Return scores scaled to 0 to 1; equal scores become 0."""
    array = np.asarray(scores, dtype=np.float64)
    if not array.size or (low := array.min()) == (high := array.max()):
        return np.zeros(array.shape)
    scaled: NDArray[np.float64] = (array - low) / (high - low)
    return scaled


N_QUESTIONS: Final = 3
TEMPERATURE: Final = 0.2
QUESTION_TOKENS: Final = 1_024
ANSWER_TOKENS: Final = 300
_UNCERTAIN: Final = re.compile(r"\buncertain\b", re.IGNORECASE)
_TEXTS: Final[dict[str, object]] = {"type": "array", "items": {"type": "string"}}
_SCHEMA: Final = object_schema({"phrases": _TEXTS, "questions": {**_TEXTS, "minItems": 3, "maxItems": 3}})


@dataclass(frozen=True, slots=True, kw_only=True)
class VisaQuestions:
    """Key phrases of a query and questions about photos; empty if the model wrote none."""

    phrases: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    cost_usd: float | None = 0.0


def _visa_questions(text: str) -> VisaQuestions:
    phrases, questions = (REPAIRS["texts"](fields_in(text).get(name)) for name in ("phrases", "questions"))
    if len(questions) < N_QUESTIONS:
        raise MalformedAnswer(f"expected {N_QUESTIONS} questions, got {len(questions)}")
    return VisaQuestions(phrases=phrases, questions=questions[:N_QUESTIONS])


class Visa:
    """Writes questions about queries, and answers them about photos.

    Source:
        VISA (Ding et al., ICML 2025) and its published code: key phrases and three questions of a query in one request
        at temperature 0.2, each question answered about each photo in a request of its own, answers that say Uncertain
        dropped. Differs: our own prompts and a JSON object; answers at temperature 0; a query without questions is
        ranked by captions alone, as there, and counted.
    """

    def __init__(self, text: ChatModel, vision: ChatModel, *, prompts: Prompts | None = None) -> None:
        self._text, self._vision, self._prompts = text, vision, prompts or Prompts()

    async def questions(self, query: str) -> VisaQuestions:
        """Return the questions about a query.

        Raises:
            SourceError, CostStop, NotCached: if the model cannot be reached now.
        """
        message = ChatMessage(role="user", text=self._prompts.fill("visa_questions", query=query))
        request = ChatRequest(
            messages=(message,), json_schema=_SCHEMA, max_tokens=QUESTION_TOKENS, temperature=TEMPERATURE
        )
        try:
            found, cost = await ask(self._text, request, _visa_questions)
        except (Refused, MalformedAnswer) as error:
            return VisaQuestions(cost_usd=error.cost_usd)
        return replace(found, cost_usd=cost)

    async def answer(self, jpeg: bytes, question: str, phrases: tuple[str, ...]) -> PhotoText:
        """Return the answer about a photo; empty if the model is uncertain.

        Raises:
            SourceError, CostStop, NotCached: if the model declines or cannot be reached.
        """
        text = self._prompts.fill("visa_answer", question=question, phrases="; ".join(phrases))
        message = ChatMessage(role="user", text=text, images=(jpeg,))
        reply = await self._vision.reply(ChatRequest(messages=(message,), max_tokens=ANSWER_TOKENS))
        answer = " ".join(reply.text.split())
        return PhotoText(text="" if is_uncertain(answer) else answer, cost_usd=reply.cost_usd)


def is_uncertain(answer: str) -> bool:
    """Return whether an answer is the word Uncertain, alone or at its start or end."""
    words = re.findall(r"\w+", answer)
    return not words or _UNCERTAIN.fullmatch(words[0]) is not None or _UNCERTAIN.fullmatch(words[-1]) is not None


N_OPEN: Final = 32  # photos in memory at a time
_CAPTION: Final = "caption: "  # before the caption in the evaluation of a photo


def caption_tally(scorer: TextScorer) -> Tally:
    """Return the counts of a method that compares captions with queries."""
    compared = f"compared with the query by {scorer.name}"
    words = {
        "captions": (f"caption, {compared}", f"captions, {compared}"),
        "answers": ("answer", "answers"),
        "uncertain": ("uncertain answer", "uncertain answers"),
    }
    alone = "without questions, ranked by captions alone"
    return Tally(words=words, warned={"without_questions": (f"query {alone}", f"queries {alone}")})


class CaptionReranker:
    """Ranks photos by the similarity of query and caption as texts; with `visa`, of query and answers with caption.

    A `Reranker` of texts and dialogues. A photo without a caption is an error row.

    Source:
        VisRet (Wu et al., 2025), appendix B: captioning re-ranking and VISA re-ranking of the first 30 photos
        (`--depth 30`). As in VISA's code, text scores and first-stage scores are scaled to 0 to 1 over these photos and
        summed. Differs: the text scorer is one of `CaptionSettings.scorer`; theirs is bge-reranker-v2.5-gemma2.
    """

    def __init__(
        self,
        captioner: Captioner,
        scorer: TextScorer,
        *,
        visa: Visa | None = None,
        settings: CaptionSettings | None = None,
    ) -> None:
        self._captioner, self._scorer, self._visa = captioner, scorer, visa
        self._settings = settings or CaptionSettings()
        self._scoring = asyncio.Lock()
        self._open = asyncio.Semaphore(N_OPEN)
        self.tally = caption_tally(scorer)

    async def rank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first."""
        if job.reference_image is not None:
            raise UsageError("Captions are compared with words; use --method similarity for a reference image.")
        rows, asked_for = begin(job)
        query = asked_for.text
        asked = VisaQuestions()
        if self._visa is not None and rows:
            try:
                asked = await self._visa.questions(query)
            except FAILURES as error:
                self.tally.failures.append(error)
                return error_rows(job, str(error))
            if not asked.questions:
                self.tally.warn("without_questions", job.query_id)
                self.tally.has_fallbacks = True
        found = await all_of([self._read(row, image, asked) for row, image in zip(rows, job.candidates, strict=True)])
        async with self._scoring:
            return ranked_by_score(await asyncio.to_thread(self._scored, job, query, found, asked))

    async def _read(self, row: RankedImage, image: JobImage, asked: VisaQuestions) -> RankedImage:
        """Return caption and answers about a photo, without a score."""
        path = Path(image.path)
        costs: list[float | None] = []
        answers: list[QuestionAnswer] = []
        async with self._open:
            try:
                caption = await self._captioner.caption(path)
                costs.append(caption.cost_usd)
                self.tally.counts["captions"] += 1
                if asked.questions and self._visa is not None:
                    jpeg = await asyncio.to_thread(jpeg_of, path, max_side=MAX_SIDE)
                    for question in asked.questions:
                        answers.append(await self._answer(self._visa, jpeg, question, asked.phrases, costs))
                        current_step.set(len(answers))
            except (*FAILURES, BadImage) as error:
                self.tally.failures.append(error)
                costs.append(getattr(error, "cost_usd", 0.0))
                return replace(row, error=str(error), cost_usd=total_cost(costs))
        text = f"{_CAPTION}{caption.text}"
        return replace(row, questions=tuple(answers), evaluation=text, cost_usd=total_cost(costs))

    async def _answer(
        self, visa: Visa, jpeg: bytes, question: str, phrases: tuple[str, ...], costs: list[float | None]
    ) -> QuestionAnswer:
        """Return the answer to a question; a refused one is missing, like an uncertain one, and counted."""
        problem: FieldmarkError | None = None
        text = ""
        try:
            answer = await visa.answer(jpeg, question, phrases)
            text = answer.text
            costs.append(answer.cost_usd)
        except Refused as error:
            problem = error
            self.tally.failures.append(error)
        self.tally.counts["answers"] += 1
        self.tally.counts["uncertain"] += not text
        origin = "text" if text else "uncertain" if problem is None else f"refused: {problem}"
        return QuestionAnswer(question=question, answer=text or None, probability=None, obtained_by=origin)

    def _scored(self, job: Job, query: str, found: Sequence[RankedImage], asked: VisaQuestions) -> list[RankedImage]:
        good = [i for i, each in enumerate(found) if each.error is None]
        scores = self._scorer.scores(query, [_shown(found[i]) for i in good])
        if self._settings.first_stage:
            scores = min_max(scores) + min_max([job.candidates[i].score for i in good])
        else:
            scores = bounded(scores)  # rows with an error have -1
        by_place = dict(zip(good, np.asarray(scores, dtype=np.float64).tolist(), strict=True))
        extra = share_of(asked.cost_usd, len(found))
        return [
            replace(each, score=by_place.get(i, each.score), cost_usd=total_cost((each.cost_usd, extra)))
            for i, each in enumerate(found)
        ]


def _shown(image: RankedImage) -> str:
    """Return the answers about a photo, then its caption."""
    caption = (image.evaluation or "").removeprefix(_CAPTION)
    return " ".join([*(answer.answer or "" for answer in image.questions), caption]).strip()
