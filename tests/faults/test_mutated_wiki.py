"""One wrong value in an answer of the wiki: nothing is lost without a reason, or the round ends with an error."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from data.errors import FieldmarkError
from data.records import Failure, FetchedPage, LeftOut, PageRef, Taxon
from kb.checklist.avilist import load_checklist
from kb.http import RetryPolicy
from kb.sources.article_source import AnchorBatch
from tests.faults.draw import Draw
from tests.servers.faulty_wiki import File, jpeg
from tests.servers.mutating_wiki import MutatingWiki

NAMES = ("Northern cardinal", "Eurasian hoopoe", "Merlin", "Mallard", "Snowy owl")
FREE = {"LicenseShortName": "CC0", "Artist": "<b>A. Painter</b>"}
RETRY = RetryPolicy(tries=1, tries_at_first=1, first_wait_s=0.001)


def birds() -> dict[str, Taxon]:
    """Return title -> species."""
    found = {name: load_checklist().find(name) for name in NAMES}
    return {name: taxon for name, taxon in found.items() if taxon is not None}


def photo_of(name: str) -> str:
    return f"{name.replace(' ', '-')}.jpg"


@pytest.fixture
def wiki() -> Iterator[MutatingWiki]:
    with MutatingWiki().running() as wiki:
        for i, (name, taxon) in enumerate(birds().items()):
            photo = f'<a href="/wiki/File:{photo_of(name)}"><img src="x.jpg" width="200"></a>'
            wiki.pages[name] = f"<p>The <b>{name}</b> ({taxon.scientific_name}) has a red crest.</p>{photo}"
            wiki.wikitext[name] = f"The '''{name}''' (''{taxon.scientific_name}'') is a bird."
            wiki.files[photo_of(name)] = File(content=jpeg((40 * i, 90, 30)), metadata=FREE)
        wiki.pages["Cardinalis cardinalis"] = "#REDIRECT Northern cardinal"
        wiki.categories["Category:Birds"] = list(NAMES)
        wiki.page_limit = 2  # continuation
        yield wiki


@dataclass
class Seen:
    """Results of a whole round through the wiki."""

    fetched: set[str] = field(default_factory=set)
    photos: set[str] = field(default_factory=set)
    members: set[str] = field(default_factory=set)
    counted: set[str] = field(default_factory=set)
    """Species and photos with a reason."""


def go_through(wiki: MutatingWiki) -> Seen:
    source = wiki.source(retry=RETRY)
    seen = Seen(members=set(source.titles_in_category("Birds")))
    titles = {taxon.scientific_name: name for name, taxon in birds().items()}
    pages = []
    for taxon, place in source.locate(list(birds().values())):
        if isinstance(place, PageRef):
            pages.append(place)
        else:
            seen.counted.add(titles[taxon.scientific_name])
    articles = []
    for page, body in source.fetch(pages):
        if isinstance(body, FetchedPage):
            seen.fetched.add(page.title)
            articles.append((page.subject_id, source.parse(body)))
        else:
            assert body.reason
            seen.counted.add(page.title)
    for _, batch in source.fetch_anchors(articles, limit=3):
        if isinstance(batch, AnchorBatch):
            seen.photos |= {image.anchor.file for image in batch.images}
            seen.counted |= {skipped.name for skipped in batch.skipped}
    for subject, place in source.newest([(taxon, page) for taxon, page in _with_taxa(pages)]):
        assert isinstance(subject, Taxon)
        if isinstance(place, LeftOut | Failure):
            seen.counted.add(titles[subject.scientific_name])
    return seen


def _with_taxa(pages: list[PageRef]) -> Iterator[tuple[Taxon, PageRef]]:
    by_id = {taxon.taxon_id: taxon for taxon in birds().values()}
    return ((by_id[page.subject_id], page) for page in pages)


def test_nothing_is_lost_without_a_reason(wiki: MutatingWiki, draw: Draw) -> None:
    clean = go_through(wiki)
    assert (clean.fetched, clean.members, clean.counted) == (set(NAMES), set(NAMES), set())
    assert clean.photos == set(map(photo_of, NAMES))

    def mutated(seed: int) -> str:
        wiki.mutate(seed)
        try:
            seen = go_through(wiki)
        except FieldmarkError as error:  # an answer of another shape fails whole
            assert str(error)
            return "refused"
        lost = set(NAMES) - seen.fetched
        assert lost <= seen.counted, lost
        return "counted" if seen.counted else "harmless"

    counts = draw.each(100, 2_000, mutated)
    assert draw.is_one or min(counts["refused"], counts["harmless"]) > counts.total() // 50
