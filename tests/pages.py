"""A source of articles in memory: a small, deterministic wiki of made-up birds with optional failures."""

from collections.abc import Iterator, Sequence
from io import BytesIO

from PIL import Image, ImageDraw

from data.files import sha256_hex
from data.records import (
    Anchor,
    AnchorImage,
    Article,
    Failure,
    FetchedPage,
    LeftOut,
    PageRef,
    Section,
    Source,
    Taxon,
)
from kb.distill.terms import term_id
from kb.sources.article_source import AnchorBatch, ArticleSource

COLOURS = ("red", "blue", "green", "yellow", "black", "white", "brown", "orange")
PARTS = ("crown", "back", "belly", "tail", "throat")


def made_up_taxa(n: int) -> list[Taxon]:
    """Return `n` species that are in no checklist."""
    return [
        Taxon(
            taxon_id=f"avis-{i:03d}",
            scientific_name=f"Avis {i:03d}",
            rank="species",
            common_names=(f"Bird {i:03d}",),
            lineage={"class": "Aves", "genus": "Avis"},
        )
        for i in range(n)
    ]


def body_of(title: str, revision: int) -> str:
    """Return the article of a made-up bird: two sentences on its looks and one on its song."""
    number = sum(map(ord, title)) + revision
    first, second = COLOURS[number % 8], COLOURS[(number // 8) % 8]
    return (
        f"The bird has a {first} {PARTS[number % 5]} and a {second} {PARTS[(number + 1) % 5]} with dark streaks. "
        f"Its bill is short and {second}, and the legs are {first}. "
        "The song is a loud whistle."
    )


def picture_of(subject_id: str, place: int) -> bytes:
    """Return a small PNG, different for each subject and place."""
    number = sum((i + 1) * ord(c) for i, c in enumerate(subject_id)) + 31 * place
    image = Image.new("RGB", (72, 56), ((number * 37) % 256, (number * 91) % 256, (number * 53) % 256))
    ImageDraw.Draw(image).ellipse((12, 8, 50, 44), fill=((number * 17) % 256, 90, (number * 29) % 256))
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


class PageSource(ArticleSource):
    """A source of made-up pages that counts its requests.

    Args:
        missing: ids of taxa without a page.
        failing: ids with a failing download of the body.
        bare: ids without a photo.
        left_out: ids with a disambiguation page.
        gone: ids with a deleted page, for look-ups and downloads.
        without_photos: whether downloads of photos fail.
        revision: the revision of all pages.
    """

    parser = "pages/1"

    def __init__(
        self,
        *,
        missing: Sequence[str] = (),
        failing: Sequence[str] = (),
        bare: Sequence[str] = (),
        left_out: Sequence[str] = (),
        gone: Sequence[str] = (),
        without_photos: bool = False,
        revision: int = 1,
    ) -> None:
        self.missing, self.failing, self.bare, self.left_out = set(missing), set(failing), set(bare), set(left_out)
        self.gone, self.without_photos = set(gone), without_photos
        self.revision = revision
        self.n_located = self.n_bodies = self.n_photos = 0

    @property
    def name(self) -> str:
        return "pages"

    def locate(self, taxa: Sequence[Taxon]) -> Iterator[tuple[Taxon, PageRef | LeftOut]]:
        for taxon in taxa:
            self.n_located += 1
            if taxon.taxon_id in self.missing | self.gone:
                yield taxon, LeftOut(name=taxon.common_name, reason="no page")
            else:
                yield taxon, PageRef(subject_id=taxon.taxon_id, title=taxon.common_name, revision=self.revision)

    def locate_terms(self, terms: Sequence[tuple[str, str | None]]) -> Iterator[tuple[str, PageRef | LeftOut]]:
        for name, title in terms:
            if name in self.missing:
                yield name, LeftOut(name=name, reason="no page")
            else:
                yield name, PageRef(subject_id=term_id(name), title=title or name, revision=self.revision)

    def fetch(self, pages: Sequence[PageRef]) -> Iterator[tuple[PageRef, FetchedPage | LeftOut | Failure]]:
        for page in pages:
            self.n_bodies += 1
            if page.subject_id in self.failing:
                yield page, Failure(taxon=page.title, stage="fetch", reason="the line was cut")
            elif page.subject_id in self.gone:
                yield page, LeftOut(name=page.title, reason="no page")
            elif page.subject_id in self.left_out:
                yield page, LeftOut(name=page.title, reason="disambiguation")
            else:
                source = Source(title=page.title, url=f"http://localhost/{page.title}", revision=page.revision)
                body = body_of(page.title, page.revision or 0)
                yield page, FetchedPage(page=page, body=body, media_type="text/plain", source=source)

    def parse(self, fetched: FetchedPage) -> Article:
        section = Section(title="Description", level=2, start=0, end=len(fetched.body))
        return Article(source=fetched.source, text=fetched.body, sections=(section,))

    def fetch_anchors(
        self, articles: Sequence[tuple[str, Article]], *, limit: int
    ) -> Iterator[tuple[str, AnchorBatch | Failure]]:
        for subject_id, _ in articles:
            skipped = (LeftOut(name="Nest.jpg", reason="licence"),)
            if self.without_photos:
                yield subject_id, Failure(taxon=subject_id, stage="anchor", reason="the line was cut")
                continue
            if subject_id in self.bare:
                yield subject_id, AnchorBatch(images=(), skipped=skipped)
                continue
            images = []
            for place in range(min(2, limit)):
                self.n_photos += 1
                content = picture_of(subject_id, place)
                digest = sha256_hex(content)
                anchor = Anchor(
                    anchor_id=digest,
                    subject_id=subject_id,
                    sha256=digest,
                    file=f"{subject_id} {place}.png",
                    page_url=f"http://localhost/File:{subject_id}_{place}.png",
                    author="A. Painter",
                    licence="CC0",
                    caption=f"picture {place}",
                    media_type="image/png",
                )
                images.append(AnchorImage(anchor=anchor, content=content))
            yield subject_id, AnchorBatch(images=tuple(images))
