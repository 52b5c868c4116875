"""Look-ups of species and terms by name or description, with sources."""

from __future__ import annotations

from dataclasses import replace

from data.records import QueryPart, Taxon, Term
from kb.lookup.context import context
from kb.lookup.findings import query_parts
from kb.lookup.mentions import NameFinder
from kb.lookup.search import search
from tests.kb.lookup.shelf import AMPLEXUS, CARDINAL, ENCODER, SPECIES, STORE, TERMS, entry
from tests.memory_store import ShelfStore


def found_species(query: str) -> list[str]:
    sources = context(STORE, query, ENCODER).sources
    return [source.title for source in sources]


# --- context: names ----------------------------------------------------------------------------------------------


def test_a_term_gives_definition_visual_cues_and_source() -> None:
    found = context(STORE, "Two frogs in amplexus", ENCODER)
    assert found.found
    assert found.passage == (
        "Amplexus: The mating embrace of frogs and toads: the male clasps the female from behind. "
        "What to look for: A smaller frog that sits on the back of a larger one."
    )
    assert [(note.name, note.look_for) for note in found.terms] == [("amplexus", AMPLEXUS.look_for)]
    assert found.sources == (AMPLEXUS.source,)


def test_a_species_without_summary_is_left_unexplained() -> None:
    found = context(STORE, "two eurasian eagle owls", ENCODER)
    assert (found.passage, found.sources, found.unexplained) == ("", (), ("eurasian eagle owls",))


def test_a_long_species_list_is_shortened() -> None:
    many = [
        entry(f"Avis species{chr(97 + i)}", f"Wren {i}", family="Avidae", order="Aviformes") for i in range(26)
    ]  # fmt: skip
    [group] = context(ShelfStore(many, [], ENCODER), "Avidae", ENCODER).groups
    assert group.startswith("Avidae: Wren 0, Wren 1,")
    assert group.endswith("Wren 7 and 18 more")


def test_the_longest_name_wins_and_each_word_is_used_once() -> None:
    terms = [*TERMS, Term(term_id="term:crown", name="crown", definition="The top of the head.")]
    finder = NameFinder([item.taxon for item in SPECIES], terms)
    found = finder.find("The black-crowned night heron has a dark crown")
    assert [(mention.kind, mention.text) for mention in found] == [
        ("species", "black-crowned night heron"),
        ("term", "crown"),
    ]


def test_each_source_is_listed_once() -> None:
    found = context(STORE, "Amplexus of frogs near a northern cardinal, amplexus again", ENCODER)
    assert found.sources == (AMPLEXUS.source, CARDINAL.source)
    assert len(found.terms) == 1


def test_an_unknown_species_is_not_matched_as_its_group() -> None:
    assert not context(STORE, "a spotted owl in a tree hole", ENCODER).found
    assert not context(STORE, "Spotted Owl", ENCODER).found
    assert context(STORE, "two owls in a tree hole", ENCODER).found


def test_a_genus_that_is_an_english_word_is_not_matched() -> None:
    finder = NameFinder([replace(CARDINAL.taxon, scientific_name="Dives dives", common_names=())], [])
    assert finder.find("An osprey dives into water") == []
    assert finder.find("Dives into water") == []
    assert [mention.kind for mention in finder.find("Birds of the genus Cardinalis")] == ["group"]


# --- context: descriptions ---------------------------------------------------------------------------------------


def test_a_term_is_found_by_a_clear_description() -> None:
    assert [note.name for note in context(STORE, "mating embrace of frogs", ENCODER).terms] == ["amplexus"]


def test_a_species_is_found_by_a_clear_description() -> None:
    assert found_species("bird with a red crest and black face") == ["Northern Cardinal"]


def test_an_empty_knowledge_base_finds_nothing() -> None:
    empty = ShelfStore([], [], ENCODER)
    assert not context(empty, "northern cardinal with a red crest", ENCODER).found
    assert search(empty, "northern cardinal", ENCODER) == []


# --- names with their appearance ---


def test_query_parts_follow_the_query_and_describe_appearance() -> None:
    assert query_parts(STORE, "a ruff, two owls and cardinals in Amplexus") == [
        QueryPart(
            kind="species",
            text="ruff",
            name="Ruff",
            looks="The male has a large ruff of feathers around the neck.",
            taxon_ids=("calidris-pugnax",),
        ),
        QueryPart(kind="group", text="owls", name="owls", taxon_ids=("bubo-bubo", "tyto-alba")),
        QueryPart(kind="group", text="cardinals", name="cardinals", taxon_ids=("cardinalis-cardinalis",)),
        QueryPart(
            kind="term", text="Amplexus", name="amplexus", looks="A smaller frog that sits on the back of a larger one."
        ),
    ]


def test_a_name_of_two_words_is_found_beside_the_same_words_with_a_hyphen() -> None:
    sparrow = Taxon(
        taxon_id="p-i",
        scientific_name="Passerella iliaca",
        rank="species",
        common_names=("Fox Sparrow", "Red Fox-sparrow"),
        lineage={"class": "Aves"},
    )
    assert [mention.ids for mention in NameFinder([sparrow], []).find("a Fox Sparrow")] == [("p-i",)]


def test_terms_species_and_groups_are_found_in_any_form_inside_a_sentence() -> None:
    for query in (
        "barring", "a barred owl's tail", "Bars on the tail", "eyebrows", "NUPTIAL PADS", "nuptial-pad of a frog",
    ):  # fmt: skip
        assert len(context(STORE, query, ENCODER).terms) == 1, query
    for query in (
        "northern cardinal", "Two Northern Cardinals at a feeder", "northern cardinal's nest", "Cardinalis cardinalis",
        "a male cardinalis cardinalis in snow",
    ):  # fmt: skip
        found = context(STORE, query, ENCODER)
        looks = "The male is red. It has a red crest and a black face."
        assert found.passage == f"Northern Cardinal (Cardinalis cardinalis): {looks}", query
        assert found.sources == (CARDINAL.source,)
    assert found_species("black crowned night-herons roosting") == ["Black-crowned Night Heron"]
    for query in ("owls", "An owl in flight", "Strigiformes"):
        found = context(STORE, query, ENCODER)
        [group] = found.groups
        assert group.endswith(": Eurasian Eagle-Owl, Western Barn Owl")
        assert "Eurasian Eagle-Owl" not in found.passage, "beside the passage"
    kea = entry("Nestor notabilis", "Kea", "The back is olive-green.", family="Strigopidae", order="Psittaciformes")
    of_three_letters = ShelfStore([*SPECIES, kea], TERMS, ENCODER)
    for query in ("a Kea", "two keas on a car", "Kea eating a sheep"):
        assert context(of_three_letters, query, ENCODER).sources == (kea.source,), query


def test_queries_outside_the_knowledge_base_are_not_found() -> None:
    for query in (
        "sunglasses on a table", "xyzzy", "", "   ", "?!", "a red car", "black and white photo",
        "the male lead of a film", "a person with a red face and black shoes", "large dog on the back of a truck",
        "a striped shirt with a yellow collar", "heart-shaped balloon", "the of and", "鳥",
    ):  # fmt: skip
        found = context(STORE, query, ENCODER)
        assert (found.found, found.passage, found.terms, found.sources) == (False, "", (), ()), query
        assert (found.query, query_parts(STORE, query)) == (query, [])
