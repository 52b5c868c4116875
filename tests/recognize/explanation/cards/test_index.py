"""Index of cards: entries from the cards, escaped and self-contained."""

from pathlib import Path

import pytest
from PIL import Image

from data.records import Answer, Identification
from recognize.explanation.cards.index import write_index
from recognize.explanation.cards.page import card, card_path


def add_card(folder: Path, name: str, answer: Answer | None, status: str = "identified") -> None:
    photo = folder / name
    Image.new("RGB", (900, 600), "steelblue").save(photo)
    row = Identification(image=str(photo), answer=answer, status=status, error="damaged")  # type: ignore[arg-type]
    card_path(row.image, folder).write_text(card(row, None, [], Path), encoding="utf-8")


@pytest.mark.parametrize(
    ("answer", "status", "expected"),
    [
        (Answer(rank="species", name="Avis avis", common_name="Bird", confidence=0.83), "identified",
         "<b>Bird</b><span class=sci>Avis avis</span><span class=sure>83 % sure</span>"),
        (Answer(rank="species", name="Avis avis", common_name="Bird"), "identified",
         "<b>Bird</b><span class=sci>Avis avis</span><span class=sure>best match</span>"),
        (Answer(rank="genus", name="Avis", confidence=0.7), "identified", "<b>Avis sp.</b><span class=sure>70 % sure"),
        (Answer(rank="none", name="", p_unknown=0.1), "not_sure", "<b>Not sure</b><span class=small>"),
        (Answer(rank="none", name="", confidence=0.6, p_unknown=0.6), "unknown",
         "<b>Probably not in the knowledge base</b><span class=sure>60 %</span>"),
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
        "a &quot;&lt;b&gt; &amp;.jpg", "<b>O&#x27;Bird &amp; &lt;Co&gt;</b>", "default-src 'none'; img-src data:",
        "1 photo: 1 identified.",
    ):  # fmt: skip
        assert expected in text
    assert (text.count("<li>"), str(tmp_path) in text, "<script" in text) == (1, False, False)
