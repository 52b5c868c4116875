"""The facts that ship with Fieldmark agree with themselves."""

from __future__ import annotations

import re

import pytest

from data.starter.knowledge import StarterSpecies, read_species, read_terms

SPECIES = read_species()
PLAIN_COLOURS = {
    "black", "white", "grey", "brown", "buff", "chestnut", "rust", "orange", "yellow", "green", "blue", "purple",
    "pink", "red", "cream", "olive",
}  # fmt: skip
# A word of a sentence -> the colour that it says.
DERIVED = {
    "whitish": "white",
    "reddish": "red",
    "pinkish": "pink",
    "brownish": "brown",
    "silvery": "grey",
    "blackish": "black",
}

per_species = pytest.mark.parametrize("species", SPECIES, ids=lambda species: species.taxon.taxon_id)


def colours_in(text: str) -> set[str]:
    words = re.findall(r"[a-z]+", text.lower())
    return {DERIVED.get(word, word) for word in words} & PLAIN_COLOURS


def test_there_are_at_least_twelve_species_and_forty_terms() -> None:
    assert len(SPECIES) >= 12
    assert len(read_terms()) >= 40


def test_species_and_terms_are_sorted_and_none_comes_twice() -> None:
    ids = [species.taxon.taxon_id for species in SPECIES]
    names = [term.name for term in read_terms()]
    assert ids == sorted(set(ids))
    assert names == sorted(set(names))


@per_species
def test_every_colour_of_the_sentences_is_a_fact(species: StarterSpecies) -> None:
    assert colours_in(" ".join(species.text)) <= species.colours


@per_species
def test_every_fact_says_a_colour_or_a_shape_in_known_words(species: StarterSpecies) -> None:
    for fact in species.facts:
        assert fact.part
        assert fact.colours or fact.shape
        assert set(fact.colours) <= PLAIN_COLOURS


@per_species
def test_the_sentences_hold_the_main_colours_of_the_facts(species: StarterSpecies) -> None:
    """The first colour of each fact of a large part is said somewhere in the text."""
    said = colours_in(" ".join(species.text))
    large = {"plumage", "upperparts", "underparts", "head", "body", "breast", "belly", "wing", "tail", "crest"}
    main = {fact.colours[0] for fact in species.facts if fact.part in large and fact.colours}
    assert main <= said


@per_species
def test_the_length_in_the_text_is_that_of_the_record(species: StarterSpecies) -> None:
    low, high = species.length_cm
    assert 0 < low < high
    assert f"Length {low:g} to {high:g} cm" in " ".join(species.text)


@per_species
def test_a_text_does_not_name_its_species(species: StarterSpecies) -> None:
    """A summary that holds the name would let a model match the name instead of the looks."""
    text = " ".join(species.text).lower()
    for name in (species.taxon.scientific_name, *species.taxon.common_names):
        assert name.lower() not in text


@per_species
def test_every_sentence_ends_and_is_short_enough_for_a_chunk(species: StarterSpecies) -> None:
    for sentence in species.text:
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert len(sentence.split()) <= 45


def test_every_term_is_defined_and_says_what_to_look_for() -> None:
    for term in read_terms():
        assert term.definition.endswith("."), term.name
        assert term.look_for.endswith("."), term.name
        assert term.source is None


def test_no_name_or_alias_belongs_to_two_terms() -> None:
    names = [name.lower() for term in read_terms() for name in (term.name, *term.aliases)]
    assert sorted(names) == sorted(set(names))
