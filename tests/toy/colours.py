"""Untrained joint space of photos and descriptions: the colours of the upper, middle and lower bird."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from PIL.Image import Image

from data.arrays import FloatArray
from tests.toy.described_colours import N_REGIONS, count_words, find_colours
from tests.toy.foreground import find_subject
from tests.toy.palette import N_COLOURS, name_pixels

_DIM: Final = (1 + N_REGIONS) * N_COLOURS
_WHOLE_WEIGHT: Final = 1.5  # the colours of the whole bird are more certain than those of its parts
_FLOOR: Final = 0.02  # a colour that is not mentioned may be present


class PlainColours:
    """A stand-in for a trained text-image model, with sixteen colours.

    Pixels of photos and colour words of texts become shares of sixteen colours, in the whole bird and in its upper,
    middle and lower third. Square roots reduce the weight of large areas; subtracting the mean of photos or texts
    increases the weight of rare colours.

    Example:
        >>> from PIL import Image
        >>> encoder = PlainColours()
        >>> photo = encoder.encode_images([Image.new("RGB", (40, 40), (200, 20, 30))])
        >>> texts = encoder.encode_texts(["A crimson bird with a scarlet crown.", "Plumage blue, wings azure."])
        >>> red, blue = (photo @ texts.T)[0]
        >>> bool(red > blue)
        True
    """

    name = "plain-colours"
    space = "fieldmark-plain-colours/1"
    dim = _DIM
    max_tokens = 64

    def count_tokens(self, text: str) -> int:
        """Return the number of words."""
        return count_words(text)

    def encode_images(self, images: Sequence[Image]) -> FloatArray:
        """Return `(n, 64)` float32 unit rows, each from its own picture alone."""
        rows = np.zeros((len(images), _DIM), dtype=np.float32)
        for i, image in enumerate(images):
            subject = find_subject(image)
            named = name_pixels(subject.pixels)
            weights = np.stack([subject.weights, *subject.thirds], axis=1)  # (n_pixels, 4)
            shares = np.stack([(named * weights[:, [j]]).sum(axis=0) for j in range(1 + N_REGIONS)])
            rows[i] = _to_row(shares, _PHOTO_MEAN)
        return rows

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Return `(n, 64)` float32 unit rows; zero where a text names no colour."""
        rows = np.zeros((len(texts), _DIM), dtype=np.float32)
        for i, text in enumerate(texts):
            found = find_colours(text)
            if found.any():
                shares = np.concatenate([found.sum(axis=0, keepdims=True), found])
                totals = shares.sum(axis=1, keepdims=True)
                # A third without colour words has the colours of the whole.
                shares = np.where(totals > 0, shares / np.where(totals > 0, totals, 1), shares[0] / totals[0])
                rows[i] = _to_row(shares, _TEXT_MEAN)
        return rows


def _to_row(shares: FloatArray, mean: FloatArray) -> FloatArray:
    roots = np.sqrt(shares + _FLOOR) - mean
    roots[0] *= _WHOLE_WEIGHT
    row: FloatArray = roots.reshape(-1)
    length = np.sqrt((row * row).sum())
    return row / length if length > 0 else row


# The mean of `sqrt(share + _FLOOR)` by colour over 700 photos and 1,407 descriptions of birds, in the order of
# `COLOURS`; it hardly differs between the thirds.
_PHOTO_MEAN: Final[FloatArray] = np.array(
    (0.34, 0.26, 0.49, 0.42, 0.19, 0.30, 0.15, 0.16, 0.21, 0.35, 0.19, 0.15, 0.16, 0.15, 0.15, 0.24), dtype=np.float32
)
_TEXT_MEAN: Final[FloatArray] = np.array(
    (0.41, 0.48, 0.36, 0.34, 0.20, 0.18, 0.20, 0.18, 0.26, 0.20, 0.22, 0.15, 0.22, 0.16, 0.17, 0.17), dtype=np.float32
)
