"""Similarity of images to the query, or to drawings of it, in a text-image space: the baseline of all re-rankers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray, as_unit_rows, exact_cosines
from data.batches import grouped
from data.contracts import TextImageEncoder
from data.errors import BadImage, NoEvidence
from data.files import file_state
from data.images.decode import ENCODER_SIDE, read_image
from data.records import Job, JobImage, RankedImage
from rerank.photo_vectors import encode_photos
from rerank.queries import Query, check_visible, is_visible, nothing_seen, query_of, reading_reference
from rerank.reranker import FAILURES, Tally, error_rows, ranked_by_score, rows_of, share_of
from rerank.scheduling import current_query
from rerank.settings import DrawingFusion, VisretSettings

Scores = NDArray[np.float64]

AT_A_TIME: Final = 4096  # vectors compared
PAPER_DAMPING: Final = 1.0  # VisRet, appendix B; the default of the authors' code is 0, that of Cormack et al. 60
N_DIGITS: Final = 12  # sums of equal terms in another order must tie


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """A query as vectors are compared with it: by drawings of it, else by words and reference photo of its job."""

    job: Job
    drawings: FloatArray | None = None
    """`(m, dim)` unit rows; none: the query could not be drawn. None: no drawings are made of it."""
    fusion: VisretSettings | None = None
    """Fusion of the rankings by the drawings."""
    note: str | None = None
    """Note on the query for its rows."""
    cost_usd: float | None = 0.0

    @property
    def is_drawn(self) -> bool:
        """Whether there is a drawing to compare."""
        return self.drawings is not None and bool(len(self.drawings))

    def scores(self, cosines: Callable[[FloatArray], Scores], by_text: Callable[[], FloatArray]) -> Scores:
        """Return the `(n,)` scores of photos."""
        if self.drawings is None or self.fusion is None or not self.is_drawn:
            text: Scores = cosines(by_text()[None, :])[0]
            return text
        drawn = cosines(self.drawings)
        of_text = cosines(by_text()[None, :])[0] if self.fusion.fusion == "with-text" else None
        return fuse(drawn, fusion=self.fusion.fusion, damping=self.fusion.damping, text=of_text)

    def check_text(self, encoder: TextImageEncoder) -> None:
        """Refuse a query that was not drawn, and of whose words the encoder sees nothing."""
        if self.drawings is not None and not self.is_drawn:
            try:
                check_visible(self.job, encoder)
            except NoEvidence as error:
                raise NoEvidence(f"The query was not drawn. {error}", hint=error.hint) from error


class Seeker(Protocol):
    """Turns queries into what photos are compared with."""

    @property
    def tally(self) -> Tally:
        """The counts so far."""

    async def seek(self, job: Job) -> Sought:
        """Return the query of a job.

        Raises:
            UsageError, BadInput: if the query does not fit.
            SourceError, CostStop, NotCached: if a model cannot be reached now.
        """


class SimilarityReranker:
    """Ranks images by their cosine to the query, or to drawings of it; a `Reranker`.

    The query is the text, the turns of a dialogue joined by commas, a reference image, or the mean of a reference image
    and its modification, each a unit vector; this mean is ours. A dialogue that is too long for the encoder is the mean
    of its parts. An image that cannot be read is an error row behind all others; where the encoder reads no word, all
    are. Equal scores and error rows keep first-stage order.

    Args:
        encoder: a text-image encoder.
        seeker: rewrites or draws queries; by default they are compared as they are.
    """

    def __init__(self, encoder: TextImageEncoder, *, seeker: Seeker | None = None) -> None:
        self._encoder = encoder
        self._vectors: dict[tuple[Path, object], FloatArray] = {}
        self._seeker = seeker
        self._turn = asyncio.Lock()
        self.tally = Tally() if seeker is None else seeker.tally

    async def rank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first."""
        current_query.set(job.query_id)
        if not rows_of(job):
            return []
        try:
            sought = Sought(job=job) if self._seeker is None else await self._seeker.seek(job)
        except FAILURES as error:
            self.tally.failures.append(error)
            return error_rows(job, str(error))
        async with self._turn:
            return await asyncio.to_thread(self._ranked, job, sought)

    def _ranked(self, job: Job, sought: Sought) -> list[RankedImage]:
        try:
            rows = ranked_by_score(self._scored(job, sought))
        except NoEvidence as error:
            self.tally.failures.append(error)
            rows = error_rows(job, str(error))
        share = share_of(sought.cost_usd, len(rows))
        return [replace(row, evaluation=sought.note, cost_usd=share) for row in rows]

    def _scored(self, job: Job, sought: Sought) -> list[RankedImage]:
        """Return the row of each candidate with its score or error, in the order of the job."""
        rows = rows_of(job)
        sought.check_text(self._encoder)
        text = None if sought.is_drawn else self._text_of(sought)
        found = self.encode_images(job.candidates)
        # In first-stage order, which decides between equal ranks by a drawing.
        in_order = sorted(range(len(rows)), key=lambda i: rows[i].rank)
        seen = {i: each for i in in_order if not isinstance(each := found[i], str)}
        vectors = list(seen.values())
        if text is None:
            scores = sought.scores(lambda queries: products(queries, vectors), lambda: self.encode_query(sought.job))
        else:
            scores = cosines(text[None, :], vectors)[0]
        by_place = dict(zip(seen, scores.tolist(), strict=True))
        return [
            replace(row, error=each) if isinstance(each, str) else replace(row, score=by_place[i])
            for i, (row, each) in enumerate(zip(rows, found, strict=True))
        ]

    def _text_of(self, sought: Sought) -> FloatArray:
        """Return the `(dim,)` vector of words and reference photo."""
        query, job = self.encode_query(sought.job), sought.job
        if sought.drawings is None:
            if not np.any(query):
                raise nothing_seen(job, self._encoder)
            if job.reference_image is None and not is_visible(query_of(job).text, self._encoder):
                why = nothing_seen(job, self._encoder)
                self.tally.remarks.append(f"query {job.query_id}: {why} The order means little.")
        return query

    def encode_query(self, job: Job) -> FloatArray:
        """Return the `(dim,)` unit vector of the query, zero if the encoder knows none of its words."""
        parts: list[FloatArray] = []
        if job.reference_image is None or (job.modification or job.text).strip():
            vectors = self._encoder.encode_texts(_pieces(query_of(job), self._encoder))
            parts.append(vectors[0] if len(vectors) == 1 else as_unit_rows([np.sum(vectors, axis=0)])[0])
        if job.reference_image is not None:
            with reading_reference(job):
                picture = read_image(Path(job.reference_image), min_side=ENCODER_SIDE)
            parts.append(self._encoder.encode_images([picture])[0])
        query: FloatArray = as_unit_rows([np.sum(parts, axis=0)])[0]
        return query

    def encode_images(self, images: Sequence[JobImage]) -> list[FloatArray | str]:
        """Return the vector of each image, or the reason why it cannot be read; each image is encoded once."""
        files = [(path := Path(image.path), file_state(path)) for image in images]
        new = [file for file in dict.fromkeys(files) if file not in self._vectors]
        errors: dict[tuple[Path, object], str] = {}
        batches = encode_photos(self._encoder, [path for path, _ in new])
        for file, each in zip(new, chain.from_iterable(batches), strict=True):
            if isinstance(each, BadImage):
                errors[file] = str(each)
            else:
                self._vectors[file] = each
        return [errors.get(file) or self._vectors[file] for file in files]


def cosines(queries: FloatArray, vectors: Sequence[FloatArray]) -> Scores:
    """Return the `(q, n)` cosines of `n` vectors to `(q, dim)` queries; equal vectors have equal cosines."""
    # A few at a time, which changes no score: the sums are exact, and take three times the memory of the vectors.
    found = [exact_cosines(queries, np.stack(some)) for some in grouped(vectors, AT_A_TIME)]
    return np.concatenate(found, axis=1) if found else np.zeros((len(queries), 0))


def products(queries: FloatArray, vectors: Sequence[FloatArray]) -> Scores:
    """Return the `(q, n)` products of `n` vectors with `(q, dim)` drawings, one by one: ties must stay ties."""
    return np.array([[float(np.dot(vector, query)) for vector in vectors] for query in queries], dtype=np.float64)


def _pieces(query: Query, encoder: TextImageEncoder) -> list[str]:
    """Return the words of a query; a dialogue that is too long for the encoder in pieces of whole turns."""
    limit = encoder.max_tokens if query.turns else None
    if limit is None or encoder.count_tokens(query.text) <= limit:
        return [query.text]
    pieces: list[str] = []
    for turn in query.turns:
        longer = f"{pieces[-1]}, {turn}" if pieces else turn
        if pieces and encoder.count_tokens(longer) <= limit:
            pieces[-1] = longer
        else:
            pieces.append(turn)
    return pieces


def ranks_of(similarities: Scores) -> IntArray:
    """Return the rank of each image for each drawing, from 1; ties in the order of the images.

    Args:
        similarities: `(m, n)`, higher is better; the images in first-stage order, or in that of their collection.
    """
    order = np.argsort(-similarities, axis=1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(1, similarities.shape[1] + 1)[None, :], axis=1)
    return ranks


def fuse(
    similarities: Scores,
    *,
    fusion: DrawingFusion = "reciprocal-rank",
    damping: float = PAPER_DAMPING,
    text: Scores | None = None,
) -> Scores:
    """Return the `(n,)` fused scores of images, higher is better.

    Args:
        similarities: `(m, n)`, of each drawing to each image.
        fusion: `reciprocal-rank`: sum over the drawings of 1 / (damping + rank). `mean-similarity`: mean over the
            drawings, which is in the authors' code only. `with-text`, ours: the mean reciprocal rank over the drawings
            plus that by the text, so that all drawings together weigh as much as the text.
        damping: the paper's lambda.
        text: `(n,)` similarities of the query's text, for `with-text`.

    Source:
        VisRet (Wu et al., 2025), section 3.2 and appendix B: reciprocal rank fusion with lambda = 1. Differs: images
        equally similar to a drawing, and images of equal scores, keep first-stage order (in the authors' code, the
        later image goes first).
    """
    if fusion == "mean-similarity":
        scores: Scores = np.asarray(np.mean(similarities.astype(np.float64), axis=0))
    elif fusion == "reciprocal-rank":
        scores = np.sum(1.0 / (damping + ranks_of(similarities)), axis=0)
    else:
        assert text is not None
        drawn = np.mean(1.0 / (damping + ranks_of(similarities)), axis=0)
        scores = drawn + 1.0 / (damping + ranks_of(text[None, :])[0])
    fused: Scores = np.round(scores, N_DIGITS)
    return fused
