"""Contracts of judges and rerankers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from data.arrays import FloatArray
from data.records import Job, Judgement, Question, QuestionAnswer, RankedImage


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenImage:
    """An image in the form a judge needs, prepared once for all questions: a JPEG file, or vectors."""

    jpeg: bytes = b""
    vectors: tuple[FloatArray, ...] = ()
    """One `(dim,)` unit vector for each encoder of the judge."""


class Judge(Protocol):
    """Answers yes/no questions about an image, with a probability."""

    @property
    def name(self) -> str:
        """Model and settings, without secrets; part of the cache key of its answers."""

    @property
    def costs_money(self) -> bool:
        """True if answers cost money, so that skipping questions saves some."""

    def look(self, path: Path) -> SeenImage:
        """Return the image in the form that `judge` takes; may run in several threads at once.

        Raises:
            BadImage: if it cannot be read.
        """

    async def judge(
        self, image: SeenImage, question: Question, *, query: str, context: str, earlier: Sequence[QuestionAnswer]
    ) -> Judgement:
        """Return the answer to one question.

        Args:
            image: the result of `look`.
            question: the question.
            query: the query that the question belongs to.
            context: background on the words of the query; may be empty.
            earlier: earlier questions on the same image with their answers, in order; empty without chaining.

        Raises:
            SourceError: if a provider failed for good. A refusal of the model is not an error but a missing answer.
        """

    async def judge_together(
        self, image: SeenImage, questions: Sequence[Question], *, query: str, context: str
    ) -> list[Judgement] | None:
        """Return the answers to all questions from one call, the cost on the first; None if unsupported."""


class QueryReranker(Protocol):
    """Reranks the images of a job: a permutation of its input, ties in first-stage order; takes many jobs at once."""

    async def rank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first."""
