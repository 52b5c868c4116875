"""Starter encoders of photos, texts and sentences."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray
from data.contracts import Encoders
from recognize.detect.nanodet import NanoDet
from recognize.starter.heads import Heads, read_heads
from recognize.starter.lexicon import sentences_of, visible_words
from recognize.starter.tower import IMAGE_PX, Tower

if TYPE_CHECKING:
    from PIL.Image import Image

TOWER_FILE: Final = "tower.onnx"
HEADS_FILE: Final = "heads.npz"
PHOTOS_FILE: Final = "photos.npy"
"""Perceptual hashes of the training photos, ascending."""
PREPROCESSING: Final = f"squeeze-{IMAGE_PX}-bicubic"


class Weights:
    """The shipped files, each read on first use."""

    def __init__(self) -> None:
        self.folder = Path(str(files("recognize.starter") / "weights"))
        self.tower = Tower(self.folder / TOWER_FILE)

    @cached_property
    def heads(self) -> Heads:
        """The trained heads."""
        return read_heads(self.folder / HEADS_FILE)

    @cached_property
    def revision(self) -> str:
        """12 hex digits of the SHA-256 of the heads."""
        return hashlib.sha256((self.folder / HEADS_FILE).read_bytes()).hexdigest()[:12]


@dataclass(frozen=True)
class StarterPair:
    """Texts and photos in one space of field marks."""

    weights: Weights
    name = "starter"
    max_tokens = None

    @property
    def space(self) -> str:
        """Both files and the preprocessing."""
        return f"fieldmark-starter-pair/{self.weights.tower.digest}-{self.weights.revision}/{PREPROCESSING}"

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return int(self.weights.heads.text_out.shape[1])

    def count_tokens(self, text: str) -> int:
        """Return the number of words; there is no limit."""
        return sum(map(len, sentences_of(text)))

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows, zero where no word is known."""
        return self.weights.heads.encode_texts(texts)

    def visible_words(self, text: str) -> tuple[str, ...]:
        """Return the looks in a text, the only words that training compared with photos."""
        return visible_words(text)

    def encode_images(self, images: Sequence[Image]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows."""
        return self.weights.heads.encode_photos(self.weights.tower.features(images))


@dataclass(frozen=True)
class StarterLook:
    """Photos in a learned metric of species, with prototypes of the trained species."""

    weights: Weights
    name = "starter-look"

    @property
    def space(self) -> str:
        """Both files and the preprocessing."""
        return f"fieldmark-starter-look/{self.weights.tower.digest}-{self.weights.revision}/{PREPROCESSING}"

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return int(self.weights.heads.look.shape[1])

    def encode_images(self, images: Sequence[Image]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows."""
        return self.weights.heads.encode_looks(self.weights.tower.features(images))

    def prototypes(self) -> tuple[tuple[str, ...], FloatArray]:
        """Return the scientific names of the trained species and their prototypes, unit rows."""
        return self.weights.heads.species, self.weights.heads.prototypes

    def photo_hashes(self) -> NDArray[np.uint64]:
        """Return the perceptual hashes of the training photos."""
        hashes: NDArray[np.uint64] = np.load(self.weights.folder / PHOTOS_FILE)
        return hashes


@dataclass(frozen=True)
class StarterWords:
    """Texts by the words in them, in the sentence model's space: a weighted mean, without the model."""

    weights: Weights
    name = "starter-words"
    max_tokens = None

    @property
    def space(self) -> str:
        """The file of the heads."""
        return f"fieldmark-starter-words/{self.weights.revision}"

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return int(self.weights.heads.table.shape[1])

    def count_tokens(self, text: str) -> int:
        """Return the number of words; there is no limit."""
        return sum(map(len, sentences_of(text)))

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows, zero where no word is known."""
        return self.weights.heads.encode_words(texts)


def load_starter() -> Encoders:
    """Return the starter's encoders; files are read on first use."""
    weights = Weights()
    return Encoders(
        profile="starter",
        text_image=(StarterPair(weights),),
        visual=StarterLook(weights),
        sentence=StarterWords(weights),
        detector=NanoDet(),
    )
