"""Updates process only changed pages, report them, and match a fresh build of the new state."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import kb
from data.contracts import Encoders
from data.errors import SourceUnavailable, UsageError
from data.records import Change, Progress
from kb.checklist.avilist import load_checklist
from kb.http import RetryPolicy
from kb.pipeline.settings import BuildSettings
from kb.pipeline.update_notes import _photo_changes
from kb.sources.mediawiki.wiki_source import WikipediaSource
from tests.edited_pages import EditedPages, second_state
from tests.kb.distill.test_model import Scripted, statements
from tests.pages import made_up_taxa
from tests.servers.faulty_wiki import Fault, FaultyWiki, File, html_page, jpeg

N = 10
TERMS = [("Amplexus", None)]
STREAKS = statements(("It has dark streaks.", [1]))


@pytest.fixture(scope="module")
def first_state(tmp_path_factory: pytest.TempPathFactory, encoders: Encoders) -> Path:
    path = tmp_path_factory.mktemp("first") / "a.kb"
    kb.build(path, made_up_taxa(N), EditedPages(), encoders, terms=TERMS)
    return path


@pytest.fixture
def path(first_state: Path, tmp_path: Path) -> Path:
    shutil.copytree(first_state, tmp_path / "a.kb")
    return tmp_path / "a.kb"


@pytest.fixture(scope="module")
def fresh_digest(tmp_path_factory: pytest.TempPathFactory, encoders: Encoders) -> str:
    path = tmp_path_factory.mktemp("fresh") / "a.kb"
    kb.build(path, made_up_taxa(N), second_state(), encoders, terms=TERMS)
    return kb.verify(path).digest


def test_only_changed_pages_are_reported_fetched_and_distilled(
    path: Path, encoders: Encoders, fresh_digest: str
) -> None:
    before, same = kb.verify(path), EditedPages()
    found = kb.update(path, [same], encoders)
    assert (found.checked, found.changes, found.distilled) == (N, (), 0)  # all species but the missing one, and a term
    assert (same.n_bodies, same.n_photos) == (0, 0)
    assert kb.verify(path) == before
    source = second_state()
    found = kb.update(path, [source], encoders)
    assert found.changes == (
        Change(name="Amplexus", kind="new revision", detail="1 -> 5"),
        Change(name="Avis 003", kind="new revision", detail="1 -> 2"),
        Change(name="Avis 004", kind="new revision", detail="1 -> 2"),
        Change(name="Avis 005", kind="new revision", detail="1 -> 2"),
        Change(name="Avis 006", kind="moved", detail="Bird 006 -> Bird six"),
        Change(name="Avis 007", kind="photos", detail="new: avis-007 0.png; gone: avis-007 0.png"),
        Change(name="Avis 008", kind="taken out", detail="no page"),
    )
    assert (source.n_bodies, found.distilled) == (5, 5)  # including the moved page, but not the one with a new photo
    assert kb.verify(path).digest == fresh_digest
    assert kb.verify(path).ok
    with kb.open(path) as store:
        assert "avis-008" not in store.taxon_ids
    offered = {anchor.file for anchor in source.reused.values()}
    assert offered >= {"avis-003 0.png", "avis-003 1.png", "avis-007 1.png"}
    assert "avis-009 0.png" not in offered
    gone = EditedPages(revisions={"avis-003": 3}, left_out=["avis-003"], gone=["term:amplexus"])
    for changes in (("taken out", "taken out"), ()):
        found = kb.update(path, [gone], encoders)
        assert tuple(change.kind for change in found.changes if change.name in ("Amplexus", "Avis 003")) == changes
        with kb.open(path) as store:
            assert store.terms() == [] and "avis-003" not in store.taxon_ids


def test_photos_with_another_author_or_licence_are_named() -> None:
    before = {"a": ["a.jpg", "Ann", "CC0"], "b": ["b.jpg", None, "CC0"]}
    now = {"a": ["a.jpg", "Bob", "CC0"], "c": ["c.jpg", None, "CC0"]}
    assert _photo_changes(before, now) == "new: c.jpg; gone: b.jpg; credit: a.jpg"


def test_an_update_that_fails_leaves_what_was_there_and_is_completed_by_the_next(
    path: Path, encoders: Encoders, fresh_digest: str
) -> None:
    """A source that is down changes nothing, and a page that fails to load keeps its summary."""

    class Down(EditedPages):
        def photo_versions(self, files: object) -> dict[str, str]:
            raise SourceUnavailable("the wiki is down")

    before = kb.verify(path)
    with pytest.raises(SourceUnavailable):
        kb.update(path, [Down()], encoders)
    assert kb.verify(path) == before
    failing = second_state()
    failing.failing = {"avis-003"}
    found = kb.update(path, [failing], encoders)
    assert [(failure.taxon, failure.stage) for failure in found.failures] == [("Avis 003", "fetch")]
    with kb.open(path) as store:
        [entry] = store.species(["avis-003"])
        assert entry.source is not None
        assert entry.source.revision == 1
    kb.update(path, [second_state()], encoders)
    assert kb.verify(path).digest == fresh_digest


def test_an_interrupted_update_is_reported_and_completed_by_the_next(
    path: Path, encoders: Encoders, fresh_digest: str
) -> None:
    def stop(progress: Progress) -> None:
        if progress.stage == "fetch" and progress.total - progress.done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kb.update(path, [second_state()], encoders, progress=stop)
    assert "the last update did not finish; run it again" in kb.verify(path).problems
    found = kb.update(path, [second_state()], encoders)
    assert [change.name for change in found.changes] == ["Amplexus", *(f"Avis 00{i}" for i in range(3, 9))]
    assert kb.verify(path).digest == fresh_digest


def test_only_changed_pages_are_sent_to_the_model_and_another_model_is_refused(
    tmp_path: Path, encoders: Encoders
) -> None:
    path, chat, other = tmp_path / "a.kb", Scripted(STREAKS), Scripted(STREAKS)
    other.name = "another"
    kb.build(path, made_up_taxa(N), EditedPages(), encoders, chat=chat)
    asked = len(chat.asked)
    assert asked == N - 1
    found = kb.update(path, [EditedPages(revisions={f"avis-00{i}": 2 for i in (3, 4, 5)})], encoders, chat=chat)
    assert found.model_calls == len(chat.asked) - asked == 3
    new: dict[str, Any]
    for new, name in (({"chat": other}, "model/1 another"), ({"distiller": "extractive"}, r"extractive/\d+")):
        with pytest.raises(UsageError, match=f"{name}.* would distil 6 unchanged pages again") as caught:
            kb.update(path, [EditedPages(revisions={"avis-003": 3})], encoders, **new)
        assert "kb build accepts new ones" in (caught.value.hint or "")
    assert other.asked == []


FREE = {"LicenseShortName": "CC BY-SA 4.0", "LicenseUrl": "https://creativecommons.org/licenses/by-sa/4.0"}
SKIPPED = {
    "Page.jpg": "not an image", "Moved.jpg": "not an image", "Refused.jpg": "not an image", "Gone.jpg": "no such file",
    "Cut.jpg": "unreadable image",
}  # fmt: skip
FILES = ("Good.jpg", *SKIPPED)
FIGURE = '<figure><a href="/wiki/File:{0}"><img src="{0}" width="200"></a></figure>'


def test_a_server_that_sent_no_photo_is_asked_again_by_builds_and_updates(tmp_path: Path, encoders: Encoders) -> None:
    path, settings = tmp_path / "a.kb", BuildSettings(anchors_per_species=9)
    merlin = load_checklist().find("Falco columbarius")
    assert merlin is not None
    with FaultyWiki().running() as wiki:
        wiki.pages["Merlin"] = "<p>The <b>merlin</b> is blue.</p>" + "".join(map(FIGURE.format, FILES))
        wiki.wikitext["Merlin"] = "The merlin (''Falco columbarius'') is blue."
        wiki.files = {file: File(content=jpeg((n * 40, 9, 9)), metadata=FREE) for n, file in enumerate(FILES)}
        wiki.files["Cut.jpg"] = File(content=jpeg()[:300], metadata=FREE)  # damaged on the wiki itself

        def faults() -> list[Fault]:
            moved = Fault(status=302, headers={"Location": f"{wiki.origin}/login"})
            return [html_page(), html_page(), moved, Fault(status=403, body=b"no"), Fault(status=404, body=b"no")]

        def source() -> WikipediaSource:
            policy = RetryPolicy(tries=2, tries_at_first=2, first_wait_s=0.01)
            return wiki.source(retry=policy)

        def photos() -> tuple[list[str], dict[str, str]]:
            with kb.open(path) as store:
                [entry] = store.species([merlin.taxon_id])
                skipped = {name.rpartition(": ")[2]: reason for name, reason, _ in store.skipped_photos()}
            return [anchor.file for anchor in entry.anchors], skipped

        wiki.photo_faults = [Fault(), *faults()]
        kb.build(path, [merlin], source(), encoders, settings=settings)
        assert photos() == (["Good.jpg"], SKIPPED)
        for in_vain in (faults(), [Fault(status=500, body=b"no")] * 20):
            wiki.photos_asked.clear()
            wiki.photo_faults = in_vain
            assert kb.build(path, [merlin], source(), encoders, settings=settings).failures == ()
            assert photos() == (["Good.jpg"], SKIPPED)
            assert "Good.jpg" not in wiki.photos_asked
        wiki.photo_faults = []
        found = kb.update(path, [source()], encoders, settings=settings)
        expected = [file for file in FILES if file != "Cut.jpg"]
        assert photos() == (expected, {"Cut.jpg": "unreadable image"})
        assert [change.detail for change in found.changes] == [f"new: {', '.join(expected[1:])}"]
        wiki.photos_asked.clear()
        kb.update(path, [source()], encoders, settings=settings)
        assert wiki.photos_asked == []
