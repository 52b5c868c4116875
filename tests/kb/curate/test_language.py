"""Texts in other languages are told from English ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from kb.curate.language import is_foreign
from training.distill.groups import own_sentences
from training.distill.labelled import read_pages


def test_other_languages_and_letters_are_foreign() -> None:
    texts = (
        "Der Falter hat orange Flügel mit schwarzer Spitze. Die Raupe ist schwarz und lebt auf Disteln.",
        "Les ailes sont orange avec une pointe noire. La chenille est noire.",
        "De vleugels zijn oranje met een zwarte punt en een witte rand.",
        "Vingarna är orange och spetsen är svart med en vit fläck.",
        "Крылья оранжевые с черным концом.",
        "翅は橙色で先端は黒い。",
    )
    assert [text for text in texts if not is_foreign(text)] == []
    for text in ("Wings orange, tip black.", "Common in El Salvador.", "", "12 mm"):
        assert not is_foreign(text)


@pytest.mark.integration
def test_no_article_on_birds_and_no_sentence_of_ours_is_foreign(shared: Path) -> None:
    pages = read_pages(shared / "birds")
    assert [each.text for each in own_sentences() if is_foreign(each.text)] == []
    assert [key for key, page in pages.items() if is_foreign(page.article.text)] == []
