"""Trained heads in NumPy: from photo features and texts to vectors.

The run-time half of the starter pair. Products run row by row, so that a vector does not depend on its batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from data.arrays import FloatArray, as_unit_rows
from recognize.starter.lexicon import N_PAIRS, pairs_of, sentences_of

_GELU: Final = np.float32(np.sqrt(2 / np.pi))


@dataclass(frozen=True, slots=True, kw_only=True)
class Heads:
    """All weights except the photo tower. Matrices are `(n_in, n_out)` float32."""

    words: tuple[str, ...]
    table: FloatArray
    """`(n_words, 384)`: the sentence model's vector of each word, times the weight of the word."""
    pair_weights: FloatArray
    """`(N_PAIRS,)`: rarity of each pair, 0 if absent in training."""
    text_words: FloatArray
    text_pairs: FloatArray
    text_bias: FloatArray
    text_out: FloatArray
    text_skip: FloatArray
    text_out_bias: FloatArray
    photo_mean: FloatArray
    photo_in: FloatArray
    photo_bias: FloatArray
    photo_out: FloatArray
    photo_skip: FloatArray
    photo_out_bias: FloatArray
    look_mean: FloatArray
    look: FloatArray
    """`(n_features, dim)`: the learned metric of species."""
    species: tuple[str, ...]
    """Scientific names of the prototypes."""
    prototypes: FloatArray
    """`(n_species, dim)` unit rows in the metric, one for each trained species."""

    def encode_looks(self, features: FloatArray) -> FloatArray:
        """Return `(n, dim)` unit rows of photo features `(n, n_features)`, for comparing photos."""
        return as_unit_rows(_rows(as_unit_rows(features) - self.look_mean, self.look))

    def encode_photos(self, features: FloatArray) -> FloatArray:
        """Return `(n, dim)` unit rows of photo features in the space shared with texts."""
        centred = self.encode_looks(features) - self.photo_mean
        hidden = gelu(_rows(centred, self.photo_in) + self.photo_bias)
        return as_unit_rows(_rows(hidden, self.photo_out) + _rows(centred, self.photo_skip) + self.photo_out_bias)

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Return `(n, dim)` unit rows of texts in the space shared with photos; zero if no word is known."""
        words = self.encode_words(texts)
        pairs = self.encode_pairs(texts)
        hidden = gelu(_rows(words, self.text_words) + _rows(pairs, self.text_pairs) + self.text_bias)
        out = _rows(hidden, self.text_out) + _rows(words, self.text_skip) + self.text_out_bias
        out[~words.any(axis=1)] = 0
        return as_unit_rows(out)

    def encode_words(self, texts: Sequence[str]) -> FloatArray:
        """Return `(n, 384)` unit rows, the weighted mean of the words of each text; zero if no word is known."""
        position = _positions(self.words)
        out = np.zeros((len(texts), self.table.shape[1]), dtype=np.float32)
        for row, text in enumerate(texts):
            counts = Counter(position[w] for words in sentences_of(text) for w in words if w in position)
            if counts:
                at = np.fromiter(sorted(counts), dtype=np.intp)
                amounts = np.log1p(np.array([counts[i] for i in at], dtype=np.float32))
                out[row] = amounts @ self.table[at]
        return as_unit_rows(out)

    def encode_pairs(self, texts: Sequence[str]) -> FloatArray:
        """Return `(n, N_PAIRS)` unit rows of the pairs of part and attribute in each text."""
        out = np.zeros((len(texts), N_PAIRS), dtype=np.float32)
        for row, text in enumerate(texts):
            counts = Counter(pair for words in sentences_of(text) for pair in pairs_of(words))
            for pair, count in counts.items():
                out[row, pair] = np.log1p(np.float32(count)) * self.pair_weights[pair]
        return as_unit_rows(out)


@lru_cache(maxsize=4)
def _positions(words: tuple[str, ...]) -> dict[str, int]:
    return {word: i for i, word in enumerate(words)}


def gelu(x: FloatArray) -> FloatArray:
    """Return the Gaussian error linear unit in its tanh form, as in training."""
    slope: FloatArray = 1 + np.tanh(_GELU * (x + np.float32(0.044715) * x**3))
    return np.float32(0.5) * x * slope


def _rows(x: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return `x @ matrix`, with rows independent of the batch: BLAS rounds a row differently in other batches."""
    product: FloatArray = np.einsum("ni,ij->nj", x, matrix)
    return product


def read_heads(path: Path) -> Heads:
    """Return the heads in a file of `training.starter.head_file`."""
    with np.load(path, allow_pickle=False) as stored:
        arrays: dict[str, FloatArray] = {}
        for field in fields(Heads):
            if field.name in ("words", "species"):
                continue
            array = np.ascontiguousarray(stored[field.name], dtype=np.float32)
            if f"{field.name}_scales" in stored:
                array *= stored[f"{field.name}_scales"][:, None]
            arrays[field.name] = array
        words = tuple(stored["words"].tobytes().decode().split("\n"))
        species = tuple(stored["species"].tobytes().decode().split("\n"))
    arrays["prototypes"] = as_unit_rows(arrays["prototypes"])
    return Heads(words=words, species=species, **arrays)
