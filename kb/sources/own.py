"""A user's own additions: a source without pages, and photos from files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from data.files import sha256_hex
from data.images.decode import media_type_of, read_image
from data.records import Anchor, Article, Failure, FetchedPage, LeftOut, PageRef
from kb import reasons
from kb.sources.article_source import MAX_PIXELS, ArticleSource

MAX_PHOTO_BYTES = 100_000_000


class OwnSource(ArticleSource):
    """A source without pages."""

    name = "own additions"
    parser = "plain-text/1"

    def fetch(self, pages: Sequence[PageRef]) -> Iterator[tuple[PageRef, FetchedPage | LeftOut | Failure]]:
        """Yield for each page that it does not exist."""
        return ((page, LeftOut(name=page.title, reason=reasons.NO_PAGE)) for page in pages)

    def parse(self, fetched: FetchedPage) -> Article:
        """Return the body as an article without sections."""
        return Article(source=fetched.source, text=fetched.body)


def read_own_photo(
    file: Path, subject_id: str, *, url: str | None, author: str | None, licence: str | None
) -> tuple[Anchor, bytes, tuple[int, int]]:
    """Return a photo of the user as an anchor, with its bytes, and its width and height in pixels.

    Raises:
        BadImage: if it is not an image, or too large.
        OSError: if it cannot be read.
    """
    size = read_image(file, max_pixels=MAX_PIXELS, max_bytes=MAX_PHOTO_BYTES).size
    content = file.read_bytes()
    sha256 = sha256_hex(content)
    anchor = Anchor(
        anchor_id=sha256,
        subject_id=subject_id,
        sha256=sha256,
        file=file.name,
        page_url=url,
        author=author,
        licence=licence,
        media_type=media_type_of(content) or "application/octet-stream",
    )
    return anchor, content, size
