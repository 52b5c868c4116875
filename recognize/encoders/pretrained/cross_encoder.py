"""Cross-encoders of sentence-transformers: a query and a text read together, scored by relevance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recognize.encoders.pretrained.loading import Loaded, TorchEncoder, loading, pick_device, require, revision_of


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
