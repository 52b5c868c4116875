"""A photo in whose place a server sends a web page is asked for again by the next build or update."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kb
from data.records import Status, Taxon, Update
from kb.checklist.avilist import load_checklist
from kb.pipeline.settings import BuildSettings
from kb.sources.http_client import RetryPolicy
from kb.sources.mediawiki.wiki_source import WikipediaSource
from tests.servers.faulty_wiki import Fault, FaultyWiki, File, html_page, jpeg
from tests.toy.encoders import toy_encoders

FREE = {"LicenseShortName": "CC BY-SA 4.0", "LicenseUrl": "https://creativecommons.org/licenses/by-sa/4.0"}
QUICK = RetryPolicy(tries=2, tries_at_first=2, first_wait_s=0.01)
SETTINGS = BuildSettings(anchors_per_species=9)
SKIPPED = {
    "Page.jpg": "not an image", "Moved.jpg": "not an image", "Refused.jpg": "not an image", "Gone.jpg": "no such file",
    "Cut.jpg": "unreadable image",
}  # fmt: skip
FIGURE = '<figure><a href="/wiki/File:{0}"><img src="{0}" width="200"></a></figure>'


@pytest.fixture
def wiki() -> Iterator[FaultyWiki]:
    with FaultyWiki().running() as wiki:
        files = ("Good.jpg", *SKIPPED)
        wiki.pages["Merlin"] = "<p>The <b>merlin</b> is blue.</p>" + "".join(map(FIGURE.format, files))
        wiki.wikitext["Merlin"] = "The merlin (''Falco columbarius'') is blue."
        wiki.files = {file: File(content=jpeg((n * 40, 9, 9)), metadata=FREE) for n, file in enumerate(files)}
        wiki.files["Cut.jpg"] = File(content=jpeg()[:300], metadata=FREE)  # damaged on the wiki itself
        yield wiki


def faults(wiki: FaultyWiki) -> list[Fault]:
    """Return a page, a redirect to JSON, a refusal and no file, in the place of four photos."""
    moved = Fault(status=302, headers={"Location": f"{wiki.origin}/login"})
    return [html_page(), html_page(), moved, Fault(status=403, body=b"no"), Fault(status=404, body=b"no")]


def merlin() -> Taxon:
    found = load_checklist().find("Falco columbarius")
    assert found is not None
    return found


def photos(path: Path) -> tuple[list[str], dict[str, str]]:
    """Return the files of the reference photos, and file -> reason of the skipped ones."""
    with kb.open(path) as store:
        [entry] = store.species([merlin().taxon_id])
        skipped = {name.rpartition(": ")[2]: reason for name, reason, _ in store.skipped_photos()}
    return [anchor.file for anchor in entry.anchors], skipped


def source(wiki: FaultyWiki) -> WikipediaSource:
    return WikipediaSource(wiki.api_url, contact=None, retry=QUICK)


def build(path: Path, wiki: FaultyWiki) -> Status:
    return kb.build(path, [merlin()], source(wiki), toy_encoders(), settings=SETTINGS)


def update(path: Path, wiki: FaultyWiki) -> Update:
    return kb.update(path, [source(wiki)], toy_encoders(), settings=SETTINGS)


@pytest.mark.parametrize("again", [build, update])
def test_a_well_server_is_asked_again(wiki: FaultyWiki, tmp_path: Path, again: Callable[..., object]) -> None:
    path = tmp_path / "a.kb"
    wiki.photo_faults = [Fault(), *faults(wiki)]
    build(path, wiki)
    assert photos(path) == (["Good.jpg"], SKIPPED)
    wiki.photos_asked.clear()
    wiki.photo_faults = faults(wiki)
    again(path, wiki)  # in vain
    assert photos(path) == (["Good.jpg"], SKIPPED)
    assert "Good.jpg" not in wiki.photos_asked

    found = again(path, wiki)
    expected = [file for file in wiki.files if file != "Cut.jpg"]
    assert photos(path) == (expected, {"Cut.jpg": "unreadable image"})
    if isinstance(found, Update):
        assert [change.detail for change in found.changes] == [f"new: {', '.join(expected[1:])}"]
    wiki.photos_asked.clear()
    again(path, wiki)
    assert wiki.photos_asked == []


def test_asking_again_in_vain_is_no_failure(wiki: FaultyWiki, tmp_path: Path) -> None:
    """Also where the server answers no photo at all any more."""
    path = tmp_path / "a.kb"
    wiki.photo_faults = [Fault(), *faults(wiki)]
    build(path, wiki)
    wiki.photo_faults = [Fault(status=500, body=b"no")] * 20
    assert build(path, wiki).failures == ()
    assert photos(path) == (["Good.jpg"], SKIPPED)
