import csv
import json
from functools import cache
from pathlib import Path

import pytest

from data.starter.knowledge import read_species, read_terms
from kb.lookup.mentions import (
    NameFinder,
    group_of_class,
    group_of_noun,
    groups_in,
    is_own_name,
    is_technical_sense,
    senses_of,
)

JUDGED = Path(__file__).parents[1] / "labels" / "inquire_context.json"


@cache
def finder() -> NameFinder:
    """Return a finder for all shipped species and terms."""
    return NameFinder([species.taxon for species in read_species()], read_terms())


def found(query: str) -> list[str]:
    """Return term ids, species ids and the matched words of groups."""
    return [mention.text if mention.kind == "group" else mention.ids[0] for mention in finder().find(query)]


def test_words_map_to_groups_and_senses_in_any_number_and_case() -> None:
    nouns = {"Geese": "birds", "butterflies": "insects", "wolves": "mammals", "owl's": "birds", "table": None}
    assert {noun: group_of_noun(noun) for noun in nouns} == nouns
    assert groups_in(["a", "star-nosed", "mole", "and", "leaf-monkeys"]) == {"mammals"}
    classes = {"Aves": "birds", "Agaricomycetes": "fungi", "Nemo": None, None: None}
    assert {name: group_of_class(name) for name in classes} == classes
    assert (senses_of("hooded"), senses_of("supercilium")) == ({"birds"}, None)
    assert is_technical_sense("crown", others=({"birds"}, False), following="")
    assert not is_technical_sense("crown", others=((), False), following="")
    assert is_own_name("monarchs", "insects") and not is_own_name("monarch", "insects", following="flycatcher")
    assert [is_own_name("Merlin", "birds", before=word) for word in ("a", "King", "")] == [True, False, False]


@pytest.mark.usefixtures("shared")
def test_names_in_inquire_queries_match_the_labels(shared: Path) -> None:
    """A person read all 250 queries and listed every name in them."""
    expected = json.loads(JUDGED.read_text(encoding="utf-8"))
    files = [shared / "benchmarks" / f"inquire_queries_{part}.csv" for part in ("val", "test")]
    rows = [row for file in files for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines())]
    asked = {row["query_id"]: row["query_text"] for row in rows}
    assert len(asked) == 250
    given = {key: found(query) for key, query in asked.items()}
    assert {key: names for key, names in given.items() if names} == expected


def test_terms_are_found_in_their_technical_sense() -> None:
    for query, expected in {
        "a bird with a black cap": ["term:crown"], "comb": ["term:comb"],
        "an owl with a barred tail": ["term:barring"], "a newt with a high crest": ["term:crest-newt"],
        "mushroom with brown gills": ["term:gills"], "shark with open gills": ["term:gills-fish"],
        "a mushroom with a black cap": ["term:cap-mushroom"],
        "butterfly with missing scales": ["term:scales-butterfly"], "beetle with horns": ["term:horns-beetle"],
        "flower with five petals": ["term:petals"], "stag beetle without mandibles": ["term:mandible"],
        "deer flagging its tail": ["term:flagging"], "a peacock displaying its feathers": ["term:display"],
        "a beached dolphin": ["term:stranding"], "tagged turtles on the sand": ["term:tag"],
        "preened and preening": ["term:preening", "term:preening"], "maned wolf": ["term:mane"],
        "Octopus Stinkhorn fungus": ["term:stinkhorn"],
        "a ruff in breeding plumage": ["calidris-pugnax", "term:breeding-plumage"],
        "a merlin with a supercilium": ["falco-columbarius", "term:supercilium"],
    }.items():  # fmt: skip
        assert [name for name in found(query) if name in expected] == expected, query
    assert found("a squirrel displaying melanistic pelage") == ["term:melanism", "term:pelage"]


def test_words_in_their_everyday_sense_are_not_terms() -> None:
    for query in (
        "a death cap", "a bottle cap on the beach", "Scarlet Waxy Cap in bare hands", "velvet ant, a male",
        "an ant carrying a leaf", "the hood of a car", "a comb on a table", "comb jelly", "plumes of smoke",
        "a beached boat", "a fire salamander with a barred pattern", "a spectacled bear", "a museum displaying bones",
        "nail polish", "the crown of a king", "a lion's nail", "a merlin on a post", "a merlin spell book",
        "crab with gills", "bottle cap", "a wedding ring", "a goat with a crest",
    ):  # fmt: skip
        assert found(query) == [], query


def test_words_that_resemble_bird_names_are_not_birds() -> None:
    for query in (
        "a hawk moth", "monarch butterfly", "a kite in the sky", "hermit crab", "black knot on a twig",
        "a striped grass owl", "one eye", "a diver with a camera", "swift running water",
        "a bird with a red wing", "a white throat", "a gold crest on the head",
    ):  # fmt: skip
        assert [mention.text for mention in finder().find(query) if mention.kind != "term"] == [], query
    assert found("a Redwing in a bush") == ["turdus-iliacus"]
    assert found("a Merlin on a post") == ["falco-columbarius"], "its capital tells"
    assert "falco-columbarius" not in found("King Merlin on a throne")
