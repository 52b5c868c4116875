"""Retrievers: the best photos of a whole collection for a query."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from data.arrays import rank_descending
from data.contracts import ImageCollection, TextImageEncoder
from data.errors import SpaceMismatch
from data.records import Job, RankedImage
from rerank.collection.queries import check_visible
from rerank.similarity import SimilarityReranker


class Retriever(Protocol):
    """Finds photos of a collection."""

    @property
    def name(self) -> str:
        """The method."""

    async def find(self, job: Job, k: int) -> list[RankedImage]:
        """Return the best `k` photos of the collection for a query, whose job has no candidates.

        Rows by falling score, ties in the order of the collection, which `first_stage_rank` keeps for measures: it is
        `rank`. Photos that cannot be read are no rows.
        """


class SimilarityRetriever:
    """Finds the photos with the highest cosine to the query; a `Retriever`.

    The query is that of `rerank.SimilarityReranker`, which would rank all photos of the folder in the same order.

    Args:
        encoder: a text-image encoder of the space of the collection.
        collection: the photos.
        root: folder of the reference photos of queries.
    """

    name = "similarity"

    def __init__(self, encoder: TextImageEncoder, collection: ImageCollection, root: str | Path = ".") -> None:
        if encoder.space != collection.space:
            raise SpaceMismatch(expected=(collection.space,), given=(encoder.space,))
        self._encoder, self._collection = encoder, collection
        self._queries = SimilarityReranker(encoder, root=root)

    async def find(self, job: Job, k: int) -> list[RankedImage]:
        """Return the best `k` photos.

        Raises:
            BadInput: if the job has neither words nor a reference photo.
            BadImage: if the reference photo cannot be read.
            NoEvidence: if the encoder can see none of the words in photos.
        """
        return await asyncio.to_thread(self._find, job, k)

    def _find(self, job: Job, k: int) -> list[RankedImage]:
        check_visible(job, self._encoder)
        query = self._queries.encode_query(job)
        return ranked_rows(job.query_id, self._collection, self._collection.scores(query[None, :])[0], k)


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
