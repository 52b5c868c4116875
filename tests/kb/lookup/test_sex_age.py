"""The sex or age of a species in a query, told by its summary."""

from __future__ import annotations

from data.records import QueryPart
from kb.lookup.findings import query_parts
from tests.kb.lookup.shelf import ENCODER, entry
from tests.memory_store import ShelfStore


def store(*sentences: str) -> ShelfStore:
    found = entry("Anas viridis", "Green Duck", *sentences, family="Anatidae", order="Anseriformes")
    return ShelfStore([found], [], ENCODER)


def sexes(query: str, *sentences: str) -> list[QueryPart]:
    return [part for part in query_parts(store(*sentences), query) if part.kind == "sex_age"]


def test_the_summary_tells_the_sex_from_the_other() -> None:
    for query, word, looks, unlike in (
        ("a male Green Duck on a pond", "male", "The male is green. It has a white collar.", "The female is brown."),
        ("a hen Green Duck", "hen", "The female is brown.", "The male is green. It has a white collar."),
        ("Green Duck drake", "drake", "The male is green. It has a white collar.", "The female is brown."),
        ("a Female breeding Green Duck", "Female", "The female is brown.", "The male is green. It has a white collar."),
    ):
        sentences = ("The bill is yellow.", "The male is green.", "It has a white collar.", "The female is brown.")
        (part,) = sexes(query, *sentences)
        assert (part.text, part.looks, part.unlike, part.taxon_ids) == (word, looks, unlike, ("anas-viridis",)), query
        assert part.name in ("male Green Duck", "female Green Duck"), query


def test_a_young_bird_is_told_from_the_species_if_nothing_else_is_known() -> None:
    (part,) = sexes("a juvenile Green Duck", "The bird is green.", "Juveniles are grey.")
    assert (part.looks, part.unlike) == ("Juveniles are grey.", "The bird is green.")


def test_no_sex_is_told_without_a_word_or_a_difference() -> None:
    for query, sentences in (
        ("a male Green Duck", ["The bird is green."]),
        ("a male Green Duck", ["The male is green."]),
        ("a male Green Duck", []),
        ("an adult Green Duck", ["The male is green.", "The female is brown."]),
        ("a Green Duck feeding a male", ["The male is green.", "The female is brown."]),
    ):
        assert sexes(query, *sentences) == [], query


def test_the_looks_of_a_variant_leave_out_marks_of_ordinary_adults() -> None:
    sentences = ("A plump thrush with a red breast.", "Young birds are spotted.")
    for query, looks in (
        ("a Green Duck", " ".join(sentences)),
        ("an albino Green Duck", "A plump thrush."),
        ("a juvenile Green Duck", "Young birds are spotted. A plump thrush."),
    ):
        [part] = [part for part in query_parts(store(*sentences), query) if part.kind == "species"]
        assert part.looks == looks


def test_a_word_for_young_birds_of_a_group_is_an_age() -> None:
    (part,) = sexes("a Green Duck duckling", "The bird is green.", "Juveniles are grey.")
    assert (part.text, part.name, part.looks) == ("duckling", "juvenile Green Duck", "Juveniles are grey.")
