"""A folder of the user's texts and photos as a source."""

from collections.abc import Iterator
from pathlib import Path
from unicodedata import normalize

import pytest

from data.errors import BadInput
from data.records import Article, Failure, FetchedPage, LeftOut, PageRef
from kb.checklist.avilist import load_checklist
from kb.sources.article_source import AnchorBatch
from kb.sources.folder import FolderSource
from tests.servers.faulty_wiki import jpeg

TEXT = (
    "# Northern Cardinal\n\nThe **northern cardinal** is a [songbird](https://x.example).\n\n## Description\n\n"
    "The male is red.\nIts bill is *coral*.\n\nVoice:\nA whistle.\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "northern cardinal/article.md": TEXT.encode(),
        "northern cardinal/1 male.jpg": jpeg(),
        "northern cardinal/2 again.jpg": jpeg(),
        "northern cardinal/3 broken.jpg": jpeg()[:50],
        "northern cardinal/4 female.png": jpeg((90, 60, 40), size=(64, 64)),
        "northern cardinal/5 tiny.jpg": jpeg(size=(63, 64)),
        "northern cardinal/notes.pdf": b"x",
        "northern cardinal/credits.csv": b"file, Author,licence,url\n1 male.jpg,Ann,CC BY 4.0,https://x.example/1\n"
        b"typo.jpg,Bob,,\n",
        "Upupa epops/page.html": b"<h2>Looks</h2><p>A crest.</p>",
        "Terms/Mirror wing/a.txt": b"A patch on the wing.",
        "Terms/Amplexus/a.jpg": jpeg(),
        "Kea/a.txt": b" \n",
        "Kea/broken.jpg": jpeg()[:50],
    }
    for name in ("Merlin", "Unknown thing", ".git"):
        (tmp_path / name).mkdir()
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    return tmp_path


def located(source: FolderSource) -> dict[str, PageRef | LeftOut]:
    names = ("Cardinalis cardinalis", "Upupa epops", "Falco columbarius", "Nestor notabilis")
    birds = [taxon for name in names if (taxon := load_checklist().find(name)) is not None]
    return {taxon.scientific_name: place for taxon, place in source.locate(birds)}


def articles(source: FolderSource) -> list[Article]:
    pages = [place for place in located(source).values() if isinstance(place, PageRef)]
    return [source.parse(body) for _, body in source.fetch(pages) if isinstance(body, FetchedPage)]


def anchors(source: FolderSource, article: Article, limit: int) -> tuple[AnchorBatch, dict[str, str]]:
    [(key, batch)] = source.fetch_anchors([("a-b", article)], limit=limit)
    assert key == "a-b" and isinstance(batch, AnchorBatch)
    return batch, {item.name: item.reason for item in batch.skipped}


def test_folders_are_found_by_common_or_scientific_name(folder: Path) -> None:
    source = FolderSource(folder)
    found = located(source)
    assert [place.title if isinstance(place, PageRef) else place.reason for place in found.values()] == [
        "northern cardinal", "Upupa epops", "no page", "Kea",
    ]  # fmt: skip
    [(_, kea)] = source.fetch(
        [place for place in found.values() if isinstance(place, PageRef) and place.title == "Kea"]
    )
    assert isinstance(kea, LeftOut) and kea.detail == "Kea: no readable text or photo"
    merlin = found["Falco columbarius"]
    assert isinstance(merlin, LeftOut) and merlin.detail == "Merlin: no article.txt and no photos"
    mirror, other = source.locate_terms([("mirror-wing", None), ("amplexus", None)])
    assert isinstance(mirror[1], PageRef)
    assert (mirror[1].subject_id, mirror[1].title) == ("term:mirror-wing", "Terms/Mirror wing")
    assert other[1] == LeftOut(name="amplexus", reason="no page")


def test_texts_become_articles_with_sections(folder: Path) -> None:
    article, html = articles(FolderSource(folder))
    assert article.text == "The northern cardinal is a songbird.\n\nThe male is red. Its bill is coral.\n\nA whistle."
    assert [(s.title, s.level, article.section_text(s)) for s in article.sections][1:] == [
        ("Description", 2, "The male is red. Its bill is coral."), ("Voice", 2, "A whistle."),
    ]  # fmt: skip
    assert [(s.title, html.section_text(s)) for s in html.sections][1:] == [("Looks", "A crest.")]


def test_photos_become_anchors_and_other_files_are_reported(folder: Path) -> None:
    source = FolderSource(folder)
    batch, skipped = anchors(source, articles(source)[0], limit=3)
    assert [image.anchor.file for image in batch.images] == ["1 male.jpg", "4 female.png"]
    assert batch.images[0].anchor.credit == "Ann, CC BY 4.0 (https://x.example/1)"
    assert batch.images[1].anchor.media_type == "image/jpeg"
    others = {"notes.pdf": "not a photo", "typo.jpg": "no such file"}
    assert skipped == {
        **others, "2 again.jpg": "duplicate photo", "3 broken.jpg": "unreadable image", "5 tiny.jpg": "too small",
    }  # fmt: skip
    _, skipped = anchors(source, articles(source)[0], limit=1)
    beyond = ("2 again.jpg", "3 broken.jpg", "4 female.png", "5 tiny.jpg")
    assert skipped == {**others, **dict.fromkeys(beyond, "beyond the limit")}


def test_any_change_of_a_folder_is_a_new_revision(folder: Path) -> None:
    before = located(FolderSource(folder))
    assert located(FolderSource(folder)) == before
    (folder / "northern cardinal" / "credits.csv").unlink()
    after = located(FolderSource(folder))
    assert after["Cardinalis cardinalis"] != before["Cardinalis cardinalis"]
    assert after["Upupa epops"] == before["Upupa epops"]

    (folder / "Cardinalis cardinalis").mkdir()
    source = FolderSource(folder)
    assert source.unclaimed(source.match(load_checklist())) == [
        LeftOut(name="Unknown thing", reason="not in the checklist"),
        LeftOut(name="northern cardinal", reason="duplicate page", detail="Cardinalis cardinalis is used"),
    ]


def test_a_missing_or_flat_folder_is_refused_with_an_example(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="Folder not found"):
        FolderSource(tmp_path / "none")
    (tmp_path / "Mallard.txt").write_text("The head is green.")
    (tmp_path / ".git").mkdir()
    with pytest.raises(BadInput, match="No subfolders in") as error:
        FolderSource(tmp_path)
    assert error.value.hint is not None and f"{tmp_path}/Mallard/article.txt" in error.value.hint


def test_unreadable_and_vanished_texts_do_not_affect_others(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "Merlin" / "article.txt").write_bytes(b"\xff\xfe\xff")
    (folder / "Nestor notabilis").mkdir()
    listed = Path.iterdir

    def iterdir(path: Path) -> Iterator[Path]:
        if path.name == "Nestor notabilis":  # as of mode 0, for root too
            raise PermissionError
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    source = FolderSource(folder)
    pages = [page for page in located(source).values() if isinstance(page, PageRef)]
    pages.append(PageRef(subject_id="a-b", title="Deleted since", revision=1))
    assert {page.title: type(result) for page, result in source.fetch(pages)} == {
        "northern cardinal": FetchedPage, "Upupa epops": FetchedPage, "Merlin": Failure, "Nestor notabilis": Failure,
        "Deleted since": LeftOut,
    }  # fmt: skip


def test_photos_have_the_extensions_of_cameras_and_credits_the_spelling_of_other_systems(folder: Path) -> None:
    hoopoe = folder / "Upupa epops"
    for number, name in enumerate(("a.HIF", "b.jfif", normalize("NFD", "Küken.JPG"))):
        (hoopoe / name).write_bytes(jpeg((9 * number, 60, 40), size=(64, 64)))
    (hoopoe / "@eaDir").mkdir()
    (hoopoe / "Credits.csv").write_text(f"file,author\nA.hif,Ann\n{normalize('NFC', 'Küken.jpg')},Bob\n")
    source = FolderSource(folder)
    batch, skipped = anchors(source, articles(source)[1], limit=9)
    assert [image.anchor.author for image in batch.images] == ["Bob", "Ann", None]
    assert skipped == {}
    (hoopoe / "Credits.csv").write_text("file,author\na.hif,Ann\nA.HIF,Bob\n")
    [(_, failed)] = source.fetch_anchors([("a-b", articles(source)[1])], limit=9)
    assert isinstance(failed, Failure) and "two lines for a.HIF" in failed.reason


@pytest.mark.parametrize(
    ("credits", "found"),
    [
        ("Datei;File;Urheber;Lizenz\n1;a.jpg;Ann;CC BY 4.0\n", ("Ann", "CC BY 4.0")),
        ("file,rights holder,license\na.jpg,Ann,CC BY 4.0\n", ("Ann", "CC BY 4.0")),
        ("file,terms\na.jpg,CC BY 4.0\n", "expected the columns file,author,licence,url, got file, terms"),
        ("file,author,licence\na.jpg,Smith, Ann,CC BY 4.0\nb.jpg,Bob,CC0\n", "line 2: 1 row with more cells"),
    ],
)
def test_no_photo_with_a_credit_becomes_an_own_one(tmp_path: Path, credits: str, found: object) -> None:
    """A credit is read, or all photos of the species fail."""
    (tmp_path / "Upupa epops").mkdir()
    (tmp_path / "Upupa epops" / "a.jpg").write_bytes(jpeg(size=(64, 64)))
    (tmp_path / "Upupa epops" / "credits.csv").write_text(credits)
    source = FolderSource(tmp_path)
    [article] = articles(source)
    [(_, batch)] = source.fetch_anchors([("a-b", article)], limit=9)
    if isinstance(batch, Failure):
        assert isinstance(found, str) and found in batch.reason
    else:
        assert [(image.anchor.author, image.anchor.licence) for image in batch.images] == [found]
