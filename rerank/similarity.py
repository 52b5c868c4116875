"""Similarity of images to the query in a text-image space: the baseline of all re-rankers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import numpy as np
from PIL.Image import Image

from data.arrays import FloatArray, as_unit_rows
from data.contracts import TextImageEncoder
from data.errors import BadImage
from data.files import file_state
from data.images.decode import ENCODER_SIDE, read_image
from data.records import Job, JobImage, RankedImage
from rerank.queries import Query, query_of, reading_reference
from rerank.ranked_images import ScoredImage, first_stage_ranks, ranked_by_score
from rerank.tally import Tally

N_READERS: Final = 2  # threads that read photos

PhotoFile = tuple[Path, tuple[int, int] | None]
"""A photo and its state, the key of its vector."""


class SimilarityReranker:
    """Ranks images by their cosine to the query; a `Reranker`.

    The query is the text, the turns of a dialogue joined by commas, a reference image, or the mean of a reference image
    and its modification, each a unit vector; this mean is ours. A dialogue that is too long for the encoder is the mean
    of its parts. An image
    that cannot be read is an error row behind all others. Equal scores and error rows keep first-stage order.

    Args:
        encoder: a text-image encoder.
        root: folder of relative paths in jobs.
        batch_size: images encoded at once.

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

    def __init__(self, encoder: TextImageEncoder, *, root: str | Path = ".", batch_size: int = 32) -> None:
        if batch_size < 1:
            raise ValueError(f"expected batch_size >= 1, got {batch_size}")
        self._encoder = encoder
        self._root = Path(root)
        self._batch_size = batch_size
        self._vectors: dict[PhotoFile, FloatArray] = {}
        self.tally = Tally()

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
        # One by one: a matrix product may round equal rows differently, and ties must stay ties.
        scored = [
            ScoredImage(error=found) if isinstance(found, str) else ScoredImage(score=float(np.dot(found, query)))
            for found in self.encode_images(job.candidates)
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
        files = [(path, file_state(path)) for path in (self._root / image.path for image in images)]
        new = [file for file in dict.fromkeys(files) if file not in self._vectors]
        errors: dict[PhotoFile, str] = {}
        with ThreadPoolExecutor(N_READERS) as pool:
            for first in range(0, len(new), self._batch_size):  # in slices, so that one batch of images is in memory
                batch = new[first : first + self._batch_size]
                pictures: dict[PhotoFile, Image] = {}
                for file, found in zip(batch, pool.map(_read, batch), strict=True):
                    if isinstance(found, BadImage):
                        errors[file] = str(found)
                    else:
                        pictures[file] = found
                if pictures:
                    vectors = self._encoder.encode_images(list(pictures.values()))
                    self._vectors |= zip(pictures, vectors, strict=True)
        return [errors.get(file) or self._vectors[file] for file in files]


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


def _read(file: PhotoFile) -> Image | BadImage:
    try:
        return read_image(file[0], min_side=ENCODER_SIDE)
    except BadImage as error:
        return error
