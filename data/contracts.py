"""Contracts between the packages: Protocols, batch first.

An implementation is any object with these methods. Laws that hold for every implementation are tested in `tests/laws`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray
from data.records import (
    ChatReply,
    ChatRequest,
    Detection,
    Judgement,
    Question,
    QuestionAnswer,
    SpeciesEntry,
    Taxon,
    Term,
)

if TYPE_CHECKING:
    from PIL.Image import Image


class ChatModel(Protocol):
    """A language or vision model. Many replies may be awaited at once; the model limits the number in flight."""

    @property
    def name(self) -> str:
        """The model and its provider, without secrets; part of fingerprints."""

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the complete reply to one request; `text` is the answer alone, without reasoning.

        Raises:
            Refused: if the model declines to answer.
            CutOff: if the reply ended at its limit of tokens.
            CostStop: if the reply could exceed the cost limit; no request was sent.
            NotCached: if only cached replies are allowed and this one is not cached.
            SourceError: if the provider failed for good.
        """


class Detector(Protocol):
    """Finds animals in photos."""

    @property
    def name(self) -> str:
        """Model, revision and preprocessing in one string."""

    def detect(self, images: Sequence[Image]) -> list[tuple[Detection, ...]]:
        """Return the detections in each upright RGB photo, highest score first, with boxes in its pixels.

        The detections in a photo do not depend on the rest of the batch.
        """


class Encoder(Protocol):
    """A model that makes vectors of one space."""

    @property
    def name(self) -> str:
        """Short name for people: `starter`, `ViT-L-14/openai`."""

    @property
    def space(self) -> str:
        """Model, revision and preprocessing in one string; vectors of different spaces are never compared."""

    @property
    def dim(self) -> int:
        """Length of a vector."""


@runtime_checkable
class ImageEncoder(Encoder, Protocol):
    """Makes vectors of images."""

    def encode_images(self, images: Sequence[Image]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows; a row does not depend on the rest of the batch."""


@runtime_checkable
class TrainedOnSpecies(Protocol):
    """Optional part of an image encoder: prototypes of the species in its training data."""

    def prototypes(self) -> tuple[tuple[str, ...], FloatArray]:
        """Return the scientific names and a float32 unit row for each, in the encoder's own space."""


@runtime_checkable
class TrainedOnPhotos(Protocol):
    """Optional part of an image encoder: hashes of its training photos, to keep them out of evaluations."""

    def photo_hashes(self) -> NDArray[np.uint64]:
        """Return the perceptual hash of each training photo (`recognize.encoded_photos`)."""


@runtime_checkable
class TextEncoder(Encoder, Protocol):
    """Makes vectors of texts."""

    @property
    def max_tokens(self) -> int | None:
        """Longest text that is read in full, in the encoder's own tokens; None if there is no limit."""

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text."""

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows, independent of the batch; zero where no word is known."""


@runtime_checkable
class TextImageEncoder(ImageEncoder, TextEncoder, Protocol):
    """Makes vectors of texts and images in one space."""


@runtime_checkable
class SeesWords(Protocol):
    """Optional part of a text-image encoder trained on texts of one kind: the words that it can compare with photos."""

    def visible_words(self, text: str) -> tuple[str, ...]:
        """Return the words of a text that photos can bear out or refute; without any, its cosines say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoders:
    """The encoders of a profile, for building a knowledge base and for querying it."""

    profile: str
    text_image: tuple[TextImageEncoder, ...]
    visual: ImageEncoder
    """Compares photos with anchors; may be one of `text_image`."""
    sentence: TextEncoder
    """Compares texts with texts: terms, and species by description."""
    detector: Detector | None = None
    """Finds the birds in photos; without it photos are encoded whole. Not part of a space, but of anchors' marks."""
    observer: Detector | None = None
    """Names animals in photos that are encoded whole, where there is no `detector`; part of no vector."""

    @property
    def spaces(self) -> tuple[str, ...]:
        """All spaces, each once, in a fixed order: text-image, visual, sentence."""
        return tuple(dict.fromkeys((*self.anchor_spaces, self.sentence.space)))

    @property
    def anchor_spaces(self) -> tuple[str, ...]:
        """The spaces in which anchors have vectors: text-image, visual."""
        return tuple(dict.fromkeys((*(encoder.space for encoder in self.text_image), self.visual.space)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenImage:
    """An image in the form that a judge needs, prepared once for all questions: its file, or a JPEG."""

    path: Path | None = None
    jpeg: bytes = b""
    reference: bytes = b""
    """The reference photo of a composed query as a JPEG, shown before the image."""


class SpeciesScorer(Protocol):
    """Scores photos as showing species of a knowledge base; safe to call from several threads."""

    @property
    def name(self) -> str:
        """Name of the recognizer and of its state: under the same name, a photo has the same chances."""

    @property
    def is_calibrated(self) -> bool:
        """Whether the chances are calibrated; otherwise they rank photos and say no more."""

    def knows(self, taxon_id: str) -> bool:
        """Return whether a photo can be compared with the species: by description, reference photo or prototype."""

    def chance(self, path: Path, taxon_ids: Sequence[str]) -> float:
        """Return the chance, 0 to 1, that a photo shows one of these species.

        Raises:
            BadImage: if it cannot be read.
        """


class Judge(Protocol):
    """Answers yes/no questions about an image, with a probability."""

    @property
    def costs_money(self) -> bool:
        """True if answers cost money, so that skipping questions saves some."""

    @property
    def sees_references(self) -> bool:
        """True if the judge can be shown a reference photo beside the image."""

    def look(self, path: Path) -> SeenImage:
        """Return the image in the form that `judge` takes; may run in several threads at once.

        Raises:
            BadImage: if it cannot be read.
        """

    async def judge(
        self, image: SeenImage, question: Question, *, query: str, context: str, earlier: Sequence[QuestionAnswer]
    ) -> Judgement:
        """Return the answer to one question.

        Args:
            image: the result of `look`.
            question: the question.
            query: the query that the question belongs to.
            context: background on the words of the query; may be empty.
            earlier: earlier questions on the same image with their answers, in order; empty without chaining.

        Raises:
            SourceError: if a provider failed for good. A refusal of the model is not an error but a missing answer.
        """

    async def judge_together(
        self, image: SeenImage, questions: Sequence[Question], *, query: str, context: str
    ) -> list[Judgement] | None:
        """Return the answers to all questions from one call, the cost on the first; None if unsupported."""


class Checklist(Protocol):
    """A list of accepted taxa and all their names."""

    @property
    def name(self) -> str:
        """Name and edition: `AviList 2025`."""

    @property
    def digest(self) -> str:
        """SHA-256 of its files, which identifies the edition."""

    @property
    def group(self) -> str:
        """The group of organisms that it is limited to, such as `birds`; empty if it may have any."""
        return ""

    def top_taxa(self) -> list[Taxon]:
        """Return the taxa without a taxon above: all species lie below them."""

    def find(self, name: str) -> Taxon | None:
        """Return the taxon of any rank with that scientific or common name (case, hyphens and apostrophes ignored).

        None if no taxon has the name, or several (`homonyms`).
        """

    def homonyms(self, name: str) -> list[Taxon]:
        """Return the taxa that share a name; empty if at most one has it, as by default."""
        return []

    def also_called(self, name: str) -> list[Taxon]:
        """Return the species that people call by a name that is not the checklist's, the best known first."""
        return []

    def species_of(self, taxon: Taxon) -> list[Taxon]:
        """Return the species below a taxon in the order of the checklist; for a species, the species itself."""

    def species_ids(self, taxon: Taxon) -> Iterator[str]:
        """Yield the ids of the same species."""
        return (species.taxon_id for species in self.species_of(taxon))

    def n_species_of(self, taxon: Taxon) -> int:
        """Return their number."""
        return len(self.species_of(taxon))

    def suggest(self, name: str, n: int = 5) -> list[str]:
        """Return up to `n` similar names of the checklist, nearest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorTable:
    """The vectors of one collection: row i of `vectors` (mapped, read-only) is item `ids[i]` of species `owners[i]`.

    `owners` are positions in `KnowledgeStore.taxon_ids`, intp `(n,)`, ascending, so a species' rows lie together.
    """

    ids: tuple[str, ...]
    owners: IntArray
    vectors: FloatArray


class KnowledgeStore(Protocol):
    """A finished knowledge base, as recognition and look-ups read it."""

    @property
    def generation(self) -> str:
        """Name of the state of its species, texts and vectors, which every change of them replaces."""

    @property
    def path(self) -> Path:
        """The folder."""

    @property
    def spaces(self) -> tuple[str, ...]:
        """The encoder spaces of its vectors."""

    @property
    def taxon_ids(self) -> tuple[str, ...]:
        """All species, sorted by id; their positions are the species indices of every `VectorTable`."""

    def chunk_vectors(self, space: str) -> VectorTable:
        """Return the text vectors of all chunks in a text-image space."""

    def anchor_vectors(self, space: str) -> VectorTable:
        """Return the vectors of all anchors in a text-image or visual space."""

    def species(self, taxon_ids: Sequence[str]) -> list[SpeciesEntry]:
        """Return the entries of these species, in this order."""

    def chunk_texts(self, chunk_ids: Sequence[str]) -> list[str]:
        """Return the texts of these chunks, in this order."""

    def terms(self) -> list[Term]:
        """Return all terms, sorted by name."""

    def calibration_text(self, preset: str) -> str | None:
        """Return the JSON of its own calibration for a preset, if it has one."""

    def check_space(self, spaces: Sequence[str]) -> None:
        """Raise `SpaceMismatch` unless every one of `spaces` is one of the store's."""


class ImageCollection(Protocol):
    """The photos of a folder with their vectors in one space, unchanged from the moment when it was opened."""

    @property
    def space(self) -> str:
        """The encoder space of the vectors."""

    @property
    def ids(self) -> Sequence[str]:
        """Ids of the readable photos, sorted by path; the rows of all arrays are in this order."""

    @property
    def errors(self) -> Mapping[str, str]:
        """Id -> reason, for each photo that could not be read."""

    def path(self, image_id: str) -> Path:
        """Return the file of a photo, readable or not.

        Raises:
            BadInput: if the collection has no such photo.
        """

    def vectors(self, rows: IntArray) -> FloatArray:
        """Return the `(len(rows), dim)` float32 unit vectors of these rows."""

    def scores(self, queries: FloatArray) -> NDArray[np.float64]:
        """Return the `(q, n)` cosines of all photos to each of `(q, dim)` queries; equal vectors have equal scores."""
