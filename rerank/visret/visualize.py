"""Visualization of queries: an instruction, its drawings, and their vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from data.arrays import FloatArray
from data.contracts import ChatModel, TextImageEncoder
from data.errors import BadImage, BadInput, SourceError, SpaceMismatch, UsageError
from data.records import Job, JobImage
from data.words import plural
from rerank.prompting import Prompts
from rerank.queries import query_of
from rerank.ranked_images import total_cost
from rerank.reranker import Tally
from rerank.settings import VisretSettings
from rerank.similarity import SimilarityReranker
from rerank.visret.generators import Drawn, Generator
from rerank.visret.instruction import MAX_WORDS, Instruction, InstructionWriter, cut_off

BY_TEXT: Final = "ranked by text similarity"


@dataclass(slots=True, kw_only=True)
class VisretTally(Tally):
    """Counts of drawn queries."""

    n_drawn: int = 0
    n_anchors: int = 0
    n_long: int = 0
    """Instructions with more words than the prompt allows."""
    by_text: list[str] = field(default_factory=list)
    """Queries without a drawing, ranked by their text."""
    with_fewer: list[str] = field(default_factory=list)
    """Queries with fewer drawings than asked for."""

    def lines(self) -> list[str]:
        """Return the counts in words."""
        if self.n_anchors:
            return [f"{plural(self.n_anchors, 'anchor')} of named species, no drawings"]
        return [plural(self.n_drawn, "drawing")]

    def warnings(self) -> list[str]:
        """Return the queries that were not drawn, and the long instructions."""
        found = []
        for queries, what in (
            (self.by_text, "could not be drawn and ranked by text similarity instead"),
            (self.with_fewer, "with fewer drawings than asked for"),
        ):
            if queries:
                names = ", ".join(queries[:5]) + (", ..." if len(queries) > 5 else "")
                found.append(f"{plural(len(queries), 'query', 'queries')} {what}: {names}")
        if self.n_long:
            found.append(f"{plural(self.n_long, 'instruction')} of more than {MAX_WORDS} words; drawn whole")
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Visualization:
    """The drawings of a query as `(m, dim)` unit rows, a note on them for its rows, and their cost in US dollars.

    Without rows the query could not be drawn.
    """

    vectors: FloatArray
    note: str
    cost_usd: float | None


class Visualizer:
    """Draws queries and encodes the drawings.

    Args:
        encoder: a text-image encoder.
        generator: makes the drawings.
        text: writes the instruction; without it the query itself is drawn.
        settings: prompt and number of drawings.
        prompts: the prompts `visret_*`.
        similarity: compares vectors in the space of the encoder.
    """

    def __init__(
        self,
        encoder: TextImageEncoder,
        generator: Generator,
        *,
        text: ChatModel | None = None,
        settings: VisretSettings | None = None,
        prompts: Prompts | None = None,
        similarity: SimilarityReranker,
    ) -> None:
        self.settings = settings or VisretSettings()
        self.encoder = encoder
        self.similarity = similarity
        self.tally = VisretTally()
        self._generator = generator
        self._writer = InstructionWriter(text, prompt=self.settings.prompt, is_tidy=self.settings.tidy, prompts=prompts)
        self._encoding = asyncio.Lock()

    async def visualize(self, job: Job) -> Visualization:
        """Return the drawings of a query.

        Raises:
            UsageError: for a composed query.
            BadInput: if the job has no words.
            SpaceMismatch: if the anchors are vectors of another encoder.
            SourceError, CostStop, NotCached: if a model cannot be reached now, for the next run to complete.
        """
        if job.reference_image is not None:
            raise UsageError("The method visret draws words; use --method similarity for a reference image.")
        notes: list[str] = []
        instruction = await self._instruction(job, notes)
        drawn = await self._drawn(job, instruction, notes)
        vectors = await self._vectors(drawn, notes)
        if not len(vectors):
            self.tally.by_text.append(job.query_id)
            notes += [BY_TEXT, *cut_off(query_of(job).text, self.encoder)]
        return Visualization(
            vectors=vectors, note="; ".join(notes), cost_usd=total_cost((instruction.cost_usd, drawn.cost_usd))
        )

    async def _instruction(self, job: Job, notes: list[str]) -> Instruction:
        if not self._generator.needs_instruction:
            return Instruction(text="", note="")
        made = await self._writer.write(job)
        notes.append(made.note)
        self.tally.n_long += made.is_long
        if made.problem is not None:
            self.tally.failures.append(made.problem)
        return made

    async def _drawn(self, job: Job, instruction: Instruction, notes: list[str]) -> Drawn:
        """Return the drawings; none where the generator declines."""
        prompt, n = self.settings.prompt_of(instruction.text), self.settings.images
        try:
            drawn = await self._generator.draw(job, prompt, n)
        except SourceError as error:
            if error.retryable:
                raise
            drawn = Drawn(problem=error)
        if drawn.problem is not None:
            self.tally.failures.append(drawn.problem)
            self.tally.with_fewer += [job.query_id] if drawn.paths else []
            found = f"{len(drawn.paths)} of {n} drawings" if drawn.paths else "not drawn"
            notes.append(f"{found}: {drawn.problem}")
        self.tally.n_drawn += len(drawn.paths)
        self.tally.n_anchors += len(drawn.vectors.ids) if drawn.vectors is not None else 0
        return drawn

    async def _vectors(self, drawn: Drawn, notes: list[str]) -> FloatArray:
        """Return the vectors of the readable drawings, or of the sample alone."""
        anchors, sample = drawn.vectors, self.settings.sample
        numbers = drawn.numbers or range(1, 1 + (len(drawn.paths) if anchors is None else len(anchors.ids)))
        rows = [row for row, number in enumerate(numbers) if sample in (None, number)]
        if sample is not None and numbers:
            notes.append(f"drawing {sample} alone" if rows else f"drawing {sample} is missing")
            if not rows and drawn.problem is None:
                self.tally.failures.append(BadInput(f"drawing {sample} is missing: there are {len(numbers)}"))
        if anchors is not None:
            if anchors.space != self.encoder.space:
                raise SpaceMismatch(expected=(self.encoder.space,), given=(anchors.space,))
            n = plural(len(rows), "reference photo")
            notes.append(f"anchors of {' and '.join(anchors.species)}, no drawing: {n} of the knowledge base")
            return anchors.vectors[rows]
        paths = [drawn.paths[row] for row in rows]
        if not paths:
            return np.zeros((0, 0), dtype=np.float32)
        notes.append(f"drawings: {', '.join(path.name for path in paths)}")
        async with self._encoding:
            return await asyncio.to_thread(self._encoded, paths, notes)

    def _encoded(self, paths: Sequence[Path], notes: list[str]) -> FloatArray:
        images = [JobImage(image_id=path.name, path=str(path.absolute()), score=0.0) for path in paths]
        found = self.similarity.encode_images(images)
        readable = [vector for vector in found if not isinstance(vector, str)]
        unread = [vector for vector in found if isinstance(vector, str)]
        if unread:
            self.tally.failures += map(BadImage, unread)
            notes.append(f"drawings left out: {'; '.join(unread)}")
        return np.stack(readable) if readable else np.zeros((0, 0), dtype=np.float32)
