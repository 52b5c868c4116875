"""Ranking of photos by drawings of the query: VisRet as a re-ranker, and as a retriever over a collection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from data.arrays import FloatArray
from data.contracts import ImageCollection
from data.errors import NoEvidence, SpaceMismatch
from data.records import Job, RankedImage
from rerank.collection.retriever import ranked_rows
from rerank.ranked_images import ScoredImage, error_rows, ranked_by_score, share_of
from rerank.reranker import FAILURES, begin
from rerank.settings import VisretSettings
from rerank.visible_words import check_visible
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
        ranks, _ = begin(job)
        if not ranks:
            return []
        try:
            seen = await self._visualizer.visualize(job)
            if not len(seen.vectors):
                check_visible(job, self._visualizer.encoder)
        except (*FAILURES, NoEvidence) as error:
            self.tally.failures.append(error)
            return error_rows(job, f"The query was not drawn. {error}" if isinstance(error, NoEvidence) else str(error))
        async with self._encoding:
            scored = await asyncio.to_thread(self._scored, job, seen.vectors, ranks)
        share = share_of(seen.cost_usd, len(ranks))
        return ranked_by_score(job, [replace(each, evaluation=seen.note, cost_usd=share) for each in scored], ranks)

    def _scored(self, job: Job, drawings: FloatArray, ranks: Sequence[int]) -> list[ScoredImage]:
        """Return score or error of each candidate, in the order of the job."""
        found = self._similarity.encode_images(job.candidates)
        order = sorted(range(len(ranks)), key=ranks.__getitem__)
        seen = {i: vector for i in order if not isinstance(vector := found[i], str)}

        # One by one: a matrix product may round equal rows differently, and ties must stay ties.
        def cosines(query: FloatArray) -> Scores:
            return np.array([float(np.dot(vector, query)) for vector in seen.values()], dtype=np.float64)

        drawn = np.stack([cosines(vector) for vector in drawings]) if len(drawings) else np.zeros((0, len(seen)))
        scores = _fused(self._visualizer.settings, drawn, lambda: cosines(self._similarity.encode_query(job)))
        by_place = dict(zip(seen, scores.tolist(), strict=True))
        return [
            ScoredImage(error=vector) if isinstance(vector, str) else ScoredImage(score=by_place[i])
            for i, vector in enumerate(found)
        ]


class VisretRetriever:
    """Finds photos by drawings of the query; a `Retriever`.

    A query that cannot be drawn is searched by its text, which the rows and the counts say.

    Args:
        visualizer: draws the queries with an encoder of the collection's space.
        collection: the photos.

    Raises:
        SpaceMismatch: if the collection has vectors of another encoder.

    Source:
        VisRet (Wu et al., 2025), section 3.2: image-to-image search for each drawing over the whole collection, then
        fusion; see `VisretReranker` for the differences.
    """

    name = "visret"

    def __init__(self, visualizer: Visualizer, collection: ImageCollection) -> None:
        if visualizer.encoder.space != collection.space:
            raise SpaceMismatch(expected=(collection.space,), given=(visualizer.encoder.space,))
        self._visualizer, self._collection = visualizer, collection

    @property
    def tally(self) -> VisretTally:
        """The counts so far."""
        return self._visualizer.tally

    async def find(self, job: Job, k: int) -> list[RankedImage]:
        """Return the best `k` photos.

        Raises:
            UsageError: for a composed query.
            BadInput: if the job has no words.
            NoEvidence: if the query cannot be drawn, and the encoder can see none of its words in photos.
            SourceError, CostStop, NotCached: if a model cannot be reached now.
        """
        seen = await self._visualizer.visualize(job)
        found = await asyncio.to_thread(self._find, job, seen.vectors, k)
        share = share_of(seen.cost_usd, len(found))
        return [replace(row, evaluation=seen.note, cost_usd=share) for row in found]

    def _find(self, job: Job, drawings: FloatArray, k: int) -> list[RankedImage]:
        collection = self._collection
        drawn = collection.scores(drawings) if len(drawings) else np.zeros((0, len(collection.ids)))
        scores = _fused(self._visualizer.settings, drawn, lambda: self._by_text(job))
        return ranked_rows(job.query_id, collection, scores, k)

    def _by_text(self, job: Job) -> Scores:
        try:
            check_visible(job, self._visualizer.encoder)
        except NoEvidence as error:
            raise NoEvidence(f"The query was not drawn. {error}", hint=error.hint) from error
        scores: Scores = self._collection.scores(self._visualizer.similarity.encode_query(job)[None, :])[0]
        return scores


def _fused(settings: VisretSettings, drawn: Scores, by_text: Callable[[], Scores]) -> Scores:
    """Return the scores by the `(m, n)` similarities of the drawings; without a drawing, those by the text."""
    if not len(drawn):
        return by_text()
    text = by_text() if settings.fusion == "with-text" else None
    return fuse(drawn, fusion=settings.fusion, damping=settings.damping, text=text)
