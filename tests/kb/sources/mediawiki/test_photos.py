"""Photos of articles over real HTTP: licences, credits and reasons for skipped photos."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from data.records import Article, Failure, Figure, Source
from kb.sources.article_source import AnchorBatch
from kb.sources.licences import licence_freedom
from kb.sources.mediawiki.client.retry import RetryPolicy
from kb.sources.mediawiki.client.wiki_client import WikiClient
from kb.sources.mediawiki.pages.wiki_pages import WikiPages
from kb.sources.mediawiki.photos import PhotoFinder
from tests.servers.faulty_wiki import Fault, FaultyWiki, File, html_page, jpeg

FREE = {"LicenseShortName": "CC BY-SA 4.0", "LicenseUrl": "https://creativecommons.org/licenses/by-sa/4.0"}
QUICK = RetryPolicy(tries=2, tries_at_first=2, first_wait_s=0.01)


@pytest.fixture
def wiki() -> Iterator[FaultyWiki]:
    with FaultyWiki().running() as wiki:
        yield wiki


def article(*files: str) -> Article:
    figures = tuple(Figure(file=file, role="lead" if i == 0 else "body") for i, file in enumerate(files))
    return Article(source=Source(title="Red bird"), text="Red.", figures=figures)


def fetch(
    wiki: FaultyWiki, *articles: Article, limit: int = 3, any_licence: bool = False
) -> list[AnchorBatch | Failure]:
    client = WikiClient(wiki.api_url, retry=QUICK)
    finder = PhotoFinder(WikiPages(client), thumbnail_px=960, allow_any_licence=any_licence)
    found = list(finder.fetch([(f"bird-{i}", item) for i, item in enumerate(articles)], limit=limit))
    client.close()
    assert [key for key, _ in found] == [f"bird-{i}" for i in range(len(articles))]
    return [batch for _, batch in found]


def test_a_free_photo_is_fetched_with_its_credit(wiki: FaultyWiki) -> None:
    wiki.files["Red.jpg"] = File(
        content=jpeg(), metadata={**FREE, "Artist": '<a href="https://x.example/u">Ann <b>O\'Nymous</b></a> &amp; son'}
    )
    (batch,) = fetch(wiki, article("Red.jpg"))
    assert isinstance(batch, AnchorBatch)
    (image,) = batch.images
    assert image.content == jpeg()
    assert image.anchor.author == "Ann O'Nymous & son"
    assert image.anchor.credit == f"Ann O'Nymous & son, CC BY-SA 4.0 ({wiki.origin}/wiki/File:Red.jpg)"
    assert image.anchor.anchor_id == image.anchor.sha256
    assert image.anchor.subject_id == "bird-0"
    assert wiki.requests[0]["iiurlwidth"] == "960"


def test_skipped_photos_are_listed_with_their_reason(wiki: FaultyWiki) -> None:
    wiki.files = {
        "Nc.jpg": File(content=jpeg(), metadata={"LicenseShortName": "CC BY-NC 2.0"}),
        "Bare.jpg": File(content=jpeg()),
        "Cut.jpg": File(content=jpeg()[:200], metadata=FREE),
        "Html.jpg": File(content=b"<html>sorry</html>", mime="text/html", metadata=FREE),
        "Tiny.jpg": File(content=jpeg(), width=30, height=20, metadata=FREE),
        "Away.jpg": File(content=jpeg(), url="http://10.1.1.1/x.jpg", metadata=FREE),
        "Good.jpg": File(content=jpeg((1, 2, 200)), metadata=FREE),
        "Same.jpg": File(content=jpeg((1, 2, 200)), metadata=FREE),
    }
    files = ["Gone.jpg", "Drawing.svg", "Range map.png", "Song.ogg", *wiki.files]
    (batch,) = fetch(wiki, article(*files))
    assert isinstance(batch, AnchorBatch)
    assert [image.anchor.file for image in batch.images] == ["Good.jpg"]
    assert {item.name: item.reason for item in batch.skipped} == {
        "Gone.jpg": "no such file", "Drawing.svg": "not a photo", "Range map.png": "map or sign",
        "Song.ogg": "not a photo",
        "Nc.jpg": "licence not free", "Bare.jpg": "licence unknown", "Cut.jpg": "unreadable image",
        "Html.jpg": "not a photo", "Tiny.jpg": "too small", "Away.jpg": "on a blocked host",
        "Same.jpg": "duplicate photo",
    }  # fmt: skip
    assert "Nc.jpg" not in wiki.photos_asked


def test_unfree_licences_can_be_allowed_and_are_recorded(wiki: FaultyWiki) -> None:
    wiki.files["Nc.jpg"] = File(content=jpeg(), metadata={"LicenseShortName": "CC BY-NC 2.0"})
    (batch,) = fetch(wiki, article("Nc.jpg"), any_licence=True)
    assert isinstance(batch, AnchorBatch)
    assert batch.images[0].anchor.licence == "CC BY-NC 2.0"


def test_a_non_free_mark_is_added_to_the_licence(wiki: FaultyWiki) -> None:
    """Otherwise the licence name alone would count as free in the credits."""
    wiki.files["Logo.jpg"] = File(content=jpeg(), metadata={"LicenseShortName": "CC BY 4.0", "NonFree": "true"})
    (batch,) = fetch(wiki, article("Logo.jpg"), any_licence=True)
    assert isinstance(batch, AnchorBatch)
    assert batch.images[0].anchor.licence == "CC BY 4.0 (non-free)"
    assert licence_freedom("CC BY 4.0 (non-free)") == "not free"


def test_only_photos_up_to_the_limit_are_requested(wiki: FaultyWiki) -> None:
    wiki.files = {f"{i}.jpg": File(content=jpeg((i * 20, 0, 0)), metadata=FREE) for i in range(6)}
    (batch,) = fetch(wiki, article(*wiki.files), limit=2)
    assert isinstance(batch, AnchorBatch)
    assert [image.anchor.file for image in batch.images] == ["0.jpg", "1.jpg"]
    assert wiki.photos_asked == ["0.jpg", "1.jpg"]


def test_file_descriptions_are_requested_fifty_at_a_time(wiki: FaultyWiki) -> None:
    wiki.files = {f"{i}.jpg": File(content=jpeg((i, 0, 0)), metadata=FREE) for i in range(60)}
    batches = fetch(wiki, *[article(f"{i}.jpg") for i in range(60)])
    assert all(isinstance(batch, AnchorBatch) and len(batch.images) == 1 for batch in batches)
    assert len(wiki.requests) == 2
    assert wiki.most_at_once <= 3


def test_a_failed_download_fails_only_its_article(wiki: FaultyWiki) -> None:
    wiki.files = {name: File(content=jpeg((n, 9, 9)), metadata=FREE) for n, name in enumerate(["a.jpg", "b.jpg"])}
    wiki.photo_faults = [Fault(status=500, body=b"no")] * 2
    first, second = fetch(wiki, article("a.jpg"), article()), fetch(wiki, article("a.jpg"), article("b.jpg"))
    assert isinstance(first[0], Failure)
    assert (first[0].stage, first[0].taxon) == ("anchor", "Red bird")
    assert "answered 500" in first[0].reason
    assert first[1] == AnchorBatch(images=())
    assert all(isinstance(batch, AnchorBatch) and len(batch.images) == 1 for batch in second)


@pytest.mark.parametrize("kind", ["text/html", "image/jpeg"])
def test_a_host_that_sends_html_for_all_photos_is_a_failure(wiki: FaultyWiki, kind: str) -> None:
    wiki.files = {name: File(content=jpeg((n, 9, 9)), metadata=FREE) for n, name in enumerate(["a.jpg", "b.jpg"])}
    portal = Fault(body=b"<!DOCTYPE html><html>Log in</html>", headers={"Content-Type": kind})
    wiki.photo_faults = [portal] * 20
    for batch in fetch(wiki, article("a.jpg"), article("b.jpg")):
        assert isinstance(batch, Failure)
        assert "Expected an image from" in batch.reason


def test_refused_photos_are_a_failure_but_missing_ones_are_skipped(wiki: FaultyWiki) -> None:
    wiki.files["a.jpg"] = File(content=jpeg(), metadata=FREE)
    wiki.photo_faults = [Fault(status=403, body=b"no")]
    (batch,) = fetch(wiki, article("a.jpg"))
    assert isinstance(batch, Failure)
    assert "answered 403" in batch.reason
    wiki.photo_faults = [Fault(status=404, body=b"no")]
    (batch,) = fetch(wiki, article("a.jpg"))
    assert isinstance(batch, AnchorBatch)
    assert [(item.name, item.reason) for item in batch.skipped] == [("a.jpg", "no such file")]


def test_html_instead_of_one_photo_skips_only_that_photo(wiki: FaultyWiki) -> None:
    wiki.files = {
        "a.jpg": File(content=jpeg(), metadata=FREE),
        "page.jpg": File(content=b"<html>sorry</html>", metadata=FREE),
    }
    (batch,) = fetch(wiki, article("page.jpg", "a.jpg"))
    assert isinstance(batch, AnchorBatch)
    assert [image.anchor.file for image in batch.images] == ["a.jpg"]
    assert [(item.name, item.reason) for item in batch.skipped] == [("page.jpg", "not an image")]


def test_a_damaged_photo_is_fetched_again(wiki: FaultyWiki) -> None:
    wiki.files["a.jpg"] = File(content=jpeg(), metadata=FREE)
    wiki.photo_faults = [Fault(body=jpeg()[:400], headers={"Content-Type": "image/jpeg"})]
    (batch,) = fetch(wiki, article("a.jpg"))
    assert isinstance(batch, AnchorBatch)
    assert [image.content for image in batch.images] == [jpeg()]


def test_a_photo_is_retried_until_whole_or_identically_damaged(wiki: FaultyWiki) -> None:
    """Truncated transfers differ each time; a file that is damaged on the wiki is identical each time."""
    wiki.files["a.jpg"] = File(content=jpeg(), metadata=FREE)
    kind = {"Content-Type": "image/jpeg"}
    wiki.photo_faults = [Fault(body=jpeg()[:n], headers=kind) for n in (300, 400, 500)]
    (batch,) = fetch(wiki, article("a.jpg"))
    assert isinstance(batch, AnchorBatch)
    assert [image.content for image in batch.images] == [jpeg()]
    wiki.photos_asked.clear()
    wiki.photo_faults = [Fault(body=jpeg()[:300], headers=kind) for _ in range(9)]
    (batch,) = fetch(wiki, article("a.jpg"))
    assert isinstance(batch, AnchorBatch)
    assert (batch.images, wiki.photos_asked) == ((), ["a.jpg", "a.jpg"])


def test_articles_fail_if_file_descriptions_fail(wiki: FaultyWiki) -> None:
    wiki.always = html_page()
    (batch,) = fetch(wiki, article("a.jpg"))
    assert isinstance(batch, Failure)
    assert "Expected JSON" in batch.reason


def test_thumbnail_widths_unsupported_by_wikimedia_are_refused() -> None:
    client = WikiClient("http://127.0.0.1:9/api.php")
    with pytest.raises(ValueError, match="expected a thumbnail width of"):
        PhotoFinder(WikiPages(client), thumbnail_px=800, allow_any_licence=False)
    client.close()
