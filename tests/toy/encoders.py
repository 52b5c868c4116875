"""Untrained encoders of colours, layout and words: fast, in spaces of their own, and any test can predict them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL.Image import Image

from data.arrays import FloatArray, as_unit_rows
from data.contracts import Encoders
from recognize.general import ColourWords
from tests.toy.words import PlainWords

_COLOURS = ColourWords()
_SIDE = 8


class PlainColours:
    """A stand-in for a trained text-image model: the colours that a text names, and those of a picture."""

    name = "plain-colours"
    space = "fieldmark-plain-colours/1"
    dim = _COLOURS.dim
    max_tokens = 64

    def count_tokens(self, text: str) -> int:
        return _COLOURS.count_tokens(text)

    def encode_images(self, images: Sequence[Image]) -> FloatArray:
        return _COLOURS.encode_images(images)

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        return _COLOURS.encode_texts(texts)


class PlainLook:
    """A stand-in for a trained visual model: the colours of a picture and of its thumbnail, less their means."""

    name = "plain-look"
    space = "fieldmark-plain-look/1"
    dim = _COLOURS.dim + 3 * _SIDE * _SIDE

    def encode_images(self, images: Sequence[Image]) -> FloatArray:
        rows = np.zeros((len(images), self.dim), dtype=np.float32)
        for row, image in zip(rows, images, strict=True):
            pixels = np.asarray(image.convert("RGB").resize((_SIDE, _SIDE), reducing_gap=3.0), dtype=np.float32)
            layout = as_unit_rows(pixels.reshape(1, -1) - 127.5)[0]
            row[:] = np.concatenate([_COLOURS.encode_images([image])[0], layout])
        return as_unit_rows(rows)


def toy_encoders() -> Encoders:
    """Return toys in place of the encoders of `paper`, a profile whose weights nobody has to download for a test."""
    return Encoders(profile="paper", text_image=(PlainColours(),), visual=PlainLook(), sentence=PlainWords())


class Counting:
    """The toy text-image encoder, which counts photos."""

    def __init__(self) -> None:
        self._encoder, self.n_images = PlainColours(), 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)

    def encode_images(self, images: Sequence[Image]) -> FloatArray:
        self.n_images += len(images)
        return self._encoder.encode_images(images)
