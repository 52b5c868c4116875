"""Baseline of VisRet: the query rewritten by a model, then compared with photos as a text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from data.contracts import TextEncoder
from data.errors import UsageError
from data.records import Job, RankedImage
from data.words import plural
from rerank.ranked_images import error_rows, share_of
from rerank.reranker import FAILURES, Tally, begin
from rerank.similarity import SimilarityReranker
from rerank.visret.instruction import Instruction, InstructionWriter, cut_off

if TYPE_CHECKING:
    from rerank.collection.retriever import Retriever


@dataclass(slots=True, kw_only=True)
class RewriteTally(Tally):
    """Count of rewritten queries."""

    n_rewritten: int = 0

    def lines(self) -> list[str]:
        """Return the count in words."""
        return [plural(self.n_rewritten, "rewritten query", "rewritten queries")]


class Rewriter:
    """Rewrites the query of a job by the instruction that VisRet would draw.

    Args:
        writer: writes instructions.
        encoder: reads the rewritten query; longer ones are cut off, which the note says.

    Source:
        VisRet (Wu et al., 2025), appendix B, "LLM rephrase": the prompts and temperature of the instructions.
    """

    def __init__(self, writer: InstructionWriter, encoder: TextEncoder) -> None:
        self._writer, self._encoder = writer, encoder
        self.tally = RewriteTally()

    async def rewrite(self, job: Job) -> tuple[Job, Instruction]:
        """Return the job with the rewritten query.

        Raises:
            UsageError: for a composed query.
            SourceError, CostStop, NotCached: if the model cannot be reached now.
        """
        if job.reference_image is not None:
            raise UsageError("The method rewrite takes words; use --method similarity for a reference image.")
        made = await self._writer.write(job)
        if made.problem is None:
            self.tally.n_rewritten += 1
        else:
            self.tally.failures.append(made.problem)
        note = "; ".join([made.note, *cut_off(made.text, self._encoder)])
        return replace(job, text=made.text, dialogue=None), replace(made, note=note)


class RewriteReranker:
    """Ranks images by their cosine to the rewritten query; a `Reranker`.

    Args:
        rewriter: writes the query.
        similarity: compares it with the images.
    """

    def __init__(self, rewriter: Rewriter, similarity: SimilarityReranker) -> None:
        self._rewriter, self._similarity = rewriter, similarity

    @property
    def tally(self) -> RewriteTally:
        """The counts so far."""
        return self._rewriter.tally

    def close(self) -> None:
        """Do nothing: no threads or files stay open."""

    async def rank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first."""
        ranks, _ = begin(job)
        if not ranks:
            return []
        try:
            rewritten, made = await self._rewriter.rewrite(job)
        except FAILURES as error:
            self.tally.failures.append(error)
            return error_rows(job, str(error))
        rows = await self._similarity.rank(rewritten)
        self.tally.failures += self._similarity.tally.failures
        self._similarity.tally.failures.clear()
        return [replace(row, evaluation=made.note, cost_usd=share_of(made.cost_usd, len(rows))) for row in rows]


class RewriteRetriever:
    """Finds photos of a collection by the rewritten query; a `Retriever`.

    Args:
        rewriter: writes the query.
        similarity: finds photos by a text.
    """

    name = "rewrite"

    def __init__(self, rewriter: Rewriter, similarity: Retriever) -> None:
        self._rewriter, self._similarity = rewriter, similarity

    @property
    def tally(self) -> RewriteTally:
        """The counts so far."""
        return self._rewriter.tally

    async def find(self, job: Job, k: int) -> list[RankedImage]:
        """Return the best `k` photos.

        Raises:
            SourceError, CostStop, NotCached: if the model cannot be reached now.
        """
        rewritten, made = await self._rewriter.rewrite(job)
        found = await self._similarity.find(rewritten, k)
        share = share_of(made.cost_usd, len(found))
        return [replace(row, evaluation=made.note, cost_usd=share) for row in found]
