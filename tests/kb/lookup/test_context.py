"""Look-ups find what a query names or clearly describes, say where it is from, and make nothing up."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from data.records import Source, SpeciesEntry, Statement, Summary, Taxon, Term
from data.taxon_ids import taxon_id
from kb.lookup.bm25 import BM25, tokens
from kb.lookup.context import context, search
from kb.lookup.mentions import NameFinder
from tests.memory_store import BagOfWords, ShelfStore

ENCODER = BagOfWords()


def entry(name: str, common: str, *sentences: str, family: str, order: str) -> SpeciesEntry:
    taxon = Taxon(
        taxon_id=taxon_id(name),
        scientific_name=name,
        rank="species",
        common_names=(common,),
        lineage={"class": "Aves", "order": order, "family": family, "genus": name.split()[0]},
    )
    summary = Summary(statements=tuple(Statement(text=s) for s in sentences)) if sentences else None
    source = Source(title=common, url=f"https://wiki.example/{taxon.taxon_id}", revision=3, licence="CC BY-SA 4.0")
    return SpeciesEntry(taxon=taxon, source=source, summary=summary)


CARDINAL = entry(
    "Cardinalis cardinalis",
    "Northern Cardinal",
    "The male is red.",
    "It has a red crest and a black face.",
    family="Cardinalidae",
    order="Passeriformes",
)
SPECIES = [
    CARDINAL,
    entry(
        "Cardinalis sinuatus",
        "Pyrrhuloxia",
        "It is grey with a red crest and a yellow bill.",
        family="Cardinalidae",
        order="Passeriformes",
    ),
    entry(
        "Nycticorax nycticorax",
        "Black-crowned Night Heron",
        "The crown and back are black.",
        "The eyes are red.",
        family="Ardeidae",
        order="Pelecaniformes",
    ),
    entry(
        "Tyto alba",
        "Western Barn Owl",
        "The face is white and heart-shaped.",
        family="Tytonidae",
        order="Strigiformes",
    ),
    entry("Bubo bubo", "Eurasian Eagle-Owl", family="Strigidae", order="Strigiformes"),
    entry(
        "Calidris pugnax",
        "Ruff",
        "The male has a large ruff of feathers around the neck.",
        family="Scolopacidae",
        order="Charadriiformes",
    ),
]
AMPLEXUS = Term(
    term_id="term:amplexus",
    name="amplexus",
    definition="The mating embrace of frogs and toads: the male clasps the female from behind",
    look_for="A smaller frog that sits on the back of a larger one.",
    source=Source(title="Amplexus", url="https://wiki.example/amplexus", revision=9, licence="CC BY-SA 4.0"),
)
TERMS = [
    AMPLEXUS,
    Term(term_id="term:supercilium", name="supercilium", definition="A stripe above the eye.", aliases=("eyebrow",)),
    Term(
        term_id="term:barring",
        name="barring",
        definition="Narrow bands across a feather.",
        look_for="Lines across.",
        aliases=("bars",),
    ),
    Term(term_id="term:nuptial-pad", name="nuptial pad", definition="A swelling on the thumb of a male frog."),
]
STORE = ShelfStore(SPECIES, TERMS, ENCODER)


def found_species(query: str) -> list[str]:
    sources = context(STORE, query, ENCODER).sources
    return [source.title for source in sources]


# --- context: names ----------------------------------------------------------------------------------------------


def test_a_term_gives_its_definition_what_to_look_for_and_its_source() -> None:
    found = context(STORE, "Two frogs in amplexus", ENCODER)
    assert found.found
    assert found.passage == (
        "Amplexus: The mating embrace of frogs and toads: the male clasps the female from behind. "
        "What to look for: A smaller frog that sits on the back of a larger one."
    )
    assert [(note.name, note.look_for) for note in found.terms] == [("amplexus", AMPLEXUS.look_for)]
    assert found.sources == (AMPLEXUS.source,)


@pytest.mark.parametrize(
    "query", ["barring", "a barred owl's tail", "Bars on the tail", "eyebrows", "NUPTIAL PADS", "nuptial-pad of a frog"]
)
def test_terms_are_found_by_alias_and_inflection(query: str) -> None:
    assert len(context(STORE, query, ENCODER).terms) == 1


@pytest.mark.parametrize(
    "query",
    [
        "northern cardinal",
        "Two Northern Cardinals at a feeder",
        "northern cardinal's nest",
        "Cardinalis cardinalis",
        "a male cardinalis cardinalis in snow",
    ],
)
def test_a_species_is_found_by_either_name_inside_a_sentence(query: str) -> None:
    found = context(STORE, query, ENCODER)
    assert found.passage == (
        "Northern Cardinal (Cardinalis cardinalis): The male is red. It has a red crest and a black face."
    )
    assert found.sources == (CARDINAL.source,)


def test_spelling_of_hyphens_and_colours_does_not_matter() -> None:
    assert found_species("black crowned night-herons roosting") == ["Black-crowned Night Heron"]


def test_a_species_without_summary_is_named_and_nothing_is_made_up() -> None:
    found = context(STORE, "eurasian eagle owl", ENCODER)
    assert found.passage == "Eurasian Eagle-Owl (Bubo bubo): in this knowledge base, but without a description."
    assert found.sources == ()


@pytest.mark.parametrize("query", ["owls", "An owl in flight", "Strigiformes"])
def test_of_a_group_it_says_which_species_are_known(query: str) -> None:
    assert ": this knowledge base has Eurasian Eagle-Owl, Western Barn Owl." in context(STORE, query, ENCODER).passage


def test_a_long_group_is_bounded() -> None:
    many = [
        entry(f"Avis species{chr(97 + i)}", f"Wren {i}", family="Avidae", order="Aviformes") for i in range(26)
    ]  # fmt: skip
    passage = context(ShelfStore(many, [], ENCODER), "Avidae", ENCODER).passage
    assert passage.startswith("Avidae: this knowledge base has Wren 0, Wren 1,")
    assert passage.endswith("Wren 7 and 18 more.")


def test_the_longest_name_wins_and_each_word_is_used_once() -> None:
    terms = [*TERMS, Term(term_id="term:crown", name="crown", definition="The top of the head.")]
    finder = NameFinder([item.taxon for item in SPECIES], terms)
    found = finder.find("The black-crowned night heron has a dark crown")
    assert [(mention.kind, mention.text) for mention in found] == [
        ("species", "black-crowned night heron"),
        ("term", "crown"),
    ]


def test_terms_and_species_of_one_query_come_with_all_their_sources_once() -> None:
    found = context(STORE, "Amplexus of frogs near a northern cardinal, amplexus again", ENCODER)
    assert found.sources == (AMPLEXUS.source, CARDINAL.source)
    assert len(found.terms) == 1


def test_a_word_that_only_looks_like_a_term_or_is_part_of_a_longer_name_is_none() -> None:
    terms = [*TERMS, Term(term_id="term:crown", name="crown", definition="The top of the head.", aliases=("cap",))]
    finder = NameFinder([item.taxon for item in SPECIES], terms)
    assert finder.find("Scarlet Waxy Cap in bare hands") == []
    assert [mention.ids for mention in finder.find("a black cap")] == [("term:crown",)]


def test_a_species_that_is_not_known_is_not_taken_for_its_group() -> None:
    assert not context(STORE, "a spotted owl in a tree hole", ENCODER).found
    assert not context(STORE, "Spotted Owl", ENCODER).found
    assert context(STORE, "two owls in a tree hole", ENCODER).found


def test_a_genus_that_is_an_english_word_needs_its_capital() -> None:
    finder = NameFinder([replace(CARDINAL.taxon, scientific_name="Dives dives", common_names=())], [])
    assert finder.find("An osprey dives into water") == []
    assert finder.find("Dives into water") == []
    assert [mention.kind for mention in finder.find("Birds of the genus Cardinalis")] == ["group"]


# --- context: descriptions ---------------------------------------------------------------------------------------


def test_a_term_is_found_by_a_clear_description() -> None:
    assert [note.name for note in context(STORE, "mating embrace of frogs", ENCODER).terms] == ["amplexus"]


def test_a_species_is_found_by_a_clear_description() -> None:
    assert found_species("bird with a red crest and black face") == ["Northern Cardinal"]


@pytest.mark.parametrize(
    "query",
    [
        "sunglasses on a table",
        "xyzzy",
        "",
        "   ",
        "?!",
        "a red car",
        "black and white photo",
        "the male lead of a film",
        "a person with a red face and black shoes",
        "large dog on the back of a truck",
        "a striped shirt with a yellow collar",
        "heart-shaped balloon",
        "the of and",
        "鳥",
    ],
)
def test_what_the_knowledge_base_does_not_know_is_not_found(query: str) -> None:
    found = context(STORE, query, ENCODER)
    assert (found.found, found.passage, found.terms, found.sources) == (False, "", (), ())
    assert found.query == query


def test_an_empty_knowledge_base_finds_nothing() -> None:
    empty = ShelfStore([], [], ENCODER)
    assert not context(empty, "northern cardinal with a red crest", ENCODER).found
    assert search(empty, "northern cardinal", ENCODER) == []


# --- search ------------------------------------------------------------------------------------------------------


def first(text: str) -> str:
    return search(STORE, text, ENCODER)[0].common_name


def test_birds_are_identified_from_words() -> None:
    assert first("red crest and black face") == "Northern Cardinal"
    assert first("heart shaped white face") == "Western Barn Owl"
    assert first("grey bird, yellow bill, red crest") == "Pyrrhuloxia"


def test_names_win_over_descriptions_and_slips_of_the_pen_are_forgiven() -> None:
    assert first("ruff") == "Ruff"
    assert first("Cardinalis sinuatus") == "Pyrrhuloxia"
    assert first("northern card") == "Northern Cardinal"
    assert first("nothern cardnal") == "Northern Cardinal"
    assert first("pyrhuloxia") == "Pyrrhuloxia"
    assert {match.common_name for match in search(STORE, "Strigiformes", ENCODER)} == {
        "Eurasian Eagle-Owl",
        "Western Barn Owl",
    }


def test_scores_fall_and_ties_go_by_name() -> None:
    matches = search(STORE, "red", ENCODER)
    assert [match.score for match in matches] == sorted((match.score for match in matches), reverse=True)
    twins = [
        entry(f"Avis {x}", f"{x} Wren", "It is green.", family="Avidae", order="Aviformes")
        for x in ("ccc", "aaa", "bbb")
    ]
    store = ShelfStore(twins, [], ENCODER)
    assert [match.common_name for match in search(store, "green", ENCODER)] == ["aaa Wren", "bbb Wren", "ccc Wren"]
    assert search(store, "green", ENCODER) == search(store, "green", ENCODER)


def test_no_more_than_asked_for_and_nothing_for_nonsense() -> None:
    assert len(search(STORE, "red", ENCODER, n=2)) == 2
    assert search(STORE, "xyzzy", ENCODER) == []
    assert search(STORE, " ", ENCODER) == []
    with pytest.raises(ValueError, match="expected n of at least 1, got 0"):
        search(STORE, "red", ENCODER, n=0)


def test_a_large_knowledge_base_is_loaded_once_and_then_answers_fast() -> None:
    words = ["red", "blue", "crown", "bill", "streaked", "wing", "tail", "long", "pale", "rump", "breast", "white"]
    many = [
        entry(
            f"Genus{i % 2300} species{i}", f"{words[i % 12]} {words[i % 7]} Bird {i}",
            *(f"The {words[(i * j) % 12]} is {words[(i + j) % 12]} and {words[(i * 3 + j) % 12]}." for j in range(8)),
            family=f"Familyidae{i % 250}", order="Aviformes",
        )
        for i in range(11_131)
    ]  # fmt: skip
    store = ShelfStore(many, TERMS, BagOfWords(dim=16))
    encoder = BagOfWords(dim=16)
    begin = time.process_time()
    search(store, "warm up", encoder)
    loading_s = time.process_time() - begin
    begin = time.process_time()
    assert search(store, "red crown and a long white tail", encoder)
    assert search(store, "Gennus17 speccies17", encoder)
    assert context(store, "Two frogs in amplexus", encoder).found
    answering_s = time.process_time() - begin
    assert answering_s < loading_s  # three answers take a fifth of it: nothing that was loaded is made again


# --- BM25 --------------------------------------------------------------------------------------------------------


def test_bm25_agrees_with_a_hand_worked_table() -> None:
    index = BM25([["red", "crest"], ["red", "red"], ["black", "face"]])
    # idf(red) = ln(1 + 1.5/2.5) = 0.4700, all lengths are the mean, so tf 1 gives 2.2/2.2 = 1 and tf 2 4.4/3.2 = 1.375;
    # the most that the query can reach is 0.47 * 2.2.
    assert index.scores(["red"]) == pytest.approx([1 / 2.2, 1.375 / 2.2, 0.0], abs=1e-5)
    assert index.coverage(["red", "crest"]) == pytest.approx([1.0, 0.5, 0.0])


def test_bm25_of_nothing_is_empty_and_unknown_words_score_zero() -> None:
    assert BM25([]).scores(["red"]).shape == (0,)
    assert BM25([["red"], []]).scores(["blue"]).tolist() == [0.0, 0.0]
    assert BM25([["red"]]).scores([]).tolist() == [0.0]


def test_tokens_know_plurals_participles_and_both_spellings() -> None:
    assert tokens("Gray-barred birds' flies") == tokens("grey bars bird fly")
