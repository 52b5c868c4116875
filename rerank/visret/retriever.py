"""VisRet as a retriever: a collection of photos is searched by the drawings of a query."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from data.arrays import FloatArray
from data.contracts import ImageCollection
from data.errors import NoEvidence, SpaceMismatch
from data.records import Job, RankedImage
from rerank.collection.queries import check_visible
from rerank.collection.retriever import ranked_rows
from rerank.visret.fusion import Scores, fuse
from rerank.visret.visualize import VisretTally, Visualizer


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
        share = None if seen.cost_usd is None or not found else seen.cost_usd / len(found)
        return [replace(row, evaluation=seen.note, cost_usd=share) for row in found]

    def _find(self, job: Job, drawings: FloatArray, k: int) -> list[RankedImage]:
        settings, collection = self._visualizer.settings, self._collection
        if not len(drawings):
            return ranked_rows(job.query_id, collection, self._by_text(job), k)
        rows = collection.scores(drawings)
        text = self._by_text(job) if settings.fusion == "with-text" else None
        scores = fuse(rows, fusion=settings.fusion, damping=settings.damping, text=text)
        return ranked_rows(job.query_id, collection, scores, k)

    def _by_text(self, job: Job) -> Scores:
        try:
            check_visible(job, self._visualizer.encoder)
        except NoEvidence as error:
            raise NoEvidence(f"The query was not drawn. {error}", hint=error.hint) from error
        scores: Scores = self._collection.scores(self._visualizer.similarity.encode_query(job)[None, :])[0]
        return scores
