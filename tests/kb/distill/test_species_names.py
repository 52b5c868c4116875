"""Names are hidden the same whether or not a sentence is looked at with the patterns, which are made when needed."""

from __future__ import annotations

import re

import pytest

from data.records import Taxon
from kb.distill import species_names
from kb.distill.species_names import NameHider

TAXON = Taxon(
    taxon_id="passer-griseus",
    scientific_name="Passer griseus",
    rank="species",
    common_names=("Grey-headed Kiskadee's Sparrow", "Grey", "Śliczny Wróbel"),
    synonyms=("Fringilla grisea",),
    lineage={"class": "Aves"},
)
SENTENCES = (
    "The GRAY headed kiskadee’s sparrow is small.",
    "Male grey headed Kiskadee's sparrows are larger than other gray-headed kiskadee's sparrows.",
    "The sparrow has a stout bill.",
    "The ſparrow has a stout bill.",
    "A Kiskadee ran past the Grey-headed \u212aiskadee's Sparrow.",
    "It is like P. griseus or PASSER GR\u0130SEUS, and FRINGILLA GR\u0131SEA.",
    "The śliczny wróbel is grey, and gray birds are greys.",
    "The crown is black with dark streaks.",
    "Sparrows of other kinds are larger.",
)


def test_hidden_as_with_all_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    hider = NameHider(TAXON, "Grey-headed sparrow (bird)")
    found = [(hider.hide(sentence), hider.names_in(sentence)) for sentence in SENTENCES]
    assert [len(names) for _, names in found] == [1, 2, 0, 0, 1, 3, 4, 0, 0]
    assert [text for text, _ in found[2:5]] == [
        "It has a stout bill.", "It has a stout bill.", "A Kiskadee ran past this species.",
    ]  # fmt: skip
    monkeypatch.setattr(species_names, "_may_have", lambda *_: True)
    assert [(hider.hide(sentence), hider.names_in(sentence)) for sentence in SENTENCES] == found


def test_no_pattern_is_made_for_sentences_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making them took a sixth of a build of made-up pages."""
    taxon = Taxon(taxon_id="a-b", scientific_name="Aves bella", rank="species", common_names=("Red Wren",))
    hider = NameHider(taxon)
    monkeypatch.setattr(re, "compile", lambda *_: pytest.fail("a pattern was made"))
    assert hider.hide("the crown is black with dark streaks.") == "The crown is black with dark streaks."
    assert hider.names_in("The crown is black.") == []
