"""Scores of texts for a query, and their sum with the scores of the first stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from data.contracts import TextEncoder


class TextScorer(Protocol):
    """Scores texts for a query; higher is better."""

    @property
    def name(self) -> str:
        """The model."""

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the `(n,)` scores of `n` texts."""


class SentenceScorer:
    """Cosines of query and texts by a sentence encoder; a text without a known word scores 0."""

    def __init__(self, encoder: TextEncoder) -> None:
        self._encoder = encoder

    @property
    def name(self) -> str:
        """The encoder."""
        return self._encoder.name

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the `(n,)` cosines."""
        if not texts:
            return np.zeros(0)
        rows = self._encoder.encode_texts(list(texts))
        asked = self._encoder.encode_texts([query])[0]
        # One by one: a matrix product may round equal rows differently, and ties must stay ties.
        return np.array([float(np.dot(row, asked)) for row in rows])


def bounded(scores: ArrayLike) -> NDArray[np.float64]:
    """Return scores divided by the size of the largest, if that is above 1: logits are then no lower than -1."""
    array = np.asarray(scores, dtype=np.float64)
    scaled: NDArray[np.float64] = array / max(1.0, float(np.abs(array).max(initial=0.0)))
    return scaled


def min_max(scores: ArrayLike) -> NDArray[np.float64]:
    """Return scores scaled to 0 to 1; equal scores become 0."""
    array = np.asarray(scores, dtype=np.float64)
    if not array.size or (low := array.min()) == (high := array.max()):
        return np.zeros(array.shape)
    scaled: NDArray[np.float64] = (array - low) / (high - low)
    return scaled
