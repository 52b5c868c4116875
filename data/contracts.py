"""Contracts between the packages: Protocols, batch first.

An implementation is any object with these methods; only `ArticleSource` is inherited. Laws that hold for every
implementation are tested in `tests/laws`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray
from data.records import (
    Anchor,
    AnchorImage,
    Article,
    ChatReply,
    ChatRequest,
    Detection,
    Failure,
    FetchedPage,
    Judgement,
    LeftOut,
    PageRef,
    Question,
    QuestionAnswer,
    SpeciesEntry,
    Taxon,
    Term,
    WebPassage,
)

if TYPE_CHECKING:
    from PIL.Image import Image

# --- models ----------------------------------------------------------------------------------------------------------


class ChatModel(Protocol):
    """A language or vision model. Many replies may be awaited at once; the model limits the number in flight."""

    @property
    def name(self) -> str:
        """The model and its provider, without secrets; part of fingerprints."""

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request.

        Raises:
            Refused: if the model declines to answer.
            CostStop: if the reply could exceed the cost limit; no request was sent.
            NotCached: if only cached replies are allowed and this one is not cached.
            SourceError: if the provider failed for good.
        """


class WebSearch(Protocol):
    """Finds passages on a question on the web or in a wiki."""

    @property
    def name(self) -> str:
        """The searched service, without secrets."""

    def search(self, question: str, *, n: int = 3) -> list[WebPassage]:
        """Return up to `n` passages with their sources, best first; empty if nothing was found."""


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
        """Return the perceptual hash of each training photo (`recognize.evaluation.picture_hash`)."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoders:
    """The encoders of a profile, for building a knowledge base and for querying it."""

    profile: str
    text_image: tuple[TextImageEncoder, ...]
    visual: ImageEncoder
    """Compares photos with anchors; may be one of `text_image`."""
    sentence: TextEncoder
    """Compares texts with texts: terms, and species by description."""

    @property
    def spaces(self) -> tuple[str, ...]:
        """All spaces, each once, in a fixed order: text-image, visual, sentence."""
        return tuple(dict.fromkeys((*self.anchor_spaces, self.sentence.space)))

    @property
    def anchor_spaces(self) -> tuple[str, ...]:
        """The spaces in which anchors have vectors: text-image, visual."""
        return tuple(dict.fromkeys((*(encoder.space for encoder in self.text_image), self.visual.space)))


# --- judges ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenImage:
    """An image in the form that a judge needs, prepared once for all questions: a JPEG file, or vectors."""

    jpeg: bytes = b""
    vectors: tuple[FloatArray, ...] = ()
    """One `(dim,)` unit vector for each encoder of the judge."""


class Judge(Protocol):
    """Answers yes/no questions about an image, with a probability."""

    @property
    def name(self) -> str:
        """Model and settings, without secrets; part of the cache key of its answers."""

    @property
    def costs_money(self) -> bool:
        """True if answers cost money, so that skipping questions saves some."""

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


# --- checklists and sources ------------------------------------------------------------------------------------------


class TaxonSource(Protocol):
    """A checklist of taxa."""

    @property
    def name(self) -> str:
        """Name and edition: `AviList 2025`."""

    def find(self, name: str) -> Taxon | None:
        """Return the taxon of any rank with that scientific or common name (case, hyphens and apostrophes ignored)."""

    def species_of(self, taxon: Taxon) -> list[Taxon]:
        """Return the species below a taxon in the order of the checklist; for a species, the species itself."""

    def suggest(self, name: str, n: int = 5) -> list[str]:
        """Return up to `n` similar names of the checklist, nearest first."""


class ArticleSource(ABC):
    """A source of articles and photos: a wiki, a folder, the shipped knowledge, a user's own additions.

    The defaults fit a source on the local disk. All iterators stream: each result is stored before the next is made.
    """

    # identity

    @property
    @abstractmethod
    def name(self) -> str:
        """Kind and place of the source, without secrets; part of every fingerprint."""

    @property
    @abstractmethod
    def parser(self) -> str:
        """Name and version of `parse`; a new version makes new summaries without fetching again."""

    @property
    def origin(self) -> Mapping[str, str]:
        """`kind` (wikipedia, folder, starter) and settings that open the source again; empty if it cannot be."""
        return {}

    @property
    def photo_rules(self) -> str:
        """Selection and size of photos; new rules make new anchors without fetching pages again."""
        return ""

    # pages

    @abstractmethod
    def locate(self, taxa: Sequence[Taxon]) -> Iterator[tuple[Taxon, PageRef | LeftOut]]:
        """Yield the page of each taxon, or why it has none; bodies are not fetched."""

    @abstractmethod
    def locate_terms(self, terms: Sequence[tuple[str, str | None]]) -> Iterator[tuple[str, PageRef | LeftOut]]:
        """Yield the page of each `(term, page title or None)`, or why it has none; `subject_id` is `term:SLUG`."""

    @abstractmethod
    def fetch(self, pages: Sequence[PageRef]) -> Iterator[tuple[PageRef, FetchedPage | LeftOut | Failure]]:
        """Yield the body of each page as it arrives, in any order.

        A page about another subject is left out; a page that does not arrive is a `Failure`.
        """

    @abstractmethod
    def parse(self, fetched: FetchedPage) -> Article:
        """Return the article in a body; pure: the same body gives the same article."""

    # photos and vectors

    @abstractmethod
    def fetch_anchors(
        self, articles: Sequence[tuple[str, Article]], *, limit: int
    ) -> Iterator[tuple[str, AnchorBatch | Failure]]:
        """Yield up to `limit` free photos for each `(subject_id, article)`, in the article's order."""

    def text_vector(self, subject_id: str, space: str) -> FloatArray | None:
        """Return the `(dim,)` float32 unit vector of a subject in a text-image space; None: encode its text.

        A source gives vectors where it may not show the full text from which they were made.
        """
        del subject_id, space
        return None

    # updates

    def newest(self, held: Sequence[tuple[Taxon | str, PageRef]]) -> Iterator[tuple[Taxon | str, PageRef | LeftOut]]:
        """Yield the current page of each `(taxon or term, its page so far)`, in this order.

        An unchanged page comes back unchanged; a subject without a page is left out. By default all are located again.
        """
        taxa = [subject for subject, _ in held if isinstance(subject, Taxon)]
        places = {taxon.taxon_id: place for taxon, place in self.locate(taxa)}
        for subject, page in held:
            if isinstance(subject, Taxon):
                yield subject, places[subject.taxon_id]
            else:
                yield from self.locate_terms([(subject, page.title)])

    def photo_versions(self, files: Sequence[str]) -> dict[str, str]:
        """Return file -> a text that changes with the photo, its author or its licence; empty for a missing file.

        By default {}: the revision of a page covers its photos.
        """
        del files
        return {}

    def reuse_photos(self, held: Mapping[str, Anchor]) -> None:
        """Let `fetch_anchors` reuse these anchors, by version of the photo, instead of downloading them again."""
        del held

    # cost

    @property
    def n_requests(self) -> int:
        """API requests so far, retries included, photos excluded."""
        return 0

    @property
    def n_photo_requests(self) -> int:
        """Photo downloads so far, retries included."""
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorBatch:
    """The photos of one article, and the skipped ones with reasons (`LeftOut.name` is the file)."""

    images: tuple[AnchorImage, ...]
    skipped: tuple[LeftOut, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    """File -> version, as in `ArticleSource.photo_versions`, of all photos that were considered."""


# --- knowledge bases -------------------------------------------------------------------------------------------------


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

    def check_space(self, spaces: Sequence[str]) -> None:
        """Raise `SpaceMismatch` unless every one of `spaces` is one of the store's."""
