"""Vectors of queries: of their text, or moved by the marked images, as in Rocchio's relevance feedback."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from data.arrays import FloatArray, IntArray, as_unit_rows
from data.contracts import ImageCollection, TextEncoder
from data.errors import NoEvidence
from rerank.feedback.methods import ROCCHIO, FeedbackMethod, FeedbackSettings
from rerank.feedback.queries import encode_query, sampled
from rerank.feedback.session import Session


def rocchio(
    query: FloatArray,
    relevant: FloatArray,
    others: FloatArray,
    *,
    alpha: float = 1.0,
    beta: float = 0.75,
    gamma: float = 0.15,
) -> FloatArray:
    """Return the query moved towards the relevant images and away from the others, a `(dim,)` float32 unit vector.

    Args:
        query: `(dim,)`.
        relevant: `(n, dim)`; without rows, the term is left out.
        others: `(m, dim)`, judged as not relevant; likewise.
        alpha: weight of the query.
        beta: weight of the mean of the relevant images.
        gamma: weight of the mean of the others.

    Source:
        Rocchio (1971), with the weights of Zhu et al. (ICMR 2024), section 4.3. Cosines do not depend on the length, so
        the result is a unit vector.

    Example:
        >>> import numpy as np
        >>> rocchio(np.float32([1, 0]), np.float32([[0, 1]]), np.float32([[1, 0]]), beta=0.85).tolist()
        [0.7071067690849304, 0.7071067690849304]
    """
    moved = alpha * np.asarray(query, dtype=np.float64)
    if len(relevant):
        moved = moved + beta * np.mean(relevant, axis=0, dtype=np.float64)
    if len(others):
        moved = moved - gamma * np.mean(others, axis=0, dtype=np.float64)
    unit: FloatArray = as_unit_rows(moved[None, :])[0].astype(np.float32)
    return unit


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSpecies:
    """Species that a query names."""

    names: str
    vector: FloatArray
    """`(dim,)` unit vector of their reference photos and descriptions."""
    is_whole: bool
    """Whether the query has no other words to search by."""


FindNames = Callable[[str], NamedSpecies | None]
"""Query -> the species that it names."""


class QueryVectors:
    """Makes the vector of a search.

    Args:
        encoder: encodes the text.
        collection: the photos.
        rows: image id -> row of the collection.
        method: methods of Rocchio move the vector.
        settings: Rocchio's weights and readings, and the limit of tokens.
    """

    def __init__(
        self,
        encoder: TextEncoder,
        collection: ImageCollection,
        rows: Mapping[str, int],
        *,
        method: FeedbackMethod,
        settings: FeedbackSettings,
    ) -> None:
        self._encoder, self._collection, self._rows = encoder, collection, rows
        self._method, self._settings = method, settings

    def of(self, session: Session, text: str, named: NamedSpecies | None = None) -> tuple[FloatArray, int]:
        """Return the `(dim,)` vector of the next search of a session by a text, and the number of words left out.

        Species that the text names are searched by their own vector, half and half with the text if that says more.

        Raises:
            NoEvidence: if the encoder knows no word of the text.
        """
        vector, n_cut = encode_query(text, self._settings.max_tokens, self._encoder)
        if named is not None:
            vector = named.vector if named.is_whole else as_unit_rows([vector + named.vector])[0]
        if not vector.any():
            raise NoEvidence(
                f'The encoder {self._encoder.name} knows no word of the query "{text[:60]}".',
                hint="Describe the photos in English, such as: a red bird with a black face.",
            )
        numbers = [number for number, turn in enumerate(session.turns) if turn.relevant]
        is_text = self._method == "rocchio-then-text" and len(numbers) > 1
        if self._method not in ROCCHIO or not numbers or is_text:
            return vector, n_cut
        if self._settings.rocchio_from == "original":
            # Turns after the last relevant image change nothing, as in the methods of text.
            return self._moved(session, vector, range(numbers[-1] + 1)), n_cut
        for number in numbers:
            vector = self._moved(session, vector, [number])
        return vector, n_cut

    def _moved(self, session: Session, vector: FloatArray, numbers: Sequence[int]) -> FloatArray:
        settings, near, far = self._settings, list[str](), list[str]()
        for number in numbers:
            turn = session.turns[number]
            relevant = turn.relevant or ()
            near += sampled(session, number) if settings.rocchio_relevant == "sampled" else relevant
            far += (image_id for image_id in turn.ids if image_id not in relevant)
        return rocchio(
            vector,
            self._vectors_of(near),
            self._vectors_of(far),
            alpha=settings.alpha,
            beta=settings.beta,
            gamma=settings.gamma,
        )

    def _vectors_of(self, image_ids: Sequence[str]) -> FloatArray:
        """Return the vectors of the images that are still in the collection."""
        rows: IntArray = np.array([self._rows[each] for each in image_ids if each in self._rows], dtype=np.intp)
        return self._collection.vectors(rows)
