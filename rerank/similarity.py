"""Ranks a job's images by their similarity to the query in a text-image space: the baseline of all re-rankers."""

from __future__ import annotations

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
from rerank.original_order import UNREADABLE_SCORE, first_stage_ranks
from rerank.photo_cache import RememberedPhotos


class SimilarityReranker:
    """Scores an image by its cosine to the query; a `Reranker`.

    The query is the text (with a reference image: the modification), the reference image, or the mean of the two where
    both are given. An image that cannot be read is an error row behind all others. Equal scores, and error rows among
    themselves, keep the order of the first stage.

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
        """Keep the encoder.

        Args:
            encoder: the text-image space.
            root: the folder that relative paths of a job start from.
            batch_size: how many images are encoded at once.
            n_decoders: how many threads read pictures.
        """
        if batch_size < 1 or n_decoders < 1:
            raise ValueError(f"expected batch_size and n_decoders >= 1, got {batch_size} and {n_decoders}")
        self._encoder = encoder
        self._root = Path(root)
        self._batch_size = batch_size
        self._n_decoders = n_decoders
        self._seen: RememberedPhotos[FloatArray] = RememberedPhotos()

    def rerank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first.

        Raises:
            BadInput: if the job has neither text nor reference image, or names an image twice.
            BadImage: if the reference image cannot be read.
        """
        ranks = first_stage_ranks(job)
        query = self._encode_query(job)
        errors: dict[int, str] = {}
        scores = np.full(len(job.candidates), UNREADABLE_SCORE)
        for position, vector in self._vectors(job.candidates, errors):
            # One by one: a matrix product may round equal rows differently, and ties must stay ties.
            scores[position] = np.dot(vector, query)
        order = sorted(
            range(len(scores)), key=lambda i: (i in errors, -scores[i] if i not in errors else 0.0, ranks[i])
        )
        return [
            RankedImage(
                query_id=job.query_id,
                image_id=job.candidates[i].image_id,
                rank=rank,
                score=round(float(scores[i]), 6),
                first_stage_rank=ranks[i],
                status="error" if i in errors else "ok",
                error=errors.get(i),
            )
            for rank, i in enumerate(order, start=1)
        ]

    def _encode_query(self, job: Job) -> FloatArray:
        """Return the `(dim,)` unit vector of the query, zero if the encoder understands nothing of it."""
        parts: list[FloatArray] = []
        text = (job.modification if job.reference_image else None) or job.text
        if text.strip():
            parts.append(self._encoder.encode_texts([text])[0])
        if job.reference_image is not None:
            picture = read_image(self._root / job.reference_image, min_side=ENCODER_SIDE)
            parts.append(self._encoder.encode_images([picture])[0])
        if not parts:
            raise BadInput(f"the job {job.query_id} has neither a text nor a reference image")
        query: FloatArray = as_unit_rows([np.sum(parts, axis=0)])[0]
        return query

    def _vectors(self, images: Sequence[JobImage], errors: dict[int, str]) -> Iterator[tuple[int, FloatArray]]:
        """Yield the vector of each readable picture with its position; a picture of many queries is encoded once."""
        new: list[int] = []
        for position, image in enumerate(images):
            seen = self._seen.get(self._root / image.path)
            if seen is None:
                new.append(position)
            else:
                yield position, seen
        unread: dict[int, str] = {}
        for places, pictures in self._read([images[position] for position in new], unread):
            for place, vector in zip(places, self._encoder.encode_images(pictures), strict=True):
                self._seen.put(self._root / images[new[place]].path, vector)
                yield new[place], vector
        errors.update({new[place]: error for place, error in unread.items()})

    def _read(self, images: Sequence[JobImage], errors: dict[int, str]) -> Iterator[tuple[list[int], list[Image]]]:
        """Yield full batches of readable pictures with their positions; note in `errors` what cannot be read."""

        def read(image: JobImage) -> Image | BadImage:
            try:
                return read_image(self._root / image.path, min_side=ENCODER_SIDE)
            except BadImage as error:
                return error

        positions: list[int] = []
        pictures: list[Image] = []
        with ThreadPoolExecutor(self._n_decoders) as pool:
            # In slices, so that no more than two batches of pictures are in memory.
            for first in range(0, len(images), self._batch_size):
                found = pool.map(read, images[first : first + self._batch_size])
                for position, picture in enumerate(found, start=first):
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
