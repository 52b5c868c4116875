"""A folder of the user's texts and photos as a source."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from data.errors import BadInput
from data.records import Failure, FetchedPage, LeftOut, PageRef
from kb.checklist.avilist import load_checklist
from kb.sources.article_source import AnchorBatch
from kb.sources.folder import FolderSource
from tests.servers.faulty_wiki import jpeg

CHECKLIST = load_checklist()
TEXT = """# Northern Cardinal

The **northern cardinal** is a [songbird](https://x.example).

## Description

The male is red.
Its bill is *coral*.

Voice:
A whistle.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    cardinal = tmp_path / "northern cardinal"
    cardinal.mkdir()
    (cardinal / "article.md").write_text(TEXT, encoding="utf-8")
    (cardinal / "1 male.jpg").write_bytes(jpeg())
    (cardinal / "2 again.jpg").write_bytes(jpeg())
    (cardinal / "3 broken.jpg").write_bytes(jpeg()[:50])
    (cardinal / "4 female.png").write_bytes(jpeg((90, 60, 40)))
    (cardinal / "5 tiny.jpg").write_bytes(jpeg(size=(20, 20)))
    (cardinal / "credits.csv").write_text(
        "file,author,licence,url\n1 male.jpg,Ann,CC BY 4.0,https://x.example/1\n", encoding="utf-8"
    )
    hoopoe = tmp_path / "Upupa epops"
    hoopoe.mkdir()
    (hoopoe / "page.html").write_text("<h2>Looks</h2><p>A crest.</p>", encoding="utf-8")
    (tmp_path / "Merlin").mkdir()
    (tmp_path / "Unknown thing").mkdir()
    (tmp_path / "Terms" / "Mirror wing").mkdir(parents=True)
    (tmp_path / "Terms" / "Mirror wing" / "a.txt").write_text("A patch on the wing.", encoding="utf-8")
    return tmp_path


def located(source: FolderSource) -> dict[str, PageRef | LeftOut]:
    birds = [
        CHECKLIST.find(name)
        for name in ("Cardinalis cardinalis", "Upupa epops", "Falco columbarius", "Nestor notabilis")
    ]
    return {taxon.scientific_name: place for taxon, place in source.locate([bird for bird in birds if bird])}


def test_folders_are_found_by_common_or_scientific_name(folder: Path) -> None:
    found = located(FolderSource(folder))
    assert [place.title if isinstance(place, PageRef) else place.reason for place in found.values()] == [
        "northern cardinal", "Upupa epops", "no page", "no page",
    ]  # fmt: skip
    merlin = found["Falco columbarius"]
    assert isinstance(merlin, LeftOut)
    assert merlin.detail == "Merlin: no article.txt and no photos"


def test_texts_become_articles_with_sections(folder: Path) -> None:
    source = FolderSource(folder)
    pages = [place for place in located(source).values() if isinstance(place, PageRef)]
    fetched = [body for _, body in source.fetch(pages) if isinstance(body, FetchedPage)]
    article, html = (source.parse(body) for body in fetched)
    assert article.text == "The northern cardinal is a songbird.\n\nThe male is red. Its bill is coral.\n\nA whistle."
    assert [(s.title, article.section_text(s)) for s in article.sections][1:] == [
        ("Description", "The male is red. Its bill is coral."),
        ("Voice", "A whistle."),
    ]
    assert [(s.title, html.section_text(s)) for s in html.sections][1:] == [("Looks", "A crest.")]
    assert source.parse(fetched[0]) == article


def test_photos_become_anchors_and_bad_ones_are_reported(folder: Path) -> None:
    source = FolderSource(folder)
    page = located(source)["Cardinalis cardinalis"]
    assert isinstance(page, PageRef)
    ((_, body),) = source.fetch([page])
    assert isinstance(body, FetchedPage)
    ((key, batch),) = source.fetch_anchors([("cardinalis-cardinalis", source.parse(body))], limit=3)
    assert key == "cardinalis-cardinalis"
    assert isinstance(batch, AnchorBatch)
    assert [image.anchor.file for image in batch.images] == ["1 male.jpg", "4 female.png"]
    assert batch.images[0].anchor.credit == "Ann, CC BY 4.0 (https://x.example/1)"
    assert batch.images[1].anchor.media_type == "image/jpeg"
    assert {item.name: item.reason for item in batch.skipped} == {
        "2 again.jpg": "duplicate photo", "3 broken.jpg": "unreadable image", "5 tiny.jpg": "too small",
    }  # fmt: skip


def test_any_change_of_a_folder_is_a_new_revision(folder: Path) -> None:
    before = located(FolderSource(folder))
    assert located(FolderSource(folder)) == before
    (folder / "northern cardinal" / "credits.csv").unlink()
    after = located(FolderSource(folder))
    assert after["Cardinalis cardinalis"] != before["Cardinalis cardinalis"]
    assert after["Upupa epops"] == before["Upupa epops"]


def test_terms_are_read_from_the_terms_folder(folder: Path) -> None:
    (one, two) = FolderSource(folder).locate_terms([("mirror-wing", None), ("amplexus", None)])
    assert isinstance(one[1], PageRef)
    assert one[1].subject_id == "term:mirror-wing"
    assert two[1] == LeftOut(name="amplexus", reason="no page")


def test_folders_without_a_taxon_are_reported(folder: Path) -> None:
    birds = CHECKLIST.find("Aves")
    assert birds is not None
    others = FolderSource(folder).unclaimed(CHECKLIST.species_of(birds))
    assert [item.name for item in others] == ["Unknown thing"]


def test_unreadable_text_is_a_failure_and_a_missing_folder_an_error(folder: Path) -> None:
    (folder / "northern cardinal" / "article.md").write_bytes(b"\xff\xfe\xff")
    source = FolderSource(folder)
    page = located(source)["Cardinalis cardinalis"]
    assert isinstance(page, PageRef)
    ((_, result),) = source.fetch([page])
    assert isinstance(result, Failure)
    with pytest.raises(BadInput, match="Folder not found"):
        FolderSource(folder / "none")


def test_a_folder_without_subfolders_is_refused_with_an_example(tmp_path: Path) -> None:
    (tmp_path / "Mallard.txt").write_text("The head is green.")
    (tmp_path / ".git").mkdir()
    with pytest.raises(BadInput, match="No subfolders in") as error:
        FolderSource(tmp_path)
    assert error.value.hint is not None
    assert f"{tmp_path}/Mallard/article.txt" in error.value.hint


def test_a_folder_deleted_after_the_look_up_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "Kea").mkdir()
    page = PageRef(subject_id="corvus-corax", title="Common Raven", revision=1)
    [(_, result)] = FolderSource(tmp_path).fetch([page])
    assert isinstance(result, LeftOut)
    assert result.reason == "no page"


@pytest.mark.skipif(not Path("/proc/self/mem").is_file(), reason="needs a file that cannot be read, even by root")
def test_an_unreadable_file_does_not_affect_others(tmp_path: Path) -> None:
    for name in ("Blue Jay", "Common Raven"):
        (tmp_path / name).mkdir()
    (tmp_path / "Blue Jay" / "article.txt").write_text("The crown is blue.", encoding="utf-8")
    (tmp_path / "Blue Jay" / "a.jpg").symlink_to("/proc/self/mem")
    (tmp_path / "Blue Jay" / "b.jpg").write_bytes(jpeg())
    (tmp_path / "Common Raven" / "article.txt").symlink_to("/proc/self/mem")
    source = FolderSource(tmp_path)
    taxa = [taxon for name in ("Blue Jay", "Common Raven") if (taxon := CHECKLIST.find(name))]
    pages = [page for _, page in source.locate(taxa) if isinstance(page, PageRef)]
    fetched = {page.title: result for page, result in source.fetch(pages)}
    assert isinstance(fetched["Common Raven"], Failure)
    assert isinstance(fetched["Blue Jay"], FetchedPage)
    [(_, batch)] = source.fetch_anchors([("blue-jay", source.parse(fetched["Blue Jay"]))], limit=3)
    assert isinstance(batch, AnchorBatch)
    assert [image.anchor.file for image in batch.images] == ["b.jpg"]
    assert [(photo.name, photo.reason) for photo in batch.skipped] == [("a.jpg", "unreadable image")]


def test_folders_and_files_that_are_not_used_are_named(folder: Path) -> None:
    cardinal = folder / "northern cardinal"
    (folder / "Cardinalis cardinalis").mkdir()
    (folder / "Cardinalis cardinalis" / "notes.txt").write_text("The male is red.", encoding="utf-8")
    others = FolderSource(folder).unclaimed([bird for bird in [CHECKLIST.find("Cardinalis cardinalis")] if bird])
    assert LeftOut(name="northern cardinal", reason="duplicate page", detail="Cardinalis cardinalis is used") in others
    shutil.rmtree(folder / "Cardinalis cardinalis")
    (cardinal / "notes.pdf").write_bytes(b"x")
    with (cardinal / "credits.csv").open("a") as credits:
        credits.write("typo.jpg,Bob,,\n")
    source = FolderSource(folder)
    page = located(source)["Cardinalis cardinalis"]
    assert isinstance(page, PageRef)
    [(_, body)] = source.fetch([page])
    assert isinstance(body, FetchedPage)
    [(_, batch)] = source.fetch_anchors([("cardinalis-cardinalis", source.parse(body))], limit=1)
    assert isinstance(batch, AnchorBatch)
    assert {photo.name: photo.reason for photo in batch.skipped} == {
        "notes.pdf": "not a photo",
        "typo.jpg": "no such file",
        **dict.fromkeys(("2 again.jpg", "3 broken.jpg", "4 female.png", "5 tiny.jpg"), "beyond the limit"),
    }
