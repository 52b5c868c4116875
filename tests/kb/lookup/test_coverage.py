"""Words and names of a query that nothing explains."""

from __future__ import annotations

import kb
from kb.lookup.coverage import is_plain
from kb.lookup.lookup_index import shipped_terms
from tests.kb.lookup.shelf import BUTTERFLIES, ENCODER, STORE, butterfly, entry
from tests.memory_store import ShelfStore

LEFT: dict[str, tuple[str, ...]] = {
    "frogs in amplexus position": (), "northern cardinal on a fence post": (),
    "a pyrrhuloxia and a dog in the snow, 26 metres away": (), "a pyrrhuloxia fledgling in a tree": (),
    "two zebras and a dog in the snow, 26 metres away": ("zebras",), "a dark-coloured deer": ("deer",),
    "a maple tree": ("maple",), "a wet crab": ("crab",), "a pyrrhuloxia on a cassava plant": ("cassava",),
    "an oxpecker on a zebra": ("oxpecker", "zebra"), "female beautiful demoiselle": ("demoiselle",),
    "fire pink": ("fire pink",), "a dog in the snow, 26 metres away": ("dog", "snow", "metres away"),
    "frogs in amplexus beside an osmeterium": ("osmeterium",), "eurasian eagle-owl perched": ("eurasian eagle-owl",),
    "a fiddler crab, a mud dauber wasp": ("fiddler crab", "mud dauber wasp"),
    "a white-tailed deer": ("white-tailed deer",), "male Sunflower Sea Star": ("Sunflower Sea Star",),
    "adult male Misumena vatia": ("Misumena vatia",), "a Star-nosed Mole's nose": ("Star-nosed Mole",),
    "FROGS IN AMPLEXUS": (), "": (), "?!": (), "26": (), "mating embrace of frogs": (),
}  # fmt: skip


def test_names_and_unusual_words_without_an_explanation_are_listed() -> None:
    for query, left in LEFT.items():
        assert kb.context(STORE, query, ENCODER).unexplained == left, query


def test_groups_terms_and_nouns_beside_names_explain_only_what_they_stand_for() -> None:
    swans = [
        entry(f"Cygnus s{i}", f"{name} Swan", family="Anatidae") for i, name in enumerate(("Mute", "Black", "Tundra"))
    ]
    found = kb.context(ShelfStore(swans, [], ENCODER), "Tagged swan", ENCODER)
    assert (len(found.groups), found.passage, found.unexplained) == (1, "", ("swan",))
    condor = ShelfStore([entry("Gymnogyps californianus", "California Condor")], shipped_terms(), ENCODER)
    found = kb.context(condor, "a California condor tagged with green 26", ENCODER)
    assert (found.passage, found.terms, found.unexplained) == ("", (), ("California condor",)), (
        "every reader knows tags"
    )
    assert kb.context(condor, "tag", ENCODER).passage.startswith("Tag: A mark")
    store = ShelfStore([*BUTTERFLIES, butterfly("Vanessa atalanta", "Red Admiral")], shipped_terms(), ENCODER)
    found = kb.context(store, "brush-footed butterflies feeding, Nymphalidae", ENCODER)
    assert (found.groups, found.unexplained) == (("Nymphalidae: Peacock, Monarch, Red Admiral",), ())
    for query, left in (
        ("a frog and two Nymphalidae", "frog"),
        ("a monarch butterfly on milkweed", "milkweed"),
        ("a monarch and a moth", "moth"),
        ("ein Monarch, auf einer Distel", "Distel"),  # articles and numbers of other languages
        ("dos Monarch en una Distel", "Distel"),
        ("un Monarch sur une Distel", "Distel"),
    ):
        assert kb.context(store, query, ENCODER).unexplained == (left,), query


def test_everyday_words_sexes_ages_and_numbers_are_plain_and_names_of_organisms_are_not() -> None:
    assert all(map(is_plain, ("perched", "ducklings", "dark-coloured", "26", "darkly")))
    assert not any(map(is_plain, ("amplexus", "osmeterium", "Misumena", "zebras", "dark-osmeterium")))
