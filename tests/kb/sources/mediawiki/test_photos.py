"""Photos of articles over real HTTP: licences, credits, reasons for skipped photos, and damaged downloads."""

from data.records import Article, Failure, Figure, LeftOut, Source
from kb.http import RetryPolicy
from kb.sources.article_source import AnchorBatch
from kb.sources.mediawiki.photos import PhotoFinder
from kb.sources.mediawiki.wiki_client import WikiClient
from kb.sources.mediawiki.wiki_pages import WikiPages
from tests.servers.faulty_wiki import Fault, FaultyWiki, File, html_page, jpeg

FREE = {"LicenseShortName": "CC BY-SA 4.0", "LicenseUrl": "https://creativecommons.org/licenses/by-sa/4.0"}
JPEG = {"Content-Type": "image/jpeg"}
QUICK = RetryPolicy(tries=2, tries_at_first=2, first_wait_s=0.01)


def article(*files: str) -> Article:
    figures = tuple(Figure(file=file, role="lead" if i == 0 else "body") for i, file in enumerate(files))
    return Article(source=Source(title="Red bird"), text="Red.", figures=figures)


def fetch(
    wiki: FaultyWiki, *articles: Article, limit: int = 3, any_licence: bool = False
) -> list[AnchorBatch | Failure]:
    client = WikiClient(wiki.api_url, retry=QUICK)
    finder = PhotoFinder(WikiPages(client), allow_any_licence=any_licence)
    found = list(finder.fetch_anchors([(f"bird-{i}", item) for i, item in enumerate(articles)], limit=limit))
    client.close()
    assert [key for key, _ in found] == [f"bird-{i}" for i in range(len(articles))]
    return [batch for _, batch in found]


def batch_of(wiki: FaultyWiki, *files: str, limit: int = 3, any_licence: bool = False) -> AnchorBatch:
    (batch,) = fetch(wiki, article(*files), limit=limit, any_licence=any_licence)
    assert isinstance(batch, AnchorBatch)
    return batch


def failure_of(wiki: FaultyWiki, *files: str) -> str:
    (batch,) = fetch(wiki, article(*files))
    assert isinstance(batch, Failure)
    assert (batch.stage, batch.taxon) == ("anchor", "Red bird")
    return batch.reason


def test_a_free_photo_is_fetched_with_its_credit(wiki: FaultyWiki) -> None:
    artist = '<a href="https://x.example/u">Ann <b>O\'Nymous</b></a><span style="display:none">x</span> &amp; son'
    wiki.files["Red.jpg"] = File(content=jpeg(), metadata={**FREE, "Artist": artist})
    (image,) = batch_of(wiki, "Red.jpg").images
    assert (image.content, image.anchor.author) == (jpeg(), "Ann O'Nymous & son")
    assert image.anchor.credit == f"Ann O'Nymous & son, CC BY-SA 4.0 ({wiki.origin}/wiki/File:Red.jpg)"
    assert (image.anchor.subject_id, image.anchor.media_type) == ("bird-0", "image/jpeg")
    assert wiki.requests[0]["iiurlwidth"] == "960"


def test_skipped_photos_are_listed_with_their_reason(wiki: FaultyWiki) -> None:
    wiki.files = {
        "Nc.jpg": File(content=jpeg(), metadata={"LicenseShortName": "CC BY-NC 2.0"}),
        "Nd.jpg": File(content=jpeg(), metadata={"LicenseShortName": "CC BY-ND 4.0"}),
        "Bare.jpg": File(content=jpeg()),
        "Cut.jpg": File(content=jpeg()[:200], metadata=FREE),
        "Html.jpg": File(content=b"<html>sorry</html>", mime="text/html", metadata=FREE),
        "Tiny.jpg": File(content=jpeg(), width=30, height=20, metadata=FREE),
        "Small.jpg": File(content=jpeg(size=(63, 64)), metadata=FREE),
        "Away.jpg": File(content=jpeg(), url="http://10.1.1.1/x.jpg", metadata=FREE),
        "Good.jpg": File(content=jpeg((1, 2, 200), size=(64, 64)), width=64, height=64, metadata=FREE),
        "Same.jpg": File(content=jpeg((1, 2, 200), size=(64, 64)), metadata=FREE),
        "Page.jpg": File(content=b"<html>sorry</html>", metadata=FREE),  # after a photo, it skips itself alone
    }
    batch = batch_of(wiki, "Gone.jpg", "Drawing.svg", "Range map.png", "Song.ogg", *wiki.files)
    assert [image.anchor.file for image in batch.images] == ["Good.jpg"]
    assert {item.name: item.reason for item in batch.skipped} == {
        "Gone.jpg": "no such file", "Drawing.svg": "not a photo", "Range map.png": "map or sign",
        "Song.ogg": "not a photo", "Nc.jpg": "licence not free", "Nd.jpg": "licence not free",
        "Bare.jpg": "licence unknown", "Cut.jpg": "unreadable image", "Html.jpg": "not a photo",
        "Tiny.jpg": "too small", "Small.jpg": "too small", "Away.jpg": "on a blocked host",
        "Same.jpg": "duplicate photo", "Page.jpg": "not an image",
    }  # fmt: skip
    assert LeftOut(name="Tiny.jpg", reason="too small", detail="30 x 20") in batch.skipped
    assert not {"Nc.jpg", "Nd.jpg", "Bare.jpg", "Tiny.jpg"} & set(wiki.photos_asked)
    assert set(batch.versions) == {"Gone.jpg", *wiki.files}


def test_unfree_licences_can_be_allowed_and_are_recorded(wiki: FaultyWiki) -> None:
    """A non-free mark is added: otherwise the licence name alone would count as free in the credits."""
    logo = {"LicenseShortName": "CC BY 4.0", "NonFree": "true"}
    wiki.files["Nc.jpg"] = File(content=jpeg(), metadata={"LicenseShortName": "CC BY-NC 2.0"})
    wiki.files["Mark.jpg"] = File(content=jpeg((1, 1, 9)), metadata=logo)
    batch = batch_of(wiki, *wiki.files, any_licence=True)
    assert [image.anchor.licence for image in batch.images] == ["CC BY-NC 2.0", "CC BY 4.0 (non-free)"]


def test_requests_are_few(wiki: FaultyWiki) -> None:
    wiki.files = {f"{i}.jpg": File(content=jpeg((i * 4, 0, 0)), metadata=FREE) for i in range(60)}
    batches = fetch(wiki, *[article(f"{i}.jpg") for i in range(60)])
    assert all(isinstance(batch, AnchorBatch) and len(batch.images) == 1 for batch in batches)
    assert len(wiki.requests) == 2 and wiki.most_at_once <= 3
    wiki.photos_asked.clear()
    batch_of(wiki, *wiki.files, limit=2)
    assert wiki.photos_asked == ["0.jpg", "1.jpg"]


def test_a_failed_download_fails_only_its_article(wiki: FaultyWiki) -> None:
    wiki.files = {name: File(content=jpeg((n, 9, 9)), metadata=FREE) for n, name in enumerate(["a.jpg", "b.jpg"])}
    wiki.photo_faults = [Fault(status=500, body=b"no")] * 2
    first, second = fetch(wiki, article("a.jpg"), article()), fetch(wiki, article("a.jpg"), article("b.jpg"))
    assert isinstance(first[0], Failure) and "answered 500" in first[0].reason
    assert first[1] == AnchorBatch(images=())
    assert all(isinstance(batch, AnchorBatch) and len(batch.images) == 1 for batch in second)
    wiki.photo_faults = [Fault(status=403, body=b"no")]
    assert "answered 403" in failure_of(wiki, "a.jpg")
    wiki.photo_faults = [Fault(status=404, body=b"no")]
    assert [(item.name, item.reason) for item in batch_of(wiki, "a.jpg").skipped] == [("a.jpg", "no such file")]
    for kind in ("text/html", "image/jpeg"):
        portal = Fault(body=b"<!DOCTYPE html><html>Log in</html>", headers={"Content-Type": kind})
        wiki.photo_faults = [portal] * 20
        assert "Expected an image from" in failure_of(wiki, "a.jpg", "b.jpg")
    wiki.photo_faults, wiki.always = [], html_page()
    assert "Expected JSON" in failure_of(wiki, "a.jpg")


def test_a_photo_is_fetched_until_whole_or_identically_damaged(wiki: FaultyWiki) -> None:
    """Truncated transfers differ each time; a file that is damaged on the wiki is identical each time."""
    wiki.files["a.jpg"] = File(content=jpeg(), metadata=FREE)
    wiki.photo_faults = [Fault(body=jpeg()[:n], headers=JPEG) for n in (300, 400, 500)]
    assert [image.content for image in batch_of(wiki, "a.jpg").images] == [jpeg()]
    for damaged, n_tries in (([300] * 9, 2), ([300, 310, 320, 330, 340, 350], 5)):
        wiki.photos_asked.clear()
        wiki.photo_faults = [Fault(body=jpeg()[:n], headers=JPEG) for n in damaged]
        assert batch_of(wiki, "a.jpg").images == ()
        assert wiki.photos_asked == ["a.jpg"] * n_tries
