"""Similarity of images to the query in a text-image space: the baseline of all re-rankers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from PIL.Image import Image

from data.arrays import FloatArray, as_unit_rows
from data.contracts import TextImageEncoder
from data.errors import BadImage, BadInput
from data.images.decode import ENCODER_SIDE, read_image
from data.records import Job, JobImage, RankedImage
from rerank.photo_state import PhotoState, photo_state
from rerank.ranked_images import ScoredImage, first_stage_ranks, ranked_by_score
from rerank.tally import Tally


class SimilarityReranker:
    """Ranks images by their cosine to the query; a `Reranker`.

    The query is the text (with a reference image: the modification), the reference image, or the mean of both. An image
    that cannot be read is an error row behind all others. Equal scores and error rows keep first-stage order.

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
        self, encoder: TextImageEncoder, *, root: str | Path = ".", batch_size: int = 32, n_decoders: int = 2
    ) -> None:
        """Take the encoder.

        Args:
            encoder: a text-image encoder.
            root: folder of relative paths in jobs.
            batch_size: images encoded at once.
            n_decoders: threads that read images.
        """
        if batch_size < 1 or n_decoders < 1:
            raise ValueError(f"expected batch_size and n_decoders >= 1, got {batch_size} and {n_decoders}")
        self._encoder = encoder
        self._root = Path(root)
        self._batch_size = batch_size
        self._n_decoders = n_decoders
        self._vectors: dict[PhotoState, FloatArray] = {}
        self.tally = Tally()

    async def rank(self, job: Job) -> list[RankedImage]:
        """Return `rerank(job)`, computed in a thread."""
        return await asyncio.to_thread(self.rerank, job)

    def close(self) -> None:
        """Do nothing: no threads or files stay open."""

    def rerank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first.

        Raises:
            BadInput: if the job has neither text nor reference image, or lists an image twice.
            BadImage: if the reference image cannot be read.
        """
        ranks = first_stage_ranks(job)
        query = self._encode_query(job)
        errors: dict[int, str] = {}
        scored = [ScoredImage()] * len(job.candidates)
        for position, vector in self._encode(job.candidates, errors):
            # One by one: a matrix product may round equal rows differently, and ties must stay ties.
            scored[position] = ScoredImage(score=float(np.dot(vector, query)))
        for position, error in errors.items():
            scored[position] = ScoredImage(error=error)
        return ranked_by_score(job, scored, ranks)

    def _encode_query(self, job: Job) -> FloatArray:
        """Return the `(dim,)` unit vector of the query, zero if the encoder knows none of its words."""
        parts: list[FloatArray] = []
        text = (job.modification if job.reference_image else None) or job.text
        if text.strip():
            parts.append(self._encoder.encode_texts([text])[0])
        if job.reference_image is not None:
            picture = read_image(self._root / job.reference_image, min_side=ENCODER_SIDE)
            parts.append(self._encoder.encode_images([picture])[0])
        if not parts:
            raise BadInput(f"job {job.query_id} has neither text nor reference image")
        query: FloatArray = as_unit_rows([np.sum(parts, axis=0)])[0]
        return query

    def _encode(self, images: Sequence[JobImage], errors: dict[int, str]) -> Iterator[tuple[int, FloatArray]]:
        """Yield the vector of each readable image with its position; each image is encoded once."""
        paths = [self._root / image.path for image in images]
        states = [photo_state(path) for path in paths]
        yield from ((i, self._vectors[state]) for i, state in enumerate(states) if state in self._vectors)
        new = [i for i, state in enumerate(states) if state not in self._vectors]
        for positions, pictures in self._read(paths, new, errors):
            for position, vector in zip(positions, self._encoder.encode_images(pictures), strict=True):
                self._vectors[states[position]] = vector
                yield position, vector

    def _read(
        self, paths: Sequence[Path], wanted: Sequence[int], errors: dict[int, str]
    ) -> Iterator[tuple[list[int], list[Image]]]:
        """Yield full batches of readable images with their positions; add the others to `errors`."""

        def read(position: int) -> Image | BadImage:
            try:
                return read_image(paths[position], min_side=ENCODER_SIDE)
            except BadImage as error:
                return error

        positions: list[int] = []
        pictures: list[Image] = []
        with ThreadPoolExecutor(self._n_decoders) as pool:
            # In slices, so that at most two batches of images are in memory.
            for first in range(0, len(wanted), self._batch_size):
                batch = wanted[first : first + self._batch_size]
                for position, picture in zip(batch, pool.map(read, batch), strict=True):
                    if isinstance(picture, BadImage):
                        errors[position] = str(picture)
                        continue
                    positions.append(position)
                    pictures.append(picture)
                    if len(pictures) == self._batch_size:
                        yield positions, pictures
                        positions, pictures = [], []
        if pictures:
            yield positions, pictures
