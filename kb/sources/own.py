"""Source of a knowledge base that holds only a user's own additions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from data.records import Article, Failure, FetchedPage, LeftOut, PageRef, Taxon
from kb import reasons
from kb.sources.article_source import AnchorBatch, ArticleSource


class OwnSource(ArticleSource):
    """A source without pages.

    Example:
        >>> OwnSource().name
        'own additions'
    """

    name = "own additions"
    parser = "plain-text/1"

    def locate(self, taxa: Sequence[Taxon]) -> Iterator[tuple[Taxon, PageRef | LeftOut]]:
        """Yield for each taxon that it has no page."""
        return ((taxon, LeftOut(name=taxon.scientific_name, reason=reasons.NO_PAGE)) for taxon in taxa)

    def locate_terms(self, terms: Sequence[tuple[str, str | None]]) -> Iterator[tuple[str, PageRef | LeftOut]]:
        """Yield for each term that it has no page."""
        return ((name, LeftOut(name=name, reason=reasons.NO_PAGE)) for name, _ in terms)

    def fetch(self, pages: Sequence[PageRef]) -> Iterator[tuple[PageRef, FetchedPage | LeftOut | Failure]]:
        """Yield for each page that it does not exist."""
        return ((page, LeftOut(name=page.title, reason=reasons.NO_PAGE)) for page in pages)

    def parse(self, fetched: FetchedPage) -> Article:
        """Return the body as an article without sections."""
        return Article(source=fetched.source, text=fetched.body)

    def fetch_anchors(
        self, articles: Sequence[tuple[str, Article]], *, limit: int
    ) -> Iterator[tuple[str, AnchorBatch | Failure]]:
        """Yield an empty batch for each article."""
        return ((key, AnchorBatch(images=())) for key, _ in articles)
