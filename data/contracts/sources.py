"""Contracts of checklists and of sources of articles and photos."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from data.arrays import FloatArray
from data.records import Anchor, AnchorImage, Article, Failure, FetchedPage, LeftOut, PageRef, Taxon


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
