"""Contracts of image and text encoders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray

if TYPE_CHECKING:
    from PIL.Image import Image


class Encoder(Protocol):
    """A model that makes vectors of one space."""

    @property
    def name(self) -> str:
        """A short name for people: `starter`, `ViT-L-14/openai`."""

    @property
    def space(self) -> str:
        """Model, revision and preprocessing in one string; vectors of different spaces are never compared."""

    @property
    def dim(self) -> int:
        """The length of a vector."""


@runtime_checkable
class ImageEncoder(Encoder, Protocol):
    """Makes vectors of pictures."""

    def encode_images(self, images: Sequence[Image]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows; a row does not depend on the rest of the batch."""


@runtime_checkable
class TrainedOnSpecies(Protocol):
    """Optional part of an image encoder: prototypes of the species in its training data."""

    def prototypes(self) -> tuple[tuple[str, ...], FloatArray]:
        """Return the scientific names and a float32 unit row for each, in the encoder's own space."""


@runtime_checkable
class TrainedOnPhotos(Protocol):
    """Optional part of an image encoder: hashes of its training photos, to be kept out of evaluations."""

    def photo_hashes(self) -> NDArray[np.uint64]:
        """Return the perceptual hash of each training photo (`recognize.evaluation.picture_hash`)."""


@runtime_checkable
class TextEncoder(Encoder, Protocol):
    """Makes vectors of texts."""

    @property
    def max_tokens(self) -> int | None:
        """The longest text it reads whole, in its own tokens; None if there is no limit."""

    def count_tokens(self, text: str) -> int:
        """Return how many of `max_tokens` the text takes."""

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows (zero where nothing was understood), independent of the batch."""


@runtime_checkable
class TextImageEncoder(ImageEncoder, TextEncoder, Protocol):
    """Makes vectors of texts and pictures in one space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoders:
    """The encoders of one profile: a knowledge base is built with them and asked with the same ones."""

    profile: str
    text_image: tuple[TextImageEncoder, ...]
    visual: ImageEncoder
    """Compares photos to anchors. It may be one of `text_image`."""
    sentence: TextEncoder
    """Compares texts to texts: terms and species by description."""

    @property
    def spaces(self) -> tuple[str, ...]:
        """All spaces, each once, in a fixed order: text-image, visual, sentence."""
        encoders: tuple[Encoder, ...] = (*self.text_image, self.visual, self.sentence)
        return tuple(dict.fromkeys(encoder.space for encoder in encoders))

    @property
    def anchor_spaces(self) -> tuple[str, ...]:
        """The spaces in which anchors have vectors: text-image, visual."""
        return tuple(dict.fromkeys((*(encoder.space for encoder in self.text_image), self.visual.space)))
