"""Contracts of judges and rerankers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from data.arrays import FloatArray
from data.records import Job, Judgement, Question, QuestionAnswer, RankedImage


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenImage:
    """An image as a judge takes it, made once for all questions: a picture file for endpoints, vectors for encoders."""

    jpeg: bytes = b""
    vectors: tuple[FloatArray, ...] = ()
    """One `(dim,)` unit vector for each encoder of the judge."""


class Judge(Protocol):
    """Says how probable it is that an image shows what a question asks for."""

    @property
    def name(self) -> str:
        """What judges and how, without secrets; part of the key under which answers are kept."""

    def look(self, path: Path) -> SeenImage:
        """Return the image as the judge takes it; may be called in several threads at once.

        Raises:
            BadImage: if it cannot be read.
        """

    async def judge(
        self, image: SeenImage, question: Question, *, query: str, context: str, earlier: Sequence[QuestionAnswer]
    ) -> Judgement:
        """Return the answer to one question.

        Args:
            image: what `look` gave.
            question: the question.
            query: the query that the question is about.
            context: what is known of the words of the query; may be empty.
            earlier: questions on the same image that were answered before, in order; empty without chaining.

        Raises:
            SourceError: if a provider failed for good. A model that declines is no failure: it could not tell.
        """


@runtime_checkable
class JudgesTogether(Protocol):
    """What a judge may do besides: answer all questions on an image at once."""

    async def judge_together(
        self, image: SeenImage, questions: Sequence[Question], *, query: str, context: str
    ) -> list[Judgement] | None:
        """Return the answer to each question, in order, the cost on the first; None if it must ask one by one."""


class QueryReranker(Protocol):
    """Ranks the images of a job anew, many jobs at once; the same laws as for `Reranker`."""

    async def rank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first."""


class Reranker(Protocol):
    """Ranks the images of a job anew: a permutation of its input, ties in first-stage order."""

    def rerank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first."""
