"""Retrievers: the best photos of a whole collection by vectors, a re-ranked shortlist, or captions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, rank_descending
from data.batches import grouped
from data.contracts import ImageCollection, TextImageEncoder
from data.errors import BadImage, BadInput, SourceError, SpaceMismatch
from data.records import Job, JobImage, RankedImage
from rerank.captions import Captioner, TextScorer, caption_tally
from rerank.queries import check_visible, query_of
from rerank.reranker import Reranker, Tally, share_of, total_cost
from rerank.scheduling import all_of
from rerank.similarity import Seeker, SimilarityReranker, Sought


class Retriever(Protocol):
    """Finds photos of a collection."""

    @property
    def tally(self) -> Tally:
        """The counts so far."""

    async def find(self, job: Job, k: int) -> list[RankedImage]:
        """Return the best `k` photos of the collection for a query, whose job has no candidates.

        Rows by falling score, ties in the order of the collection, which `first_stage_rank` keeps for measures: it is
        `rank`. Photos that cannot be read are no rows.
        """


class SimilarityRetriever:
    """Finds the photos with the highest cosine to the query, or to drawings of it; a `Retriever`.

    The query is that of `rerank.SimilarityReranker`, which would rank all photos of the folder in the same order.
    """

    def __init__(
        self,
        encoder: TextImageEncoder,
        collection: ImageCollection,
        *,
        seeker: Seeker | None = None,
    ) -> None:
        if encoder.space != collection.space:
            raise SpaceMismatch(expected=(collection.space,), given=(encoder.space,))
        self._encoder, self._collection, self._seeker = encoder, collection, seeker
        self._queries = SimilarityReranker(encoder)
        self.tally = Tally() if seeker is None else seeker.tally

    async def find(self, job: Job, k: int) -> list[RankedImage]:
        """Return the best `k` photos."""
        sought = Sought(job=job) if self._seeker is None else await self._seeker.seek(job)
        found = await asyncio.to_thread(self._find, sought, k)
        share = share_of(sought.cost_usd, len(found))
        return [replace(row, evaluation=sought.note, cost_usd=share) for row in found]

    def _find(self, sought: Sought, k: int) -> list[RankedImage]:
        sought.check_text(self._encoder)
        if sought.drawings is None:
            check_visible(sought.job, self._encoder)
        scores = sought.scores(self._collection.scores, lambda: self._queries.encode_query(sought.job))
        return ranked_rows(sought.job.query_id, self._collection, scores, k)


def ranked_rows(query_id: str, collection: ImageCollection, scores: NDArray[np.float64], k: int) -> list[RankedImage]:
    """Return the rows of the `k` highest of the `(n,)` scores of a collection, ties in its order."""
    return [
        RankedImage(
            query_id=query_id,
            image_id=collection.ids[row],
            rank=rank,
            score=round(float(scores[row]), 6),
            first_stage_rank=rank,
        )
        for rank, row in enumerate(rank_descending(scores, k), start=1)
    ]


DEPTH: Final = 200
"""Photos that are judged, if no more are asked for."""
_AT_ONCE: Final = 8  # queries, whose scores are in memory together


class ShortlistRetriever:
    """Finds the photos nearest to any of the directions of a query, and ranks them by a re-ranker; a `Retriever`.

    The directions take turns: the shortlist has the first photo of each, then the second of each, and so on.

    Args:
        collection: the photos.
        directions: `(q, dim)` arrays of unit vectors in the space of the collection; a photo is as near to a direction
            as to the nearest of its vectors.
        reranker: judges the shortlist.
    """

    def __init__(self, collection: ImageCollection, directions: list[FloatArray], reranker: Reranker) -> None:
        self._collection, self._directions = collection, directions
        self._reranker = reranker

    @property
    def tally(self) -> Tally:
        """The counts of the re-ranker."""
        return self._reranker.tally

    async def find(self, job: Job, k: int) -> list[RankedImage]:
        """Return the best `k` photos of the shortlist; photos that can no longer be read are left out."""
        shortlist = await asyncio.to_thread(self._shortlist, max(k, DEPTH))
        ranked = await self._reranker.rank(replace(job, candidates=shortlist))
        rows = [row for row in ranked if row.status == "ok"]
        if not rows:
            raise BadInput(ranked[0].error or "No photo could be judged.")
        return rows[:k]

    def _shortlist(self, depth: int) -> tuple[JobImage, ...]:
        orders = [rank_descending(self._nearness(direction), depth).tolist() for direction in self._directions]
        rows = list(dict.fromkeys(row for turn in zip(*orders, strict=True) for row in turn))[:depth]
        ids = [self._collection.ids[row] for row in rows]
        return tuple(
            JobImage(image_id=image_id, path=str(self._collection.path(image_id)), score=-float(rank))
            for rank, image_id in enumerate(ids, start=1)
        )

    def _nearness(self, direction: FloatArray) -> NDArray[np.float64]:
        """Return the `(n,)` cosines of all photos to the nearest vector of a direction."""
        best = np.full(len(self._collection.ids), -np.inf)
        for queries in grouped(direction, _AT_ONCE):
            np.maximum(best, self._collection.scores(np.stack(queries)).max(axis=0), out=best)
        return best


N_OPEN: Final = 8  # captions at a time


class CaptionRetriever:
    """Finds photos by the similarity of query and caption as texts; a `Retriever`.

    Every photo is captioned once, with the first query, whose rows share the cost; photos without a caption are never
    rows, and are counted. `on_caption` is called with the numbers of photos captioned, in all, and without a caption.

    Source:
        VisRet (Wu et al., 2025), appendix B, corpus captioning: text-to-text retrieval over captions by BLIP-large of
        at least 10 tokens (`captions.captioner`). The paper names no text encoder; ours is the profile's sentence
        encoder.
    """

    def __init__(
        self,
        captioner: Captioner,
        scorer: TextScorer,
        collection: ImageCollection,
        *,
        on_caption: Callable[[int, int, int], None] = lambda _done, _total, _failed: None,
    ) -> None:
        self._captioner, self._scorer, self._collection = captioner, scorer, collection
        self._on_caption = on_caption
        self._captions: list[str | None] | None = None
        self._turn = asyncio.Lock()
        self.tally = caption_tally(scorer)

    async def find(self, job: Job, k: int) -> list[RankedImage]:
        """Return the best `k` photos."""
        query = query_of(job).text
        costs: list[float | None] = []
        async with self._turn:
            if self._captions is None:
                self._captions = await self._all_captions(costs)
            captions = self._captions
            rows = [row for row, caption in enumerate(captions) if caption is not None]
            scores: NDArray[np.float64] = np.full(len(captions), -np.inf)
            scores[rows] = await asyncio.to_thread(self._scorer.scores, query, [captions[row] or "" for row in rows])
        found = ranked_rows(job.query_id, self._collection, scores, min(k, len(rows)))
        texts = dict(zip(self._collection.ids, captions, strict=True))
        share = share_of(total_cost(costs), len(found))
        return [replace(row, evaluation=f"caption: {texts[row.image_id]}", cost_usd=share) for row in found]

    async def _all_captions(self, costs: list[float | None]) -> list[str | None]:
        ids, tally, n_done = self._collection.ids, self.tally, 0
        slots = asyncio.Semaphore(N_OPEN)

        async def caption(image_id: str) -> str | None:
            nonlocal n_done
            text = None
            async with slots:
                try:
                    made = await self._captioner.caption(self._collection.path(image_id))
                except (BadImage, SourceError) as error:
                    if error.retryable:
                        raise
                    tally.failures.append(error)
                    costs.append(getattr(error, "cost_usd", 0.0))
                else:
                    text = made.text
                    costs.append(made.cost_usd)
                    tally.counts["captions"] += 1
            n_done += 1
            self._on_caption(n_done, len(ids), len(tally.failures))
            return text

        captions = await all_of([caption(image_id) for image_id in ids])
        if tally.failures and not tally.counts["captions"]:
            raise tally.failures[0]
        return captions
