"""Questions by rule, and the kinds of queries by their words."""

import csv

import pytest

from data.records import QueryPart
from rerank.plain_questions import direct_question, plain_questions
from rerank.routing import kind_of_query

CREST = QueryPart(kind="term", text="crest", name="crest", looks="Feathers that stand up on the head.")
CARDINAL = QueryPart(kind="species", text="Northern Cardinal", name="Northern Cardinal", looks="A red bird.")


def test_taxon_then_terms_then_the_rest():
    found = plain_questions(
        "a Northern Cardinal with a red crest, sitting in snow", (CARDINAL, CREST), uses_looks=False
    )
    assert [one.question for one in found] == [
        "Does this image show a Northern Cardinal?",
        "Does this image show a red crest?",
        "Does this image show sitting in snow?",
    ]


def test_looks_are_taken_in_with_context_alone():
    with_looks, without = (
        plain_questions("a Northern Cardinal with a red crest", (CARDINAL, CREST), uses_looks=uses)
        for uses in (True, False)
    )
    assert [one.statement for one in with_looks] == [
        "a photo of a Northern Cardinal. A red bird.",
        "a red crest. Feathers that stand up on the head.",
    ]
    assert not any("Feathers" in one.statement or "red bird" in one.statement for one in without)


@pytest.mark.parametrize("query", ["a red bird", "crest", "?", "with a crest"])
def test_a_query_without_a_seam_is_asked_as_it_is(query):
    assert plain_questions(query, (CREST,) if "crest" in query else (), uses_looks=True) == (direct_question(query),)


def test_colours_that_belong_to_one_part_stay_together():
    found = plain_questions("a red and black crest, a yellow bill", (CREST,), uses_looks=False)
    assert [one.statement for one in found] == ["a red and black crest", "a yellow bill"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("a bird with a red and black crest and a yellow bill", ["a red and black crest", "a yellow bill"]),
        ("a yellow bill and a red and black crest", ["a yellow bill", "a red and black crest"]),
        ("a red crest and yellow bill and forked tail", ["a red crest", "yellow bill", "forked tail"]),
        ("a red crest and crown, a yellow bill", ["a red crest and crown", "a yellow bill"]),
    ],
)
def test_a_description_is_cut_between_things_and_not_between_their_colours(query, expected):
    bill = QueryPart(kind="term", text="bill", name="bill", looks="")
    assert [one.statement for one in plain_questions(query, (CREST, bill), uses_looks=False)] == expected


def test_kinds_of_queries_are_told_as_often_as_the_docs_say(shared):
    def right(split, same):
        with (shared / "benchmarks" / f"inquire_queries_{split}.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        return sum(same(row["supercategory"].lower(), kind_of_query(row["query_text"])) for row in rows)

    assert right("val", lambda truth, kind: truth == kind) == 44
    assert right("test", lambda truth, kind: truth == kind) == 115
    assert right("test", lambda truth, kind: (truth == "appearance") == (kind == "appearance")) == 160
