"""Technical and everyday senses of terms and group names."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path

import pytest

from data.records import Taxon
from data.starter.knowledge import read_species, read_terms
from kb.lookup import senses
from kb.lookup.mentions import NameFinder
from kb.lookup.senses import QueryWords, group_of_noun, groups_in, is_technical_sense, sense_lists

JUDGED = Path(__file__).parents[1] / "labels" / "inquire_context.json"


@cache
def finder() -> NameFinder:
    """Return a finder for all shipped species and terms."""
    return NameFinder([species.taxon for species in read_species()], read_terms())


def found(query: str) -> list[str]:
    """Return term ids, species ids and the matched words of groups."""
    return [mention.text if mention.kind == "group" else mention.ids[0] for mention in finder().find(query)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("a black cap", ["term:crown"]),
        ("a bird with a black cap", ["term:crown"]),
        ("grouse with a red comb", ["term:comb"]),
        ("comb", ["term:comb"]),
        ("an owl with a barred tail", ["term:barring"]),
        ("a newt with a high crest", ["term:crest-newt"]),
        ("an iguana with a crest", ["term:crest-reptile"]),
        ("mushroom with brown gills", ["term:gills"]),
        ("shark with open gills", ["term:gills-fish"]),
        ("a mushroom with a black cap", ["term:cap-mushroom"]),
        ("fish with large scales", ["term:scales-fish"]),
        ("butterfly with missing scales", ["term:scales-butterfly"]),
        ("goat with long horns", ["term:horns-mammal"]),
        ("beetle with horns", ["term:horns-beetle"]),
        ("squid with a spotted mantle", ["term:mantle-mollusc"]),
        ("flower with five petals", ["term:petals"]),
        ("stag beetle without mandibles", ["term:mandible"]),
        ("deer flagging its tail", ["term:flagging"]),
        ("a peacock displaying its feathers", ["term:display"]),
        ("a beached dolphin", ["term:stranding"]),
        ("tagged turtles on the sand", ["term:tag"]),
        ("preened and preening", ["term:preening", "term:preening"]),
        ("maned wolf", ["term:mane"]),
        ("Octopus Stinkhorn fungus", ["term:stinkhorn"]),
        ("a ruff in breeding plumage", ["calidris-pugnax", "term:breeding-plumage"]),
        ("a merlin with a supercilium", ["falco-columbarius", "term:supercilium"]),
    ],
)
def test_terms_are_found_in_their_technical_sense(query: str, expected: list[str]) -> None:
    assert [name for name in found(query) if name in expected] == expected


@pytest.mark.parametrize(
    "query",
    [
        "a death cap",
        "a bottle cap on the beach",
        "Scarlet Waxy Cap in bare hands",
        "velvet ant, a male",
        "an ant carrying a leaf",
        "the hood of a car",
        "a comb on a table",
        "comb jelly",
        "plumes of smoke",
        "a beached boat",
        "a fire salamander with a barred pattern",
        "a spectacled bear",
        "a museum displaying bones",
        "nail polish",
        "the crown of a king",
        "a lion's nail",
        "a merlin on a post",
        "a merlin spell book",
    ],
)
def test_words_in_their_everyday_sense_are_not_terms(query: str) -> None:
    assert found(query) == []


@pytest.mark.parametrize("query", ["a bird with a red wing", "a white throat", "a gold crest on the head"])
def test_a_one_word_bird_name_does_not_match_two_words(query: str) -> None:
    assert not any(mention.kind in ("species", "group") for mention in finder().find(query))
    assert found("a Redwing in a bush") == ["turdus-iliacus"]


def test_displaying_an_object_is_not_a_display() -> None:
    assert found("a squirrel displaying melanistic pelage") == ["term:melanism", "term:pelage"]
    assert found("a squirrel displaying breeding plumage") == ["term:breeding-plumage"]


@pytest.mark.parametrize(
    ("query", "group"),
    [
        ("puffins with food", "puffins"),
        ("a vocalizing meadowlark", "meadowlark"),
        ("a swan that is tagged", "swan"),
        ("two warblers at a pool", "warblers"),
        ("a godwit's bill", "godwit's"),
        ("three kites above a field, birds of prey", "kites"),
    ],
)
def test_birds_with_the_same_last_name_form_a_group(query: str, group: str) -> None:
    [mention] = [mention for mention in finder().find(query) if mention.kind == "group"]
    assert mention.text == group
    names = {species.taxon.taxon_id: species.taxon.common_name for species in read_species()}
    last = group_stem(group)
    assert all(last in names[taxon_id].lower() for taxon_id in mention.ids)


def group_stem(group: str) -> str:
    return group.lower().removesuffix("'s").removesuffix("s")


@pytest.mark.parametrize(
    "query",
    ["a hawk moth", "monarch butterfly", "a kite in the sky", "hermit crab", "black knot on a twig",
     "a striped grass owl",
     "one eye", "a diver with a camera", "swift running water"],
)  # fmt: skip
def test_words_that_resemble_bird_names_are_not_birds(query: str) -> None:
    assert [mention.text for mention in finder().find(query) if mention.kind != "term"] == []


def test_nouns_map_to_groups_in_any_number_and_case() -> None:
    assert group_of_noun("Geese") == "birds"
    assert group_of_noun("butterflies") == "insects"
    assert group_of_noun("wolves") == "mammals"
    assert group_of_noun("owl's") == "birds"
    assert group_of_noun("table") is None
    assert groups_in(["a", "star-nosed", "mole", "and", "leaf-monkeys"]) == {"mammals"}


def test_a_named_species_determines_the_technical_sense() -> None:
    assert is_technical_sense("crown", others=({"birds"}, False), following="")
    assert not is_technical_sense("crown", others=((), False), following="")


def test_words_of_found_terms_do_not_count_among_the_others() -> None:
    words = QueryWords(["a", "duck", "with", "a", "cap", "and", "gadgets"])
    assert words.besides(range(4, 5)) == ({"birds"}, False)
    assert words.besides(range(1, 2)) == (frozenset(), False)
    words.remove(range(1, 2))
    words.remove(range(6, 7))
    assert words.besides(range(4, 5)) == (frozenset(), True)


def test_a_text_of_field_marks_is_read_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    read, calls = senses._bare, 0

    def counted(word: str) -> str:
        nonlocal calls
        calls += 1
        return read(word)

    monkeypatch.setattr(senses, "_bare", counted)
    find = finder().find
    n_calls = []
    for n in (200, 400):
        calls = 0
        assert len(find("black cap, grey crown, " * n)) == 2 * n
        n_calls.append(calls)
    assert n_calls[1] <= 2.1 * n_calls[0]


def test_everyday_words_refer_to_known_groups() -> None:
    lists = sense_lists()
    known = set(lists.organisms.values()) | {"animals"}
    assert {group for groups in lists.everyday.values() for group in groups} <= known


def test_a_word_of_several_groups_has_no_sense_for_another_one() -> None:
    assert [found(query) for query in ("crab with gills", "bottle cap", "a wedding ring", "a goat with a crest")] == [
        [], [], [], [],
    ]  # fmt: skip


def test_without_a_group_in_the_query_that_of_the_knowledge_base_decides_else_each_sense_counts() -> None:
    def taxon(name: str, class_name: str) -> Taxon:
        return Taxon(taxon_id=name, scientific_name=name, rank="species", lineage={"class": class_name})

    for class_name, expected in (
        ("Actinopterygii", ["term:gills-fish"]), ("Agaricomycetes", ["term:gills"]),
        ("Insecta", ["term:gills", "term:gills-fish"]),
    ):  # fmt: skip
        (mention,) = NameFinder([taxon("Xus yus", class_name)], read_terms()).find("orange gills")
        assert sorted(mention.ids) == expected


def test_every_term_has_a_definition_and_visual_cues() -> None:
    assert all(term.definition.endswith(".") and term.look_for.endswith(".") for term in read_terms())


@pytest.mark.usefixtures("shared")
def test_names_in_inquire_queries_match_the_labels(shared: Path) -> None:
    """A person read all 250 queries and listed every name in them."""
    expected = json.loads(JUDGED.read_text(encoding="utf-8"))
    asked = {
        row["query_id"]: row["query_text"]
        for part in ("val", "test")
        for row in csv.DictReader(
            (shared / "benchmarks" / f"inquire_queries_{part}.csv").read_text(encoding="utf-8").splitlines()
        )
    }
    assert len(asked) == 250
    given = {key: found(query) for key, query in asked.items()}
    assert {key: names for key, names in given.items() if names} == expected


def test_a_butterfly_that_shares_its_name_with_birds_is_found() -> None:
    monarch = Taxon(
        taxon_id="danaus-plexippus",
        scientific_name="Danaus plexippus",
        rank="species",
        common_names=("Monarchfalter", "Monarch"),
        lineage={"class": "Insecta", "family": "Nymphalidae"},
    )
    names = NameFinder([monarch], read_terms())
    for query in ("a Monarch on milkweed", "monarch butterfly", "eight Monarchs on a branch", "Monarch chrysalis"):
        assert ("danaus-plexippus",) in [mention.ids for mention in names.find(query)], query
    assert names.find("monarch flycatcher") == []


def test_a_bird_with_the_name_of_something_else_is_found_where_its_capital_tells() -> None:
    assert found("a Merlin on a post") == ["falco-columbarius"]
    assert "falco-columbarius" not in found("King Merlin on a throne")
