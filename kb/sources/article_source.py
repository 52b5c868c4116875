"""The contract of a source of articles and photos, and ids of several pages of one subject."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from data.arrays import FloatArray
from data.files import sha256_hex
from data.records import Anchor, AnchorImage, Article, Failure, FetchedPage, LeftOut, PageRef, Taxon
from kb import reasons

SMALLEST_SIDE_PX = 64  # smaller photos are useless to a model
MAX_PIXELS = 50_000_000
_SIGN = "#"  # in no id of a species or term


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorBatch:
    """The photos of one article, and the skipped ones with reasons (`LeftOut.name` is the file)."""

    images: tuple[AnchorImage, ...]
    skipped: tuple[LeftOut, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    """File -> version, as in `ArticleSource.photo_versions`, of all photos that were considered."""


class ArticleSource(ABC):
    """A source of articles and photos: a wiki, a folder, the shipped knowledge, a user's own additions.

    The defaults fit a source on the local disk without pages of its own and without photos. All iterators stream: each
    result is stored before the next is made.
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

    is_one_place: bool = True
    """Whether many failures in a row mean that the source is down."""

    # pages

    def locate(self, taxa: Sequence[Taxon]) -> Iterator[tuple[Taxon, PageRef | LeftOut]]:
        """Yield the page of each taxon, or why it has none; bodies are not fetched."""
        return ((taxon, LeftOut(name=taxon.scientific_name, reason=reasons.NO_PAGE)) for taxon in taxa)

    def locate_terms(self, terms: Sequence[tuple[str, str | None]]) -> Iterator[tuple[str, PageRef | LeftOut]]:
        """Yield the page of each `(term, page title or None)`, or why it has none; `subject_id` is `term:SLUG`."""
        for name, title in terms:
            yield name, self.term_page(name, title) or LeftOut(name=name, reason=reasons.NO_PAGE)

    def term_page(self, name: str, title: str | None) -> PageRef | None:
        """Return the page of a term, by its title or else its name, or None; by default terms have no pages."""
        return None

    @abstractmethod
    def fetch(self, pages: Sequence[PageRef]) -> Iterator[tuple[PageRef, FetchedPage | LeftOut | Failure]]:
        """Yield the body of each page as it arrives, in any order.

        A page about another subject is left out; a page that does not arrive is a `Failure`.
        """

    def parse(self, fetched: FetchedPage) -> Article:
        """Return the article in a body, by default a plain or Markdown text; the same body gives the same article."""
        from kb.sources.plain_text import parse_text  # late: every command imports this module

        text, sections = parse_text(fetched.body)
        return Article(source=fetched.source, text=text, sections=sections)

    # photos and vectors

    def fetch_anchors(
        self, articles: Sequence[tuple[str, Article]], *, limit: int
    ) -> Iterator[tuple[str, AnchorBatch | Failure]]:
        """Yield up to `limit` free photos for each `(subject_id, article)`, in the article's order."""
        return ((key, AnchorBatch(images=())) for key, _ in articles)

    def text_vector(self, subject_id: str, space: str) -> FloatArray | None:
        """Return the `(dim,)` float32 unit vector of a subject in a text-image space; None: encode its text.

        A source gives vectors where it may not show the full text from which they were made.
        """
        return None

    # updates

    def reuse_pages(self, properties: Mapping[str, Mapping[str, str]]) -> None:
        """Tell `newest` subject_id -> `FetchedPage.properties` of the pages that are held."""
        del properties

    def newest(
        self, known: Sequence[tuple[Taxon | str, PageRef]]
    ) -> Iterator[tuple[Taxon | str, PageRef | LeftOut | Failure]]:
        """Yield the current page of each `(taxon or term, its page so far)`, in this order.

        An unchanged page comes back unchanged; a subject without a page is left out; a page that cannot be checked is a
        failure, if the others can. By default all are located again.
        """
        taxa = [subject for subject, _ in known if isinstance(subject, Taxon)]
        places = {taxon.taxon_id: place for taxon, place in self.locate(taxa)}
        for subject, page in known:
            if isinstance(subject, Taxon):
                yield subject, places[subject.taxon_id]
            else:
                yield from self.locate_terms([(subject, page.title)])

    def photo_versions(self, files: Sequence[str]) -> dict[str, str]:
        """Return file -> a text that changes with the photo, its author or its licence; empty for a missing file.

        By default {}: the revision of a page covers its photos.
        """
        return {}

    def reuse_photos(self, anchors: Mapping[str, Anchor]) -> None:
        """Let `fetch_anchors` reuse these anchors, by version of the photo, instead of downloading them again."""
        del anchors

    def close(self) -> None:  # noqa: B027  # most have nothing to close
        """Close the connections."""

    # cost

    @property
    def n_requests(self) -> int:
        """API requests so far, retries included, photos excluded."""
        return 0

    @property
    def n_photo_requests(self) -> int:
        """Photo downloads so far, retries included."""
        return 0


def left_out(taxon: Taxon, reason: str, title: str = "") -> LeftOut:
    """Return the reason for leaving out a taxon, with English name and page as detail."""
    english = taxon.common_names[0] if taxon.common_names else ""
    return LeftOut(
        name=taxon.scientific_name, reason=reason, detail="; ".join(filter(None, (english, title and f"page {title}")))
    )


def page_key(subject_id: str, address: str) -> str:
    """Return the id of a page of a species or term."""
    return f"{subject_id}{_SIGN}{sha256_hex(address)[:12]}"


def is_page(key: str) -> bool:
    """Return whether an id is that of a page."""
    return _SIGN in key


def owner_of(key: str) -> str:
    """Return the species or term of a page; any other id unchanged."""
    return key.partition(_SIGN)[0]
