"""Visualization of queries: an instruction, its drawings, and their vectors."""

from __future__ import annotations

import asyncio
from typing import Final

import numpy as np

from data.arrays import FloatArray
from data.contracts import ChatModel, TextImageEncoder
from data.errors import BadImage, BadInput, SourceError, SpaceMismatch, UsageError
from data.records import Job
from data.words import plural
from rerank.photo_vectors import encode_photos
from rerank.prompting import Prompts
from rerank.queries import query_of
from rerank.reranker import Tally, total_cost
from rerank.settings import VisretSettings
from rerank.similarity import Sought
from rerank.visret.generators import Drawn, Generator
from rerank.visret.instruction import MAX_WORDS, Instruction, InstructionWriter, cut_off

BY_TEXT: Final = "ranked by text similarity"


_WORDS: Final = {
    "drawn": ("drawing", "drawings"),
    "anchors": ("anchor of named species, no drawing", "anchors of named species, no drawings"),
}
_WARNED: Final = {
    "by_text": (
        "query could not be drawn and ranked by text similarity instead",
        "queries could not be drawn and ranked by text similarity instead",
    ),
    "with_fewer": ("query with fewer drawings than asked for", "queries with fewer drawings than asked for"),
    "long": (
        f"instruction of more than {MAX_WORDS} words; drawn whole",
        f"instructions of more than {MAX_WORDS} words; drawn whole",
    ),
}


class Visualizer:
    """Draws queries and encodes the drawings; a `Seeker` for texts and dialogues.

    Where a query cannot be drawn, its photos are ranked by the similarity of its text, which their rows and the report
    say; a provider that is down, or the cost limit, makes error rows instead, for the next run to complete.

    Source:
        VisRet (Wu et al., 2025), section 3.2 and appendix B: one instruction per query at temperature 0 (figures 6 to
        8), three images of it, cosine to each drawing, reciprocal rank fusion with lambda = 1. Differs: our own
        prompts, of which a query with an entity gets that of figure 7, another question that of figure 6 and any other
        query that of figure 8; a generator that refuses never becomes a black image, and a missing drawing is no copy
        of another one (both in the authors' code); ties keep first-stage order.
    """

    def __init__(
        self,
        encoder: TextImageEncoder,
        generator: Generator,
        *,
        text: ChatModel | None = None,
        settings: VisretSettings | None = None,
        prompts: Prompts | None = None,
    ) -> None:
        self._settings = settings or VisretSettings()
        self._encoder = encoder
        self._generator = generator
        self._writer = InstructionWriter(
            text, prompt=self._settings.prompt, is_tidy=self._settings.tidy, prompts=prompts
        )
        self.tally = Tally(words=_WORDS, warned=_WARNED)

    async def seek(self, job: Job) -> Sought:
        """Return the drawings of a query."""
        if job.reference_image is not None:
            raise UsageError("The method visret draws words; use --method similarity for a reference image.")
        notes: list[str] = []
        instruction = await self._instruction(job, notes)
        drawn = await self._drawn(job, instruction, notes)
        vectors = await self._vectors(drawn, notes)
        if not len(vectors):
            self.tally.warn("by_text", job.query_id)
            notes += [BY_TEXT, *cut_off(query_of(job).text, self._encoder)]
        cost = total_cost((instruction.cost_usd, drawn.cost_usd))
        return Sought(job=job, drawings=vectors, fusion=self._settings, note="; ".join(notes), cost_usd=cost)

    async def _instruction(self, job: Job, notes: list[str]) -> Instruction:
        if not self._generator.needs_instruction:
            return Instruction(text="", note="")
        made = await self._writer.write(job)
        notes.append(made.note)
        self.tally.counts["long"] += made.is_long
        if made.problem is not None:
            self.tally.failures.append(made.problem)
        return made

    async def _drawn(self, job: Job, instruction: Instruction, notes: list[str]) -> Drawn:
        """Return the drawings; none where the generator declines."""
        prompt, n = self._settings.prompt_of(instruction.text), self._settings.images
        try:
            drawn = await self._generator.draw(job, prompt, n)
        except SourceError as error:
            if error.retryable:
                raise
            drawn = Drawn(problem=error)
        if drawn.problem is not None:
            self.tally.failures.append(drawn.problem)
            if drawn.paths:
                self.tally.warn("with_fewer", job.query_id)
            found = f"{len(drawn.paths)} of {n} drawings" if drawn.paths else "not drawn"
            notes.append(f"{found}: {drawn.problem}")
        self.tally.counts["drawn"] += len(drawn.paths)
        self.tally.counts["anchors"] += len(drawn.vectors.ids) if drawn.vectors is not None else 0
        return drawn

    async def _vectors(self, drawn: Drawn, notes: list[str]) -> FloatArray:
        """Return the vectors of the readable drawings, or of the sample alone."""
        anchors, sample = drawn.vectors, self._settings.sample
        numbers = drawn.numbers or range(1, 1 + (len(drawn.paths) if anchors is None else len(anchors.ids)))
        rows = [row for row, number in enumerate(numbers) if sample in (None, number)]
        if sample is not None and numbers:
            notes.append(f"drawing {sample} alone" if rows else f"drawing {sample} is missing")
            if not rows and drawn.problem is None:
                self.tally.failures.append(BadInput(f"drawing {sample} is missing: there are {len(numbers)}"))
        if anchors is not None:
            if anchors.space != self._encoder.space:
                raise SpaceMismatch(expected=(self._encoder.space,), given=(anchors.space,))
            n = plural(len(rows), "reference photo")
            notes.append(f"anchors of {' and '.join(anchors.species)}, no drawing: {n} of the knowledge base")
            return anchors.vectors[rows]
        paths = [drawn.paths[row] for row in rows]
        if not paths:
            return np.zeros((0, 0), dtype=np.float32)
        notes.append(f"drawings: {', '.join(path.name for path in paths)}")
        found = await asyncio.to_thread(lambda: [each for some in encode_photos(self._encoder, paths) for each in some])
        readable = [each for each in found if not isinstance(each, BadImage)]
        unread = [each for each in found if isinstance(each, BadImage)]
        if unread:
            self.tally.failures += unread
            notes.append(f"drawings left out: {'; '.join(map(str, unread))}")
        return np.stack(readable) if readable else np.zeros((0, 0), dtype=np.float32)
