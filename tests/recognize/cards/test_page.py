import base64
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from data.files import sha256_hex
from data.records import Anchor, AnchorMatch, Answer, Candidate, Identification, Reading, Source, SpeciesEntry, Taxon
from recognize.cards.index import write_index
from recognize.cards.page import card, card_path
from recognize.explanation import Explanation


class Page(HTMLParser):
    """Addresses that a browser would load or follow, and the text it would show."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html, self.tags, self.shown = html, list[str](), list[str]()
        self.sources, self.links = list[str](), list[str]()
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = dict(attributes)
        self.sources += [values["src"] or ""] if "src" in values else []
        self.links += [values["href"] or ""] if "href" in values else []

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] != ["style"]:
            self.shown.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.shown).split())


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "jay <1>.jpg"
    Image.new("RGB", (900, 600), "steelblue").save(path)
    return path


OTHER = Candidate(
    taxon_id="cyanocitta-stelleri", scientific_name="Cyanocitta stelleri", common_name="Steller's Jay", score=3.0,
    scores={"text_part": 2.5, "visual_part": -0.5, "list": 1.0, "text": 0.4, "visual": 0.2},
    summary="A red tail and a black crest.",
)  # fmt: skip


def page(photo: Path, *others: Candidate, **changes: Any) -> Page:
    """Return the page of a jay's photo: one candidate with a picture anchor and a vector anchor, then the others."""
    sha256 = sha256_hex(photo.read_bytes())
    anchor = Anchor(
        anchor_id=sha256, subject_id="cyanocitta-cristata", sha256=sha256,
        author="A <b>birder</b>", licence="CC BY 4.0", licence_url="https://cc.example/by/4.0",
        page_url=changes.pop("page_url", "https://commons.example/File:Jay.jpg"),
    )  # fmt: skip
    candidate = Candidate(
        taxon_id="cyanocitta-cristata", scientific_name="Cyanocitta cristata",
        common_name=changes.pop("common_name", "Blue Jay"), score=4.25,
        scores={"text_part": 4.0, "visual_part": 0.25, "text": 0.5, "visual": None},
        summary=changes.pop("summary", "Blue <script>alert(1)</script> & a white crest."),
        anchors=(AnchorMatch(id=sha256, similarity=0.75), AnchorMatch(id="vector", similarity=0.5)),
    )  # fmt: skip
    candidates = (candidate, *others)
    row = Identification(
        image=str(photo), answer=Answer(rank="species", name="Cyanocitta cristata", common_name="Blue Jay"),
        candidates=candidates, preset="default", kb="birds.kb", calibration="abc",
    )  # fmt: skip
    why = Explanation(first=candidate, score_text="It is <ahead>.", anchor_text=changes.pop("anchor_text", ""))
    row = replace(row, **changes)
    source = Source(title="Blue jay", url="https://wiki.example/Blue_jay", revision=7, licence="CC BY-SA 4.0")
    entries = [
        SpeciesEntry(
            taxon=Taxon(taxon_id=each.taxon_id, scientific_name=each.scientific_name, rank="species"),
            source=source if each is candidate else None,
            anchors=(anchor,) if each is candidate else (),
        )
        for each in row.candidates
    ]
    return Page(card(row, why, entries, lambda _: photo))


def species(confidence: Any = None, p_unknown: Any = None, name: str = "Cyanocitta cristata") -> Answer:
    common = "Blue Jay" if name == "Cyanocitta cristata" else None
    return Answer(rank="species", name=name, common_name=common, confidence=confidence, p_unknown=p_unknown)


def higher(rank: Any, name: str, confidence: float | None, p_unknown: float | None) -> Answer:
    return Answer(rank=rank, name=name, confidence=confidence, p_unknown=p_unknown)


RECORD = Path(__file__).with_name("shown.txt")
V2 = replace(OTHER, scores={"text": 0.5, "visual": 0.25})
OF_READER = {
    "answer": Answer(rank="species", name="Cyanocitta stelleri", common_name="Steller's Jay"),
    "reader": Reading(choice="cyanocitta-stelleri", agreement=2 / 3, margin=1.25, reason="A <black> crest."),
}
PLACED = replace(OTHER, scores={**OTHER.scores, "place": 0.0}, range_text="reported there and then")
IN_OREGON = {
    "candidates": (PLACED,), "answer": species(0.8, 0.05, OTHER.scientific_name), "place_name": "Oregon in May",
    "answer_without_place": species(),
}  # fmt: skip
WITHOUT_LIST = (
    species(0.4, name="Cyanocitta stelleri"), higher("genus", "Cyanocitta", 0.6, None), higher("none", "", 0.7, 0.7),
    higher("none", "", None, 0.3),
)  # fmt: skip
ANSWERS = (
    species(0.83, 0.05), species(0.95, 0.05), species(1.0), higher("genus", "Cyanocitta", 0.6, 0.1),
    higher("family", "Corvidae", 0.6, 0.1), higher("none", "", 0.7, 0.7), higher("none", "", None, 0.3),
)  # fmt: skip
SHOWN: tuple[tuple[tuple[Candidate, ...], dict[str, Any]], ...] = (
    ((), {"place": (47.6062, -122.3321), "date": "2026-05-01", "anchor_text": "Of Blue <Jay>."}),
    ((), IN_OREGON),
    ((OTHER,), {}),
    ((replace(OTHER, summary="A white crest."),), {"summary": "A white crest."}),
    ((replace(OTHER, summary=None),), {}),
    ((replace(OTHER, scores={**OTHER.scores, "clip": 0.25, "siglip": 0.125}),), {}),
    ((V2,), {"preset": "vr-rag-v2"}),
    ((V2,), {"preset": "vr-rag-v1"}),
    ((OTHER,), OF_READER),
    ((), {"reader": Reading(choice="cyanocitta-cristata", agreement=1.0)}),
    ((), {"reader": Reading(choice=None, agreement=1.0, reason="A heron.")}),
    ((), {"reader": Reading(choice=None, agreement=0.0, reason="no reply")}),
    *(((), {"answer": species(0.9), "answer_without_list": each, "species_list": "list-1"}) for each in WITHOUT_LIST),
    ((), {"answer": species(0.83), "calibration": "estimated-0123456789ab"}),
    *(((), {"answer": answer}) for answer in ANSWERS),
)


def test_the_page_shows_answer_evidence_sources_and_how_sure_it_is(photo: Path) -> None:
    """`shown.txt` has the text of the page of each case in a line."""
    texts = [page(photo, *others, **changes).text for others, changes in SHOWN]
    assert texts == RECORD.read_text(encoding="utf-8").splitlines()


def test_pictures_are_embedded_without_exif_data_and_nothing_is_loaded(tmp_path: Path) -> None:
    path, exif = tmp_path / "jay.jpg", Image.Exif()
    exif[0x010F] = "Camera of Somebody"
    Image.new("RGB", (64, 64), "steelblue").save(path, exif=exif, comment=b"Camera of Somebody")
    assert b"Camera of Somebody" in path.read_bytes()
    found = page(path)
    assert len(found.sources) == 2
    for source in found.sources:
        kind, _, picture = source.partition(",")
        assert kind == "data:image/jpeg;base64" and b"Camera of Somebody" not in base64.b64decode(picture)
    assert set(found.tags).isdisjoint(("script", "link", "iframe", "object", "base", "form"))
    assert "url(" not in found.html and "@import" not in found.html
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'" in found.html
    assert found.links == [
        "https://commons.example/File:Jay.jpg", "https://cc.example/by/4.0", "https://wiki.example/Blue_jay",
    ]  # fmt: skip


def test_differing_marks_are_tabulated_and_bars_follow_stage_scores(photo: Path) -> None:
    found = page(photo, OTHER)
    assert re.findall("<mark>(.*?)</mark>", found.html) == ["white", "red", "black"]
    assert re.findall("<li>(.*?)</li>", found.html) == ["white crest"]
    widths = re.findall(r'<i class="(bar|bar less)" style="width:(\d+)%">', found.html)
    assert widths == [("bar", "100"), ("bar", "6"), ("bar", "62"), ("bar less", "12"), ("bar", "25")]


def test_marks_that_most_candidates_lack_come_first_and_female_marks_last(photo: Path) -> None:
    others = [
        replace(OTHER, summary="A buff tail."),
        replace(OTHER, taxon_id="b", summary="A white crest. The female has a red bill."),
    ]
    summary = "The female has a black bill. Both sexes have a white crest and a green tail."
    found = page(photo, *others, summary=summary)
    assert re.findall("<li>(.*?)</li>", found.html) == [
        "green tail", "white crest <small>1 of 2</small>", "black bill of the female",
    ]  # fmt: skip
    assert "bill of the female red black" in found.text


def test_unknown_authors_are_stated_and_vector_anchors_have_no_picture(photo: Path) -> None:
    matches = (AnchorMatch(id="a", similarity=0.5), AnchorMatch(id="b", similarity=0.25))
    anchors = {
        "a": Anchor(anchor_id="a", subject_id="x", sha256="0" * 64, page_url="https://x.example"),
        "b": Anchor(anchor_id="b", subject_id="x"),
    }
    candidate = Candidate(taxon_id="x", scientific_name="A jay", common_name="Jay", score=1.0, anchors=matches)
    taxon = Taxon(taxon_id="x", scientific_name="A jay", rank="species")

    def html(*given: Anchor) -> str:
        row = Identification(image=str(photo), answer=Answer(rank="none", name=""), candidates=(candidate,))
        return card(row, None, [SpeciesEntry(taxon=taxon, anchors=given)], lambda _: photo)

    assert html(anchors["a"], anchors["b"]).count("a reference photo of Jay") == 1
    assert ">unknown author</a>, licence unknown" in html(anchors["a"])
    assert "<b>similarity 0.50</b><br>your own" in html(Anchor(anchor_id="a", subject_id="x", sha256="0" * 64))
    assert "reference photo" not in html(anchors["b"])


def test_a_notebook_shows_the_head_of_the_card(photo: Path) -> None:
    row = Identification(image=str(photo), answer=species(0.95), preset="default", kb="birds.kb", calibration="abc")
    shown = Page(row._repr_html_())
    assert shown.text.startswith("Blue Jay Cyanocitta cristata 95 % sure")
    assert len(shown.sources) == 1 and shown.sources[0].startswith("data:image/jpeg;base64,")
    assert Page(replace(row, image="gone.jpg")._repr_html_()).sources == [], "the file of a row may be gone"


def test_a_missing_photo_and_an_error_are_stated(photo: Path, tmp_path: Path) -> None:
    row = Identification(image=str(tmp_path / "gone.jpg"), answer=Answer(rank="none", name=""))
    assert "(the photo cannot be read)" in Page(card(row, None, [], lambda _: photo)).text
    row = Identification(image="at/home/broken.jpg", status="error", error="at/home/broken.jpg ends at <byte 7>")
    text = Page(card(row, None, [], lambda _: photo)).text
    assert "No answer for broken.jpg Photo unreadable broken.jpg ends at <byte 7>" in text
    assert "at/home" not in text


def test_reader_texts_and_file_names_are_escaped(tmp_path: Path) -> None:
    photo = tmp_path / "<img src=x onerror=alert(1)>.png"
    Image.new("RGB", (60, 40)).save(photo)
    bad = "</p><script>alert(1)</script><a href='javascript:alert(1)'>"
    reader = Reading(choice="cyanocitta-cristata", agreement=1.0, reason=bad)
    shown = page(photo, common_name=bad, reader=reader, page_url="javascript:alert(1)")
    assert not {"script", "base", "iframe"}.intersection(shown.tags)
    assert all(source.startswith("data:image/jpeg;base64,") for source in shown.sources)
    assert not any("javascript" in link for link in shown.links)
    assert bad in shown.text


def add_card(folder: Path, name: str, answer: Answer | None, status: str = "identified") -> None:
    photo = folder / name
    Image.new("RGB", (900, 600), "steelblue").save(photo)
    row = Identification(image=str(photo), answer=answer, status=status, error="damaged")  # type: ignore[arg-type]
    card_path(row.image, folder).write_text(card(row, None, [], Path), encoding="utf-8")


@pytest.mark.parametrize(
    ("answer", "status", "expected"),
    [
        (Answer(rank="species", name="Avis avis", common_name="Bird", confidence=0.83), "identified",
         "<b>Probably Bird</b><span class=sci>Avis avis</span><span class=sure>83 % sure</span>"),
        (Answer(rank="species", name="Avis avis", common_name="Bird"), "identified",
         "<b>Bird</b><span class=sci>Avis avis</span><span class=sure>best match</span>"),
        (Answer(rank="genus", name="Avis", confidence=0.7), "identified",
         "<b>One of the genus Avis</b><span class=sure>70 % sure"),
        (Answer(rank="none", name="", p_unknown=0.1), "not_sure", "<b>Not sure</b><span class=small>"),
        (Answer(rank="none", name="", confidence=0.6, p_unknown=0.6), "unknown",
         "<b>Probably not in the knowledge base</b><span class=sure>60 % sure</span>"),
        (None, "error", "<b>Photo unreadable</b><span class=small>"),
    ],
)  # fmt: skip
def test_a_tile_has_the_answer_and_its_confidence(tmp_path: Path, answer: Answer, status: str, expected: str) -> None:
    add_card(tmp_path, "bird.jpg", answer, status)
    assert write_index(tmp_path) == tmp_path / "index.html"
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert expected in text
    assert text.count("<img") == (0 if status == "error" else 1)


def test_names_are_escaped_nothing_is_loaded_and_other_pages_are_left_out(tmp_path: Path) -> None:
    assert write_index(tmp_path) is None
    (tmp_path / "notes.html").write_text("<p>mine</p>")
    add_card(tmp_path, 'a "<b> &.jpg', Answer(rank="species", name="<i>", common_name="O'Bird & <Co>"))
    write_index(tmp_path)
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    for expected in (
        "a &#34;&lt;b&gt; &amp;.jpg", "<b>O&#39;Bird &amp; &lt;Co&gt;</b>", "default-src 'none'; img-src data:",
        "1 photo: 1 identified.",
    ):  # fmt: skip
        assert expected in text
    assert (text.count("<li>"), str(tmp_path) in text, "<script" in text) == (1, False, False)
