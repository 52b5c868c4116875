"""VisRet as a re-ranker: the query is drawn, and photos are ranked by their similarity to the drawings."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from data.arrays import FloatArray
from data.errors import CostStop, NoEvidence, NotCached, SourceError
from data.records import Job, RankedImage
from rerank.collection.queries import check_visible
from rerank.queries import query_of
from rerank.ranked_images import ScoredImage, error_rows, first_stage_ranks, ranked_by_score
from rerank.scheduling import current_query
from rerank.visret.fusion import Scores, fuse
from rerank.visret.visualize import VisretTally, Visualizer


class VisretReranker:
    """Ranks photos by drawings of the query; a `Reranker` for texts and dialogues.

    Where a query cannot be drawn, its photos are ranked by the similarity of its text, which their rows and the report
    say; a provider that is down, or the cost limit, makes error rows instead, for the next run to complete.

    Args:
        visualizer: draws the queries, with the settings of the method.

    Source:
        VisRet (Wu et al., 2025), section 3.2 and appendix B: one instruction per query at temperature 0 (figures 6 to
        8), three images of it, cosine to each drawing, reciprocal rank fusion with lambda = 1. Differs: our own
        prompts, of which a query with an entity gets that of figure 7, another question that of figure 6 and any other
        query that of figure 8; a generator that refuses never becomes a black image, and a missing drawing is no copy
        of another one (both in the authors' code); ties keep first-stage order.
    """

    def __init__(self, visualizer: Visualizer) -> None:
        self._visualizer = visualizer
        self._settings = visualizer.settings
        self._similarity = visualizer.similarity
        self._encoding = asyncio.Lock()

    @property
    def tally(self) -> VisretTally:
        """The counts so far."""
        return self._visualizer.tally

    def close(self) -> None:
        """Do nothing: no threads or files stay open."""

    async def rank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first.

        Raises:
            UsageError: for a composed query.
            BadInput: if the job has no words, or lists an image twice.
        """
        ranks = first_stage_ranks(job)
        query_of(job)
        current_query.set(job.query_id)
        if not ranks:
            return []
        try:
            seen = await self._visualizer.visualize(job)
            if not len(seen.vectors):
                check_visible(job, self._visualizer.encoder)
        except (SourceError, CostStop, NotCached, NoEvidence) as error:
            self.tally.failures.append(error)
            return error_rows(job, f"The query was not drawn. {error}" if isinstance(error, NoEvidence) else str(error))
        async with self._encoding:
            scored = await asyncio.to_thread(self._scored, job, seen.vectors, ranks)
        share = None if seen.cost_usd is None else seen.cost_usd / len(ranks)
        return ranked_by_score(job, [replace(each, evaluation=seen.note, cost_usd=share) for each in scored], ranks)

    def _scored(self, job: Job, drawings: FloatArray, ranks: Sequence[int]) -> list[ScoredImage]:
        """Return score or error of each candidate, in the order of the job."""
        found = self._similarity.encode_images(job.candidates)
        order = sorted(range(len(ranks)), key=ranks.__getitem__)
        seen = {i: vector for i in order if not isinstance(vector := found[i], str)}

        # One by one: a matrix product may round equal rows differently, and ties must stay ties.
        def cosines(query: FloatArray) -> Scores:
            return np.array([float(np.dot(vector, query)) for vector in seen.values()], dtype=np.float64)

        if len(drawings):
            rows = np.stack([cosines(vector) for vector in drawings])
            is_with_text = self._settings.fusion == "with-text"
            text = cosines(self._similarity.encode_query(job)) if is_with_text else None
            scores = fuse(rows, fusion=self._settings.fusion, damping=self._settings.damping, text=text)
        else:
            scores = cosines(self._similarity.encode_query(job))
        by_place = dict(zip(seen, scores.tolist(), strict=True))
        return [
            ScoredImage(error=vector) if isinstance(vector, str) else ScoredImage(score=by_place[i])
            for i, vector in enumerate(found)
        ]
