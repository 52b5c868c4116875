"""The page of a photo: whole in itself, with credits, and nothing of a wiki's text taken for markup."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

from cli.cards import card
from data.files import sha256_hex
from data.records import (
    Anchor,
    AnchorMatch,
    Answer,
    Candidate,
    Identification,
    Reading,
    Source,
    SpeciesEntry,
    Taxon,
)
from recognize.explanation import Explanation


class Page(HTMLParser):
    """What a browser would load or follow, and the text it would show."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.sources: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.shown: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = dict(attributes)
        self.sources += [values["src"] or ""] if "src" in values else []
        self.links += [values["href"] or ""] if "href" in values else []

    def handle_data(self, data: str) -> None:
        self.shown.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.shown).split())


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "jay <1>.jpg"
    Image.new("RGB", (900, 600), "steelblue").save(path)
    return path


def page(photo: Path, **changes: object) -> Page:
    sha256 = sha256_hex(photo.read_bytes())
    anchor = Anchor(
        anchor_id=sha256, subject_id="cyanocitta-cristata", sha256=sha256,
        author="A <b>birder</b>", licence="CC BY 4.0", page_url=str(changes.get("page_url", "https://commons.example/File:Jay.jpg")),
    )  # fmt: skip
    candidate = Candidate(
        taxon_id="cyanocitta-cristata", scientific_name="Cyanocitta cristata", common_name="Blue Jay", score=4.25,
        scores={"text": 0.5, "visual": None}, summary="Blue <script>alert(1)</script> & a crest.",
        anchors=(AnchorMatch(id=sha256, similarity=0.75), AnchorMatch(id="vector", similarity=0.5)),
    )  # fmt: skip
    row = Identification(
        image=str(photo), answer=Answer(rank="species", name="Cyanocitta cristata"), candidates=(candidate,),
        preset="default", kb="birds.kb", calibration="abc", reader=changes.get("reader"),  # type: ignore[arg-type]
    )  # fmt: skip
    taxon = Taxon(taxon_id=candidate.taxon_id, scientific_name=candidate.scientific_name, rank="species")
    source = Source(title="Blue jay", url="https://wiki.example/Blue_jay", revision=7, licence="CC BY-SA 4.0")
    entry = SpeciesEntry(taxon=taxon, source=source, anchors=(anchor,))
    why = Explanation(image=str(photo), first=candidate, told_apart="Its crest told it apart.")
    return Page(card(row, "Blue Jay, 90 %", why, [entry], lambda _: photo))


def test_the_page_says_answer_scores_marks_source_and_credits(photo: Path) -> None:
    text = page(photo).text
    for said in (
        "Blue Jay, 90 %",
        "Its crest told it apart.",
        "score text 4.250 0.500",
        "0.750 alike. A <b>birder</b>, CC BY 4.0",
        "0.500 alike. numbers alone, no picture to credit",
        "Blue jay, revision 7, CC BY-SA 4.0",
        "Preset default, knowledge base birds.kb, calibration abc",
    ):
        assert said in text


def test_all_pictures_are_in_the_page_and_nothing_else_is_loaded(photo: Path) -> None:
    found = page(photo)
    assert len(found.sources) == 2
    assert all(source.startswith("data:image/jpeg;base64,") for source in found.sources)
    assert found.links == ["https://commons.example/File:Jay.jpg", "https://wiki.example/Blue_jay"]


def test_text_of_articles_and_authors_is_never_markup(photo: Path) -> None:
    found = page(photo)
    assert "script" not in found.tags
    assert "b" not in found.tags
    assert "Blue <script>alert(1)</script> & a crest." in found.text


def test_an_address_that_is_none_of_the_web_is_no_link(photo: Path) -> None:
    assert page(photo, page_url="javascript:alert(1)").links == ["https://wiki.example/Blue_jay"]


def test_what_the_reader_chose_is_said_with_its_reason(photo: Path) -> None:
    text = page(photo, reader=Reading(choice=None, agreement=0.5, reason="It is a heron.")).text
    assert "The reader chose none of these , agreement 0.50: It is a heron." in text


def test_a_photo_that_is_gone_leaves_words_in_its_place(photo: Path, tmp_path: Path) -> None:
    html = card(
        Identification(image=str(tmp_path / "gone.jpg"), answer=Answer(rank="none", name="")), "cannot tell", None, [],
        lambda _: photo,
    )  # fmt: skip
    assert "(the photo cannot be read)" in Page(html).text


def test_a_photo_with_an_error_says_which(photo: Path) -> None:
    row = Identification(image="broken.jpg", status="error", error="truncated at <byte 7>")
    assert "error: truncated at <byte 7>" in Page(card(row, "no answer", None, [], lambda _: photo)).text
