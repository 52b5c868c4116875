"""Texts in other languages are told from English ones."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from kb.curate.language import is_foreign
from training.distill.groups import own_sentences
from training.distill.labelled import read_pages


def test_other_languages_and_letters_are_foreign() -> None:
    texts = (
        "Der Falter hat orange Flügel mit schwarzer Spitze. Die Raupe ist schwarz und lebt auf Disteln.",
        "Les ailes sont orange avec une pointe noire. La chenille est noire.",
        "Las alas son de color naranja con la punta negra y las antenas de color negro.",
        "Le ali sono arancioni con la punta nera; il bruco è nero e di notte mangia.",
        "De vleugels zijn oranje met een zwarte punt en een witte rand.",
        "Vingarna är orange och spetsen är svart med en vit fläck.",
        "Крылья оранжевые с черным концом.",
        "翅は橙色で先端は黒い。",
    )
    assert [text for text in texts if not is_foreign(text)] == []


def test_notes_without_small_words_and_names_of_places_are_english() -> None:
    for text in ("Wings orange, tip black.", "Common in El Salvador.", "", "12 mm"):
        assert not is_foreign(text)


def test_no_sentence_of_ours_is_foreign() -> None:
    shipped = files("data.starter").joinpath("species.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [text for row in shipped for text in json.loads(row)["text"]] + [each.text for each in own_sentences()]
    assert len(texts) > 2000
    assert [text for text in texts if is_foreign(str(text))] == []


@pytest.mark.integration
def test_no_article_on_birds_is_foreign(shared: Path) -> None:
    pages = read_pages(shared / "birds")
    assert [key for key, page in pages.items() if is_foreign(page.article.text)] == []
