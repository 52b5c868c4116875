"""Corpus captioning: a collection of photos is searched by their captions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.contracts import ImageCollection
from data.errors import BadImage, SourceError
from data.records import Job, RankedImage
from rerank.captions.reranker import CaptionTally
from rerank.captions.scores import TextScorer
from rerank.captions.texts import Captioner
from rerank.collection.retriever import ranked_rows
from rerank.queries import query_of
from rerank.ranked_images import share_of, total_cost
from rerank.scheduling import all_of

N_OPEN: Final = 8  # captions at a time

OnCaption = Callable[[int, int, int], None]
"""Called with the numbers of photos captioned, in all, and without a caption."""


class CaptionRetriever:
    """Finds photos by the similarity of query and caption as texts; a `Retriever`.

    Every photo is captioned once, with the first query, whose rows share the cost; photos without a caption are never
    rows, and are counted.

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
        on_caption: OnCaption = lambda _done, _total, _failed: None,
    ) -> None:
        self._captioner, self._scorer, self._collection = captioner, scorer, collection
        self._on_caption = on_caption
        self._captions: list[str | None] | None = None
        self._turn = asyncio.Lock()
        self.tally = CaptionTally(scorer=scorer.name)

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
