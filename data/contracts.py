"""What others must offer: the contracts between the packages, batch first.

An implementation is any object with these methods; nothing is inherited. Laws that hold for every implementation are
tested in `tests/laws`.
"""

from __future__ import annotations

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
    Failure,
    FetchedPage,
    Job,
    Judgement,
    LeftOut,
    PageRef,
    Question,
    QuestionAnswer,
    RankedImage,
    SpeciesEntry,
    Taxon,
    Term,
    WebPassage,
)

if TYPE_CHECKING:
    from PIL.Image import Image


# --- encoders ----------------------------------------------------------------------------------------------------


class Encoder(Protocol):
    """Something that makes vectors of one space."""

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
    """What an image encoder may offer besides: where the photos of the species it was trained on lie."""

    def prototypes(self) -> tuple[tuple[str, ...], FloatArray]:
        """Return the scientific names and a float32 unit row for each, in the encoder's own space."""


@runtime_checkable
class TrainedOnPhotos(Protocol):
    """What an image encoder may offer besides: by what to tell the photos it was trained on, which measure nothing."""

    def photo_hashes(self) -> NDArray[np.uint64]:
        """Return the perceptual hash of each of these photos, as `recognize.leaks.picture_hash` makes it."""


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


# --- sources -----------------------------------------------------------------------------------------------------


class TaxonSource(Protocol):
    """A checklist of taxa."""

    @property
    def name(self) -> str:
        """Name and edition: `AviList 2025`."""

    def find(self, name: str) -> Taxon | None:
        """Return the taxon of any rank with that scientific or common name (case, hyphens and apostrophes ignored)."""

    def species_of(self, taxon: Taxon) -> list[Taxon]:
        """Return the species below a taxon in the order of the checklist; a species gives itself."""

    def suggest(self, name: str, n: int = 5) -> list[str]:
        """Return up to `n` names of the checklist that look like `name`, nearest first."""


class ArticleSource(Protocol):
    """Where articles and photos come from. All methods stream, so that each result is safe before the next is there."""

    @property
    def name(self) -> str:
        """What it is and where, without secrets; part of every fingerprint."""

    @property
    def parser(self) -> str:
        """Name and version of what `parse` does; another one makes summaries anew, without fetching again."""

    def locate(self, taxa: Sequence[Taxon]) -> Iterator[tuple[Taxon, PageRef | LeftOut]]:
        """Yield for each taxon its page or why it has none; bodies are not fetched."""

    def locate_terms(self, terms: Sequence[tuple[str, str | None]]) -> Iterator[tuple[str, PageRef | LeftOut]]:
        """Yield for each `(term, page title or None)` its page or why it has none; `subject_id` is `term:SLUG`."""

    def fetch(self, pages: Sequence[PageRef]) -> Iterator[tuple[PageRef, FetchedPage | LeftOut | Failure]]:
        """Yield each page's body as it arrives, in any order.

        A page that turns out not to be about its subject is left out; one that cannot be had is a `Failure`.
        """

    def parse(self, fetched: FetchedPage) -> Article:
        """Return the article in a body; pure: the same body gives the same article."""

    def fetch_anchors(
        self, articles: Sequence[tuple[str, Article]], *, limit: int
    ) -> Iterator[tuple[str, AnchorBatch | Failure]]:
        """Yield for each `(subject_id, article)` up to `limit` free photos, in the article's order."""


@runtime_checkable
class GivesTextVectors(Protocol):
    """What a source may be besides: one with vectors of texts that may not be shown; its short texts stand for them."""

    def text_vector(self, subject_id: str, space: str) -> FloatArray | None:
        """Return the `(dim,)` float32 unit vector of all that is said of a subject in a text-image space, or None."""


@runtime_checkable
class HasOrigin(Protocol):
    """What a source may be besides: one that can be opened again by what is noted of it."""

    @property
    def origin(self) -> Mapping[str, str]:
        """`kind` (wikipedia, folder, starter) and the settings that make it this source; never a secret."""


@runtime_checkable
class CountsRequests(Protocol):
    """What a source may be besides: one that says how often it has asked somebody else."""

    @property
    def requests_made(self) -> int:
        """API requests so far, tries included, photos apart."""

    @property
    def photos_asked(self) -> int:
        """Photos asked for so far, tries included."""


@runtime_checkable
class ChoosesPhotos(Protocol):
    """What a source may be besides: one whose photos depend on more than the page that shows them."""

    @property
    def photo_rules(self) -> str:
        """Which photos it takes and how large; other rules make anchors anew, without fetching pages again."""


@runtime_checkable
class TellsChanges(Protocol):
    """What a source may be besides: one that says what is new without sending bodies and photos again."""

    def newest(self, held: Sequence[tuple[Taxon | str, PageRef]]) -> Iterator[tuple[Taxon | str, PageRef | LeftOut]]:
        """Yield for each taxon or term and the page that it had, in this order, the page that it has now.

        A page that did not change comes back as it was; a subject that has none any more is left out.
        """

    def photo_versions(self, files: Sequence[str]) -> dict[str, str]:
        """Return file -> a text that changes when the photo, its author or its licence does; empty for no such file."""

    def reuse_photos(self, held: Mapping[str, Anchor]) -> None:
        """Take these anchors, by the version of their photo, for what `fetch_anchors` would download once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorBatch:
    """The photos of one article: those taken, and why the others were not (`LeftOut.name` is the file)."""

    images: tuple[AnchorImage, ...]
    skipped: tuple[LeftOut, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    """File -> version (as `TellsChanges.photo_versions` has it) of the photos that were looked at."""


# --- models behind endpoints -------------------------------------------------------------------------------------


class ChatModel(Protocol):
    """A language or vision model. Many replies may be awaited at once; how many are in flight is its own matter."""

    @property
    def name(self) -> str:
        """The model and its provider, without secrets; part of fingerprints."""

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request.

        Raises:
            Refused: if the model will not answer.
            CostStop: if the reply could pass the limit of cost; nothing was asked.
            NotCached: if replies may only come from the cache, and this one is not there.
            SourceError: if the provider failed for good.
        """


class WebSearch(Protocol):
    """Finds passages on a question in the web, or in a wiki."""

    @property
    def name(self) -> str:
        """What is searched, without secrets."""

    def search(self, question: str, *, n: int = 3) -> list[WebPassage]:
        """Return up to `n` passages, best first, each with its source; empty if nothing was found."""


# --- store -------------------------------------------------------------------------------------------------------


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
        """The encoder spaces it was built in."""

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


# --- re-ranking --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenImage:
    """An image as a judge takes it, made once for all questions: a picture file for endpoints, vectors for encoders."""

    jpeg: bytes = b""
    vectors: tuple[FloatArray, ...] = ()
    """One `(dim,)` unit vector for each encoder of the judge."""


class Judge(Protocol):
    """Says how probable it is that an image shows what a question asks for."""

    @property
    def name(self) -> str:
        """What judges and how, without secrets; part of the key under which answers are kept."""

    def look(self, path: Path) -> SeenImage:
        """Return the image as the judge takes it; may be called in several threads at once.

        Raises:
            BadImage: if it cannot be read.
        """

    async def judge(
        self, image: SeenImage, question: Question, *, query: str, context: str, earlier: Sequence[QuestionAnswer]
    ) -> Judgement:
        """Return the answer to one question.

        Args:
            image: what `look` gave.
            question: the question.
            query: the query that the question is about.
            context: what is known of the words of the query; may be empty.
            earlier: questions on the same image that were answered before, in order; empty without chaining.

        Raises:
            SourceError: if a provider failed for good. A model that declines is no failure: it could not tell.
        """


@runtime_checkable
class JudgesTogether(Protocol):
    """What a judge may do besides: answer all questions on an image at once."""

    async def judge_together(
        self, image: SeenImage, questions: Sequence[Question], *, query: str, context: str
    ) -> list[Judgement] | None:
        """Return the answer to each question, in order, the cost on the first; None if it must ask one by one."""


class QueryReranker(Protocol):
    """Ranks the images of a job anew, many jobs at once; the same laws as for `Reranker`."""

    async def rank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first."""


class Reranker(Protocol):
    """Ranks the images of a job anew: a permutation of its input, ties in first-stage order."""

    def rerank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first."""
