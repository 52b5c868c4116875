"""Consistency of the shipped facts, texts and terms."""

from __future__ import annotations

import re
from pathlib import Path

from data.records import Term
from data.starter.knowledge import StarterSpecies, read_species, read_terms
from data.starter.vectors import read_vectors
from kb.lookup.senses import group_of_noun

SPECIES = read_species()
BY_HAND = [species for species in SPECIES if species.by_hand]
COMPOSED = [species for species in SPECIES if species.text and not species.by_hand]
WORDS = (
    "black white grey brown buff chestnut rust rufous orange yellow green blue purple pink red cream olive "
    "turquoise bronze silvery violet pinkish horn"
)
PLAIN_COLOURS = frozenset(WORDS.split())
COMMON_TERMS = (
    "amplexus, osmeterium, leucistic, moult, exuviae, ovipositor, allopreening, axanthism, melanistic, "
    "albino, vigilant, bugling, fluke, brood parasitism, vocal sac, egg sac, chela, radio collar, "
    "mange, rhynchokinesis, gall, wallowing, leg band, bioluminescence, pollen basket, fairy ring, regenerated tail, "
    "palmate antlers, nuptial pad"
)
# A word of a sentence -> its colour.
DERIVED = {
    "whitish": "white",
    "reddish": "red",
    "brownish": "brown",
    "blackish": "black",
    "silvery": "grey",
    "pinkish": "pink",
    "violet": "purple",
}


def colours_in(text: str) -> set[str]:
    words = re.findall(r"[a-z]+", text.lower())
    return {DERIVED.get(word, word) for word in words if word in PLAIN_COLOURS or word in DERIVED}


def known_colours(species: StarterSpecies) -> set[str]:
    return {DERIVED.get(colour, colour) for colour in species.colours}


def test_the_numbers_of_species_and_terms_are_large_enough() -> None:
    assert len(SPECIES) >= 2500
    assert len(BY_HAND) >= 12
    assert len(read_terms()) >= 100


def test_the_documentation_gives_the_numbers_of_shipped_species() -> None:
    with_photos = read_vectors().rows.keys()
    readme, tutorial = (Path(name).read_text(encoding="utf-8") for name in ("README.md", "docs/tutorials/birder.md"))
    assert f"{len(SPECIES):,} species that ship" in readme
    assert f"For {len(with_photos):,} of them\nwhat ships was computed from reference photos" in readme
    assert f"knowledge of {len(SPECIES):,} species" in tutorial


def test_species_and_terms_are_sorted_and_unique() -> None:
    ids = [species.taxon.taxon_id for species in SPECIES]
    names = [term.name for term in read_terms()]
    assert ids == sorted(set(ids))
    assert names == sorted(set(names))


def test_every_colour_in_a_text_is_a_fact_and_every_fact_has_a_known_colour_shape_or_shade() -> None:
    for species in SPECIES:
        assert colours_in(" ".join(species.text)) <= known_colours(species), species.taxon.taxon_id
        for fact in species.facts:
            assert fact.part
            assert fact.colours or fact.shape or fact.shade, species.taxon.taxon_id
            assert {word for colour in fact.colours for word in colour.split("-")} <= PLAIN_COLOURS


def test_each_part_has_one_fact_per_sex() -> None:
    for species in SPECIES:
        if not species.by_hand:
            parts = [(fact.part, fact.sex) for fact in species.facts]
            assert len(parts) == len(set(parts)), species.taxon.taxon_id


def test_texts_by_hand_give_the_length_and_the_first_colour_of_each_large_part() -> None:
    large = {"plumage", "upperparts", "underparts", "head", "body", "breast", "belly", "wing", "tail", "crest"}
    for species in BY_HAND:
        text = " ".join(species.text)
        main = {fact.colours[0] for fact in species.facts if fact.part in large and fact.colours}
        assert main <= colours_in(text), species.taxon.taxon_id
        assert species.length_cm is not None
        low, high = species.length_cm
        assert 0 < low < high
        assert f"Length {low:g} to {high:g} cm" in text, species.taxon.taxon_id


def test_sentences_are_short_and_punctuated_and_do_not_name_the_species() -> None:
    """With the name in the summary, a model could match the name instead of the looks."""
    for species in SPECIES:
        text = " ".join(species.text).lower()
        for name in (species.taxon.scientific_name, *species.taxon.common_names):
            assert name.lower() not in text, species.taxon.taxon_id
        for sentence in species.text:
            assert sentence[0].isupper()
            assert re.search(r"[a-z]\.$|\d cm\.$", sentence)
            assert len(sentence.split()) <= 45


def test_a_composed_text_has_one_to_five_grammatical_sentences() -> None:
    for species in COMPOSED:
        text = " ".join(species.text)
        where = f"{species.taxon.taxon_id}: {text}"
        assert 1 <= len(species.text) <= 5, where
        assert "  " not in text, where
        assert not re.search(r"\ba [aeiou]|\ban [^aeiou]", text, re.IGNORECASE), where
        assert not re.search(r"\b(\w+) \1\b", text), where
        assert not re.search(r" [,.;]|,,|, and and|, \.", text), where
        assert not re.search(r"\b(?:wings|legs|eyes|upperparts|underparts) is\b", text), where
        assert not re.search(r"\b(?:the|The) (?:bill|tail|crown|nape|back|belly|breast|throat|head) are\b", text), where
        assert not re.search(
            r"\ba (?:(?!and\b)[\w-]+ )*(?:wings|legs|eyes|upperparts|underparts|wing bars|plumage)\b", text
        ), where
        assert "shade" not in text and "eyering" not in text and "wingbars" not in text, where


def test_every_term_has_a_definition_and_a_visual_cue() -> None:
    for term in read_terms():
        assert term.definition.endswith("."), term.name
        assert term.look_for.endswith("."), term.name
        assert term.source is None


def test_a_name_or_alias_belongs_to_two_terms_of_different_groups_alone() -> None:
    named: dict[str, list[Term]] = {}
    for term in read_terms():
        for name in (term.name, *term.aliases):
            named.setdefault(name.lower(), []).append(term)
    for name, terms in named.items():
        groups = [group for term in terms for group in term.groups or ("any",)]  # one may be of any other group
        assert len(groups) == len(set(groups)), name


def test_groups_of_terms_are_groups_of_organisms() -> None:
    groups = {group for term in read_terms() for group in term.groups}
    assert {group for group in groups if group_of_noun(group) is None} == set()


def test_common_search_terms_are_included() -> None:
    names = {name for term in read_terms() for name in (term.name, *term.aliases)}
    assert set(COMMON_TERMS.split(", ")) <= names
