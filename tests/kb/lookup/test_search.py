"""Search for species by name and by description."""

from __future__ import annotations

import pytest

from data.errors import SpaceMismatch
from data.records import SpeciesEntry
from kb.lookup.context import context
from kb.lookup.search import search
from tests.kb.lookup.shelf import ENCODER, STORE, entry
from tests.memory_store import BagOfWords, ShelfStore


def first(text: str) -> str:
    return search(STORE, text, ENCODER)[0].common_name


def test_birds_are_found_by_description() -> None:
    assert first("red crest and black face") == "Northern Cardinal"
    assert first("heart shaped white face") == "Western Barn Owl"
    assert first("grey bird, yellow bill, red crest") == "Pyrrhuloxia"


def test_everyday_and_misspelt_words_are_understood() -> None:
    assert first("gray bird, scarlet topknot, yelow beak") == "Pyrrhuloxia"
    assert first("black top of the head") == "Black-crowned Night Heron"


def test_near_colours_and_parts_match() -> None:
    twins = [
        entry("Avis una", "Una", "The breast is rufous and the belly is white.", family="Avidae", order="Aviformes"),
        entry("Avis duo", "Duo", "The breast is white and the belly is black.", family="Avidae", order="Aviformes"),
    ]
    found = search(ShelfStore(twins, [], ENCODER), "orange underparts", ENCODER)
    assert found[0].common_name == "Una"


def test_a_name_outranks_any_description_of_another_species() -> None:
    assert first("northern cardinal, grey with a red crest and a yellow bill") == "Northern Cardinal"
    assert first("owl with a heart-shaped white face") == "Western Barn Owl"


def test_relatives_of_a_named_group_are_preferred() -> None:
    birds = [
        entry("Anas platyrhynchos", "Mallard", "The head is green.", family="Anatidae", order="Anseriformes"),
        entry("Anas acuta", "Pintail Duck", "The tail is long.", family="Anatidae", order="Anseriformes"),
        entry("Chloris chloris", "Greenfinch", "The head is green.", family="Fringillidae", order="Passeriformes"),
    ]
    store = ShelfStore(birds, [], ENCODER)
    scores = {match.common_name: match.score for match in search(store, "duck with a green head", ENCODER)}
    assert scores["Mallard"] > scores["Pintail Duck"] > 0
    assert scores["Mallard"] > scores["Greenfinch"]


def test_names_outrank_descriptions_and_typos_are_tolerated() -> None:
    assert first("ruff") == "Ruff"
    assert first("Cardinalis sinuatus") == "Pyrrhuloxia"
    assert first("northern card") == "Northern Cardinal"
    assert first("nothern cardnal") == "Northern Cardinal"
    assert first("pyrhuloxia") == "Pyrrhuloxia"
    assert {match.common_name for match in search(STORE, "Strigiformes", ENCODER)} == {
        "Eurasian Eagle-Owl",
        "Western Barn Owl",
    }


def test_matches_are_sorted_by_score_then_name() -> None:
    matches = search(STORE, "red", ENCODER)
    assert [match.score for match in matches] == sorted((match.score for match in matches), reverse=True)
    twins = [
        entry(f"Avis {x}", f"{x} Wren", "It is green.", family="Avidae", order="Aviformes")
        for x in ("ccc", "aaa", "bbb")
    ]
    store = ShelfStore(twins, [], ENCODER)
    assert [match.common_name for match in search(store, "green", ENCODER)] == ["aaa Wren", "bbb Wren", "ccc Wren"]
    assert search(store, "green", ENCODER) == search(store, "green", ENCODER)


def test_matches_are_limited_to_n_and_empty_for_nonsense() -> None:
    assert len(search(STORE, "red", ENCODER, n=2)) == 2
    assert search(STORE, "xyzzy", ENCODER) == []
    assert search(STORE, " ", ENCODER) == []
    with pytest.raises(ValueError, match="expected n of at least 1, got 0"):
        search(STORE, "red", ENCODER, n=0)


def test_an_encoder_with_another_space_is_refused() -> None:
    other = BagOfWords(dim=64)
    for look_up in (search, context):
        with pytest.raises(SpaceMismatch, match="bag-of-words/2048; these encoders make vectors of bag-of-words/64"):
            look_up(STORE, "red crest", other)


def test_butterflies_are_found_by_their_early_stages_whatever_the_word_for_them() -> None:
    def butterfly(name: str, *sentences: str) -> SpeciesEntry:
        common = name.split()[0]
        return entry(name, common, *sentences, family="Papilionidae", order="Lepidoptera", class_name="Insecta")

    store = ShelfStore(
        [
            butterfly("Papilio machaon", "The caterpillar is green with black bands.", "It has an orange osmeterium."),
            butterfly("Pieris brassicae", "The larva is yellow.", "A large butterfly with black wings."),
            butterfly("Danaus plexippus", "The caterpillar has black rings.", "The chrysalis is jade green."),
            butterfly("Polyommatus icarus", "The wings are blue.", "The caterpillar is dull."),
        ],
        [],
        ENCODER,
    )
    found = {
        query: search(store, query, ENCODER)[0].common_name
        for query in ("larva with orange osmeterium", "green pupa", "blue butterfly", "green larva, black bands")
    }
    assert list(found.values()) == ["Papilio", "Danaus", "Polyommatus", "Papilio"]
    assert {match.common_name for match in search(store, "larva", ENCODER)} >= {"Pieris"}
