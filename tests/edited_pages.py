"""Made-up pages that were edited after the build."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from data.records import Anchor, Article, Failure, LeftOut, PageRef, Taxon
from kb.sources.article_source import AnchorBatch
from tests.pages import PageSource


class EditedPages(PageSource):
    """A `PageSource` with changed revisions, titles and photos for some pages.

    Args:
        revisions: subject id -> revision, of pages that were edited.
        titles: taxon id -> title, of pages that moved.
        repainted: ids with a new first photo.
    """

    def __init__(
        self,
        *,
        revisions: Mapping[str, int] | None = None,
        titles: Mapping[str, str] | None = None,
        repainted: Sequence[str] = (),
        gone: Sequence[str] = (),
        left_out: Sequence[str] = (),
    ) -> None:
        super().__init__(missing=["avis-001"], bare=["avis-002"], gone=gone, left_out=left_out)
        self.revisions, self.titles, self.repainted = revisions or {}, titles or {}, set(repainted)
        self.reused: Mapping[str, Anchor] = {}

    @property
    def origin(self) -> Mapping[str, str]:
        return {"kind": "pages"}

    def _now(self, page: PageRef) -> PageRef:
        key = page.subject_id
        title = self.titles.get(key, page.title)
        return PageRef(subject_id=key, title=title, revision=self.revisions.get(key, self.revision))

    def locate(self, taxa: Sequence[Taxon]) -> Iterator[tuple[Taxon, PageRef | LeftOut]]:
        for taxon, place in super().locate(taxa):
            yield taxon, self._now(place) if isinstance(place, PageRef) else place

    def locate_terms(self, terms: Sequence[tuple[str, str | None]]) -> Iterator[tuple[str, PageRef | LeftOut]]:
        for name, place in super().locate_terms(terms):
            yield name, self._now(place) if isinstance(place, PageRef) else place

    def newest(self, known: Sequence[tuple[Taxon | str, PageRef]]) -> Iterator[tuple[Taxon | str, PageRef | LeftOut]]:
        for subject, page in known:
            is_gone = page.subject_id in self.gone
            yield subject, LeftOut(name=page.title, reason="no page") if is_gone else self._now(page)

    def photo_versions(self, files: Sequence[str]) -> dict[str, str]:
        return {file: self._version(file) for file in files}

    def reuse_photos(self, anchors: Mapping[str, Anchor]) -> None:
        self.reused = anchors

    def fetch_anchors(
        self, articles: Sequence[tuple[str, Article]], *, limit: int
    ) -> Iterator[tuple[str, AnchorBatch | Failure]]:
        for key, batch in super().fetch_anchors(articles, limit=limit):
            if isinstance(batch, Failure):
                yield key, batch
                continue
            other = f"{key} again" if key in self.repainted else key
            images = list(batch.images)
            if key in self.repainted and images:
                [(_, repainted)] = super().fetch_anchors([(other, articles[0][1])], limit=1)
                assert isinstance(repainted, AnchorBatch)
                anchor = replace(repainted.images[0].anchor, subject_id=key, file=images[0].anchor.file)
                images[0] = replace(repainted.images[0], anchor=anchor)
            versions = {image.anchor.file: self._version(image.anchor.file) for image in images}
            yield key, AnchorBatch(images=tuple(images), skipped=batch.skipped, versions=versions)

    def _version(self, file: str) -> str:
        key = file.rpartition(" ")[0]
        return f"{file} {'second' if key in self.repainted and file.endswith(' 0.png') else 'first'}"


def second_state() -> EditedPages:
    """Return the pages after a day of edits."""
    return EditedPages(
        revisions={"avis-003": 2, "avis-004": 2, "avis-005": 2, "term:amplexus": 5},
        titles={"avis-006": "Bird six"},
        repainted=["avis-007"],
        gone=["avis-008"],
        left_out=[],
    )
