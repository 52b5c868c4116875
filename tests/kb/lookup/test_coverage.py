"""Words and names of a query that nothing explains."""

from __future__ import annotations

import kb
from kb.lookup.lookup_index import shipped_terms
from tests.kb.lookup.shelf import BUTTERFLIES, ENCODER, STORE, entry
from tests.memory_store import ShelfStore

LEFT = (
    ("frogs in amplexus position", ()),
    ("northern cardinal on a fence post", ()),
    ("a pyrrhuloxia and a dog in the snow, 26 metres away", ()),
    ("a pyrrhuloxia fledgling in a tree", ()),
    ("two zebras and a dog in the snow, 26 metres away", ("zebras",)),
    ("a dark-coloured deer", ("deer",)),
    ("a maple tree", ("maple",)),
    ("a wet crab", ("crab",)),
    ("a pyrrhuloxia on a cassava plant", ("cassava",)),
    ("an oxpecker on a zebra", ("oxpecker", "zebra")),
    ("female beautiful demoiselle", ("demoiselle",)),
    ("fire pink", ("fire pink",)),
    ("a dog in the snow, 26 metres away", ("dog", "snow", "metres away")),
    ("frogs in amplexus beside an osmeterium", ("osmeterium",)),
    ("eurasian eagle-owl perched", ("eurasian eagle-owl",)),
    ("a fiddler crab, a mud dauber wasp", ("fiddler crab", "mud dauber wasp")),
    ("a white-tailed deer", ("white-tailed deer",)),
    ("male Sunflower Sea Star", ("Sunflower Sea Star",)),
    ("adult male Misumena vatia", ("Misumena vatia",)),
    ("a Star-nosed Mole's nose", ("Star-nosed Mole",)),
    ("FROGS IN AMPLEXUS", ()),
    ("", ()),
    ("?!", ()),
    ("26", ()),
    ("mating embrace of frogs", ()),
)


def test_names_and_unusual_words_without_an_explanation_are_listed() -> None:
    for query, left in LEFT:
        assert kb.context(STORE, query, ENCODER).unexplained == left, query


def test_a_list_of_species_explains_no_group() -> None:
    names = ("Mute Swan", "Black Swan", "Tundra Swan")
    swans = [entry(f"Cygnus s{i}", name, family="Anatidae", order="Anseriformes") for i, name in enumerate(names)]
    found = kb.context(ShelfStore(swans, [], ENCODER), "Tagged swan", ENCODER)
    assert (len(found.groups), found.passage, found.unexplained) == (1, "", ("swan",))


def test_a_tagged_condor_gets_no_definition_of_tag() -> None:
    condor = entry("Gymnogyps californianus", "California Condor", family="Cathartidae", order="Cathartiformes")
    store = ShelfStore([condor], shipped_terms(), ENCODER)
    found = kb.context(store, "a California condor tagged with green 26", ENCODER)
    assert (found.passage, found.terms, found.unexplained) == ("", (), ("California condor",))
    assert kb.context(store, "tag", ENCODER).passage.startswith("Tag: A mark")


def test_a_scientific_group_explains_itself_and_the_noun_that_it_stands_for() -> None:
    admiral = entry("Vanessa atalanta", "Red Admiral", family="Nymphalidae", order="Lepidoptera", class_name="Insecta")
    store = ShelfStore([*BUTTERFLIES, admiral], (), ENCODER)
    found = kb.context(store, "brush-footed butterflies feeding, Nymphalidae", ENCODER)
    assert (found.groups, found.unexplained) == (("Nymphalidae: Peacock, Monarch, Red Admiral",), ())
    assert kb.context(store, "a frog and two Nymphalidae", ENCODER).unexplained == ("frog",)


def test_the_noun_beside_the_name_of_a_species_needs_no_explanation() -> None:
    store = ShelfStore(BUTTERFLIES, shipped_terms(), ENCODER)
    assert kb.context(store, "a monarch butterfly on milkweed", ENCODER).unexplained == ("milkweed",)
    assert kb.context(store, "a monarch and a moth", ENCODER).unexplained == ("moth",)


def test_articles_and_numbers_of_other_languages_need_no_explanation() -> None:
    store = ShelfStore(BUTTERFLIES, (), ENCODER)
    for query in ("ein Monarch, auf einer Distel", "dos Monarch en una Distel", "un Monarch sur une Distel"):
        assert kb.context(store, query, ENCODER).unexplained == ("Distel",)
