"""Similarity of images to the query in a text-image space: the baseline of all re-rankers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Final

import numpy as np

from data.arrays import FloatArray, as_fixed_point, as_unit_rows, exact_cosines
from data.batches import grouped
from data.contracts import TextImageEncoder
from data.errors import BadImage
from data.images.decode import ENCODER_SIDE, read_image
from data.records import Job, JobImage, RankedImage
from rerank.photo_vectors import PhotoFile, encode_photos, photo_file
from rerank.queries import Query, query_of, reading_reference
from rerank.ranked_images import ScoredImage, error_rows, first_stage_ranks, ranked_by_score
from rerank.reranker import Tally
from rerank.visible_words import is_visible, nothing_seen

AT_A_TIME: Final = 4096  # vectors compared


@dataclass(slots=True, kw_only=True)
class SimilarityTally(Tally):
    """Counts of a run of similarity."""

    unseen: dict[str, str] = field(default_factory=dict)
    """Query id -> why its ranking means little."""

    def warnings(self) -> list[str]:
        """Return the queries of which the encoder sees nothing in photos."""
        return [f"query {query_id}: {why} The order means little." for query_id, why in self.unseen.items()]


class SimilarityReranker:
    """Ranks images by their cosine to the query; a `Reranker`.

    The query is the text, the turns of a dialogue joined by commas, a reference image, or the mean of a reference image
    and its modification, each a unit vector; this mean is ours. A dialogue that is too long for the encoder is the mean
    of its parts. An image that cannot be read is an error row behind all others; where the encoder reads no word, all
    are. Equal scores and error rows keep first-stage order.

    Args:
        encoder: a text-image encoder.
        root: folder of relative paths in jobs.
        vectors: of photos that were encoded before, by `rerank.photo_vectors.encode_ahead`.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from data.records import Job, JobImage
        >>> from recognize import load_encoders
        >>> encoder = load_encoders("starter").text_image[0]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for colour in ("blue", "red"):
        ...         Image.new("RGB", (48, 48), colour).save(Path(folder) / f"{colour}.png")
        ...     candidates = tuple(JobImage(image_id=c, path=f"{c}.png", score=0.5) for c in ("blue", "red"))
        ...     job = Job(query_id="q", text="a crimson bird", candidates=candidates)
        ...     [image.image_id for image in SimilarityReranker(encoder, root=folder).rerank(job)]
        ['red', 'blue']
    """

    def __init__(
        self,
        encoder: TextImageEncoder,
        *,
        root: str | Path = ".",
        vectors: Mapping[PhotoFile, FloatArray] | None = None,
    ) -> None:
        self._encoder = encoder
        self._root = Path(root)
        self._vectors: dict[PhotoFile, FloatArray] = dict(vectors or {})
        self.tally = SimilarityTally()

    async def rank(self, job: Job) -> list[RankedImage]:
        """Return `rerank(job)`, computed in a thread."""
        return await asyncio.to_thread(self.rerank, job)

    def close(self) -> None:
        """Do nothing: no threads or files stay open."""

    def rerank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first.

        Raises:
            BadInput: if the job has neither words nor a reference image, or lists an image twice.
            BadImage: if the reference image cannot be read.
        """
        ranks = first_stage_ranks(job)
        query = self.encode_query(job)
        if not np.any(query):
            error = nothing_seen(job, self._encoder)
            self.tally.failures.append(error)
            return error_rows(job, str(error))
        if job.reference_image is None and not is_visible(query_of(job).text, self._encoder):
            self.tally.unseen[job.query_id] = str(nothing_seen(job, self._encoder))
        found = self.encode_images(job.candidates)
        vectors = [vector for vector in found if not isinstance(vector, str)]
        # A few at a time, which changes no score: the sums are exact, and take three times the memory of the vectors.
        scores = chain.from_iterable(cosines(query, np.stack(some)) for some in grouped(vectors, AT_A_TIME))
        scored = [
            ScoredImage(error=each) if isinstance(each, str) else ScoredImage(score=next(scores)) for each in found
        ]
        return ranked_by_score(job, scored, ranks)

    def encode_query(self, job: Job) -> FloatArray:
        """Return the `(dim,)` unit vector of the query, zero if the encoder knows none of its words."""
        parts: list[FloatArray] = []
        if job.reference_image is None or (job.modification or job.text).strip():
            vectors = self._encoder.encode_texts(_pieces(query_of(job), self._encoder))
            parts.append(vectors[0] if len(vectors) == 1 else as_unit_rows([np.sum(vectors, axis=0)])[0])
        if job.reference_image is not None:
            with reading_reference(job):
                picture = read_image(self._root / job.reference_image, min_side=ENCODER_SIDE)
            parts.append(self._encoder.encode_images([picture])[0])
        query: FloatArray = as_unit_rows([np.sum(parts, axis=0)])[0]
        return query

    def encode_images(self, images: Sequence[JobImage]) -> list[FloatArray | str]:
        """Return the vector of each image, or the reason why it cannot be read; each image is encoded once."""
        files = [photo_file(self._root, image) for image in images]
        new = [file for file in dict.fromkeys(files) if file not in self._vectors]
        errors: dict[PhotoFile, str] = {}
        batches = encode_photos(self._encoder, [path for path, _ in new])
        for file, each in zip(new, chain.from_iterable(batches), strict=True):
            if isinstance(each, BadImage):
                errors[file] = str(each)
            else:
                self._vectors[file] = each
        return [errors.get(file) or self._vectors[file] for file in files]


def cosines(query: FloatArray, vectors: FloatArray) -> list[float]:
    """Return the cosine of each of `(n, dim)` vectors to a query; equal vectors have equal cosines."""
    found: list[float] = exact_cosines(as_fixed_point(query[None, :]), as_fixed_point(vectors))[0].tolist()
    return found


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
