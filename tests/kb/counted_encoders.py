"""Encoders that hash what they are given, and write down every text and picture: whoever encodes twice is seen."""

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
    """A `TextImageEncoder` of a made-up space; `max_tokens` counts words."""

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
    """Return a profile of these encoders."""
    return Encoders(profile=name, text_image=text_image, visual=visual, sentence=sentence)


def small(*, sentence: CountedEncoder | None = None) -> Encoders:
    """Return a profile of one encoder without a limit, which also compares pictures."""
    both = CountedEncoder("small")
    return profile("small", both, visual=both, sentence=sentence or CountedEncoder("words", dim=5))


def large(*, sentence: CountedEncoder | None = None) -> Encoders:
    """Return a profile of two encoders, of which one reads 12 words at most, and another one for pictures."""
    return profile(
        "large",
        CountedEncoder("long", dim=12, max_tokens=77),
        CountedEncoder("short", dim=6, max_tokens=12),
        visual=CountedEncoder("eye", dim=10),
        sentence=sentence or CountedEncoder("sentences", dim=7),
    )
