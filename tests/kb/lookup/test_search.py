from functools import partial

import pytest

from data.errors import SpaceMismatch
from data.files import SelfClosing
from data.records import TaxonMatch, Term
from kb.lookup.context import context
from kb.lookup.context_settings import CONTEXT_PRESETS, ContextSources
from kb.lookup.field_marks import BETWEEN_SIDES, CONFLICT, MARKING, SOME_PART, MarkIndex
from kb.lookup.search import MAX_QUERY_WORDS, corrected, in_lexicon_words, search, suggestions
from tests.kb.lookup.shelf import ENCODER, STORE, butterfly, entry
from tests.memory_store import BagOfWords, ShelfStore


def scores(store: ShelfStore, text: str) -> dict[str, float]:
    return {match.common_name: match.score for match in search(store, text, ENCODER)}


def test_birds_are_found_by_name_before_any_description_and_by_everyday_and_misspelt_words() -> None:
    for text, name in {
        "red crest and black face": "Northern Cardinal", "heart shaped white face": "Western Barn Owl",
        "grey bird, yellow bill, red crest": "Pyrrhuloxia", "gray bird, scarlet topknot, yelow beak": "Pyrrhuloxia",
        "black top of the head": "Black-crowned Night Heron",
        "northern cardinal, grey with a red crest and a yellow bill": "Northern Cardinal",
        "owl with a heart-shaped white face": "Western Barn Owl", "northern card": "Northern Cardinal",
        "pyrhuloxia": "Pyrrhuloxia",
    }.items():  # fmt: skip
        assert search(STORE, text, ENCODER)[0].common_name == name, text
    names = {"taxon_id": "calidris-pugnax", "scientific_name": "Calidris pugnax", "common_name": "Ruff"}
    assert search(STORE, "Ruff", ENCODER, n=1) == [TaxonMatch(**names, rank="species", score=3.771201)]


def test_points_of_names_groups_families_and_descriptions() -> None:
    ducks = {"family": "Anatidae", "order": "Anseriformes"}
    birds = [
        entry("Anas platyrhynchos", "Mallard", "The head is green.", **ducks),
        entry("Anas acuta", "Pintail Duck", "The tail is long.", **ducks),
        entry("Chloris chloris", "Greenfinch", "The head is green.", family="Fringillidae"),
    ]
    store = ShelfStore(birds, [], ENCODER)
    for query, points in (
        ("duck with a green head", {"Mallard": 1.671989, "Greenfinch": 1.271989, "Pintail Duck": 0.868536}),
        ("a Mallard", {"Mallard": 3.055789}),
        ("pint", {"Pintail Duck": 2.2}),
        ("greenfinsh", {"Greenfinch": 1.8}),
        ("red crest and long tail", {"Pintail Duck": 0.519444}),
    ):
        assert scores(store, query) == pytest.approx(points, abs=2e-6), query
    assert scores(STORE, "Strigiformes") == pytest.approx(
        {"Eurasian Eagle-Owl": 2.634711, "Western Barn Owl": 2.538569}, abs=2e-6
    )
    assert scores(STORE, "red crest and black face") == pytest.approx(
        {"Northern Cardinal": 1.556602, "Pyrrhuloxia": 0.731213, "Black-crowned Night Heron": 0.569961}, abs=2e-6
    )


def test_matches_are_sorted_by_score_then_name_limited_and_empty_for_nonsense() -> None:
    matches = search(STORE, "red", ENCODER)
    wrens = [entry(f"Avis {x}", f"{x} Wren", "It is green.") for x in ("ccc", "aaa", "bbb")]
    assert list(scores(ShelfStore(wrens, [], ENCODER), "green")) == ["aaa Wren", "bbb Wren", "ccc Wren"]
    assert search(STORE, "red", ENCODER, n=2) == matches[:2]
    assert search(STORE, "xyzzy", ENCODER) == search(STORE, " ", ENCODER) == []
    assert search(ShelfStore([], [], ENCODER), "northern cardinal", ENCODER) == []
    with pytest.raises(ValueError, match="expected n of at least 1, got 0"):
        search(STORE, "red", ENCODER, n=0)


def test_an_encoder_with_another_space_is_refused() -> None:
    sources = ContextSources(settings=CONTEXT_PRESETS["paper"])  # never asks the knowledge base
    for look_up in (search, context, partial(context, sources=sources)):
        with pytest.raises(SpaceMismatch, match="bag-of-words/2048; these encoders make vectors of bag-of-words/64"):
            look_up(STORE, "red crest", BagOfWords(dim=64))


def test_butterflies_are_found_by_their_early_stages_whatever_the_word_for_them() -> None:
    species = [
        butterfly("Papilio machaon", "P", "The caterpillar is green with black bands.", "It has an orange osmeterium."),
        butterfly("Pieris brassicae", "W", "The larva is yellow.", "A large butterfly with black wings."),
        butterfly("Danaus plexippus", "M", "The caterpillar has black rings.", "The chrysalis is jade green."),
        butterfly("Polyommatus icarus", "B", "The wings are blue.", "The caterpillar is dull."),
    ]
    store = ShelfStore(species, [], ENCODER)
    queries = ("larva with orange osmeterium", "green pupa", "blue butterfly", "green larva, black bands")
    assert [search(store, query, ENCODER)[0].common_name for query in queries] == ["P", "M", "B", "P"]
    assert "W" in scores(store, "larva")


def test_everyday_and_misspelt_words_are_read_as_words_of_the_lexicon() -> None:
    for typed, read in {
        "GRAY bird, rust-colored tummy": "grey bird, rusty belly",
        "top of the head is reddish brown": "crown is reddish-brown",
        "stubby beak, light brown chest": "short beak, buff chest", "graylag": "greylag", "": "", "boobook": "boobook",
        "crowl": "crown",
    }.items():  # fmt: skip
        assert in_lexicon_words(typed) == read, typed
    assert in_lexicon_words("crowl", is_known={"crowl"}.__contains__) == "crowl"
    for typed, right in {
        "yelow": "yellow", "breeast": "breast", "whiet": "white", "strealed": "streaked", "chesnut": "chestnut",
        "orage": "orange", "brwon": "brown", "crown": "crown", "bills": "bills", "whiter": "whiter", "reed": "reed",
        "wihtewihte": "wihtewihte", "Ünder": "Ünder", "rec": "rec",
    }.items():  # fmt: skip
        assert corrected(typed, is_known={"reed"}.__contains__) == right


def test_names_spelt_like_words_of_the_query_are_suggested() -> None:
    for query, names in {
        "two frogs in amplxus": ["amplexus"], "superciliun of a pyrhuloxia": ["supercilium", "Pyrrhuloxia"],
        "barrins": ["barring"], "a frog on a map of the town": [], "ruf": [], "a Eurasian Eagle-Owl eating": [], "": [],
        "pyrhuloxia" + " word" * (MAX_QUERY_WORDS - 1): ["Pyrrhuloxia"], "pyrhuloxia" + " word" * MAX_QUERY_WORDS: [],
    }.items():  # fmt: skip
        assert suggestions(STORE, query) == names, query
    assert suggestions(STORE, "superciliun of a pyrhuloxia", n=1) == ["supercilium"]
    crest = Term(term_id="term:crest", name="crest", definition="Long feathers of the head.")
    assert suggestions(
        ShelfStore([entry("Falco columbarius", "Merlin")], [crest], ENCODER), "Merlin Street, crast"
    ) == ["crest"]


def index(*texts: str, group: str = "birds") -> MarkIndex:
    db = SelfClosing(":memory:", check_same_thread=False)
    MarkIndex.fill(db, texts, [group] * len(texts))
    return MarkIndex(db)


def fits(query: str, *texts: str, group: str = "birds") -> list[float]:
    return [round(float(fit), 3) for fit in index(*texts, group=group).scores(query)[0]]


def test_a_mark_counts_by_its_part_and_look() -> None:
    for query, looks in (
        ("orange breast", {"The breast is orange.": 1, "The breast is rufous.": 0.7, "The underparts are orange.": 0.8,
                           "The bill is orange.": SOME_PART, "The breast is white.": CONFLICT, "The tail is long.": 0}),
        ("white wings", {"White wings.": 1, "The wings have white tips.": MARKING}),
        ("wing bars", {"It has wing bars.": 1, "The wings are white.": 0}),
        ("belly white", {"The throat, breast and belly are white, and the tail is long.": 1}),
        ("belly white", {"A white throat, breast and belly.": 1, "A white throat, and the belly is red.": CONFLICT}),
        ("spotted belly", {"The belly is buff with many very bold spots and bars.": 1, "The bill is red below.": 0}),
        ("breast long", {"The throat, breast and belly are white, and the tail is long.": 0}),
        ("grey bird, long, pointed bill", {"The plumage is grey. The bill is long.": 0.293}),
        ("belly white, back brown", {"The belly is white and the back brown.": 1, "The belly is brown.": -0.059}),
    ):  # fmt: skip
        assert fits(query, *looks) == list(looks.values()), query


def test_missing_marks_are_those_that_a_text_neither_has_nor_contradicts() -> None:
    texts = ("The breast is red.", "The breast is white.", "The tail is long.")
    assert index(*texts).scores("red breast")[1].tolist() == [0, 0, 1]
    for query in ("seen on a lake", "no crest"):
        fit, missing = index("The breast is red.", "").scores(query)
        assert (fit.tolist(), missing.tolist()) == ([0, 0], [1, 1])
    assert index().scores("red breast")[0].shape == (0,)


def test_marks_of_butterflies_are_told_apart_by_part_stage_side_and_marking() -> None:
    for query, text, other in (
        ("larva with orange osmeterium", "It can push out an orange osmeterium.", "The larva is orange."),
        ("yellow spines", "The caterpillar is black with yellow spines.", "The underside is yellow."),
        ("green caterpillar with black bands", "The larva is green with black bands.", "The larva is black or green."),
        ("pupa with golden dots", "The chrysalis has golden dots.", "The caterpillar is yellow."),
        ("white with orange wing tips", "The wings are white. The forewings are orange.",
         "White spots near the wing tip; orange wings."),
        ("blue butterfly", "The wings are blue.", "The larva is blue."),
        ("black wings with a red band", "The wings are black with a red band.",
         "The wings are yellow with black veins and a blue band."),
    ):  # fmt: skip
        fit, of_other = fits(query, text, other, group="lepidoptera")
        assert fit > max(of_other, 0.3), query
    sides = ("The upperside is black.", "The underside is black.", "The wings are black.")
    assert fits("black wings on the upperside", *sides, group="lepidoptera") == [1, SOME_PART, BETWEEN_SIDES]
