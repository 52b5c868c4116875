"""Hash encoders that count every text and picture, so that tests can detect repeated encoding."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from PIL.Image import Image

from data.arrays import FloatArray, as_unit_rows
from data.contracts import Encoders


@dataclass
class CountedEncoder:
    """A `TextImageEncoder` with an invented space; `max_tokens` counts words."""

    name: str
    dim: int = 8
    max_tokens: int | None = None
    seen: Counter[str] = field(default_factory=Counter)

    @property
    def space(self) -> str:
        return f"counted/{self.name}"

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        self.seen.update(texts)
        return self._rows([text.encode() for text in texts])

    def encode_images(self, images: Sequence[Image]) -> FloatArray:
        contents = [image.tobytes() for image in images]
        self.seen.update(hashlib.sha256(content).hexdigest() for content in contents)
        return self._rows(contents)

    def _rows(self, contents: Sequence[bytes]) -> FloatArray:
        seeds = [hashlib.sha256(self.space.encode() + content).digest() for content in contents]
        rows = [np.random.default_rng(list(seed)).normal(size=self.dim) for seed in seeds]
        return as_unit_rows(np.asarray(rows, dtype=np.float32).reshape(-1, self.dim))


def profile(name: str, *text_image: CountedEncoder, visual: CountedEncoder, sentence: CountedEncoder) -> Encoders:
    """Return a profile that consists of these encoders."""
    return Encoders(profile=name, text_image=text_image, visual=visual, sentence=sentence)


def small(*, sentence: CountedEncoder | None = None) -> Encoders:
    """Return a profile with one encoder, without a token limit, for texts and pictures."""
    both = CountedEncoder("small")
    return profile("small", both, visual=both, sentence=sentence or CountedEncoder("words", dim=5))


def large(*, sentence: CountedEncoder | None = None) -> Encoders:
    """Return a profile with two text encoders (one limited to 12 words) and a separate picture encoder."""
    return profile(
        "large",
        CountedEncoder("long", dim=12, max_tokens=77),
        CountedEncoder("short", dim=6, max_tokens=12),
        visual=CountedEncoder("eye", dim=10),
        sentence=sentence or CountedEncoder("sentences", dim=7),
    )
