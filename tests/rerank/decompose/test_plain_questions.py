"""Questions made from a query by rule, without a model."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from data.records import Job, JobImage, QueryPart
from rerank import RerankResources, rerank
from rerank.decompose.plain_questions import NEGATION, direct_question, plain_questions

CREST = QueryPart(kind="term", text="crest", name="crest", looks="Feathers that stand up on the head.")
CARDINAL = QueryPart(kind="species", text="Northern Cardinal", name="Northern Cardinal", looks="A red bird.",
                     taxon_ids=("cardinalis-cardinalis",))  # fmt: skip
MALE = QueryPart(kind="sex_age", text="male", name="male Northern Cardinal", looks="The male is red.",
                 unlike="The female is brown.", taxon_ids=("cardinalis-cardinalis",))  # fmt: skip
HERON = QueryPart(kind="species", text="Great Blue Heron", name="Great Blue Heron", taxon_ids=("ardea-herodias",))
DUCKS = QueryPart(kind="species", text="mallards", name="Mallard", taxon_ids=("anas-platyrhynchos",))
OWLS = QueryPart(kind="group", text="owls", name="owls", taxon_ids=("bubo-bubo", "tyto-alba"))


def test_questions_cover_taxon_then_terms_then_the_rest() -> None:
    found = plain_questions(
        "a Northern Cardinal with a red crest, sitting in snow", (CARDINAL, CREST), uses_looks=False
    )
    assert [one.question for one in found] == [
        "Does this image show a Northern Cardinal?",
        "Does this image show a red crest?",
        "Does this image show a Northern Cardinal sitting in snow?",
    ]
    assert [one.statement for one in found] == ["a photo of a Northern Cardinal", "a red crest", "sitting in snow"]
    assert [one.taxon_ids for one in found] == [("cardinalis-cardinalis",), (), ()]


@pytest.mark.parametrize(
    ("query", "parts", "questions"),
    [
        (
            "a Great Blue Heron standing in water",
            [HERON],
            ["a Great Blue Heron", "a Great Blue Heron standing in water"],
        ),
        ("Great Blue Heron standing in water", [HERON], ["a Great Blue Heron", "a Great Blue Heron standing in water"]),
        ("two mallards standing in water", [DUCKS], ["a Mallard", "two mallards standing in water"]),
        ("Two owls in snow at night", [OWLS], ["owls", "two owls in snow at night"]),
        ("a Northern Cardinal at night", [CARDINAL], ["a Northern Cardinal", "a Northern Cardinal at night"]),
        (
            "a Northern Cardinal tagged with green 26",
            [CARDINAL],
            ["a Northern Cardinal", "a Northern Cardinal tagged with green 26"],
        ),
        (
            "Northern Cardinal feeding a chick, perched on a branch",
            [CARDINAL],
            ["a Northern Cardinal", "a Northern Cardinal feeding a chick, perched on a branch"],
        ),
        (
            "a Northern Cardinal and a Great Blue Heron fighting",
            [CARDINAL, HERON],
            ["a Northern Cardinal", "a Great Blue Heron", "a Northern Cardinal and a Great Blue Heron fighting"],
        ),
        (
            "a bird with a crest, red crown, sitting in snow",
            [CREST],
            ["a crest", "a bird with a red crown, sitting in snow"],
        ),
        ("Two frogs in amplexus", [], ["two frogs in amplexus"]),
    ],
)
def test_questions_are_grammatical(query: str, parts: Any, questions: list[str]) -> None:
    found = [one.question for one in plain_questions(query, parts, uses_looks=False)]
    assert found == [f"Does this image show {question}?" for question in questions]


def test_names_are_no_part_of_other_statements() -> None:
    found = plain_questions("a Great Blue Heron standing in water", [HERON], uses_looks=True)
    assert found[-1].statement == "standing in water"


def test_a_sex_is_told_from_the_other_one() -> None:
    species, sex = plain_questions("a male Northern Cardinal", [CARDINAL, MALE], uses_looks=True)
    assert species.taxon_ids == sex.taxon_ids == CARDINAL.taxon_ids
    assert (species.relation, sex.relation) == ("shown", "looks")
    assert sex.question == "Does this image show a male Northern Cardinal?"
    assert (sex.statement, sex.negation) == ("The male is red.", "The female is brown.")
    without_looks = plain_questions("a male Northern Cardinal", [CARDINAL, MALE], uses_looks=False)[1]
    assert (without_looks.statement, without_looks.negation) == ("a photo of a male Northern Cardinal", NEGATION)


@pytest.mark.parametrize("query", ["a Great Blue Heron", "Great Blue Heron", "the bird is a Great Blue Heron"])
def test_a_query_that_is_a_name_asks_for_the_species(query: str) -> None:
    (found,) = plain_questions(query, [HERON], uses_looks=True)
    assert found.taxon_ids == HERON.taxon_ids == direct_question(query, [HERON]).taxon_ids
    assert found.question == "Does this image show a Great Blue Heron?"
    assert not direct_question(f"{query} in flight", [HERON]).taxon_ids


def test_looks_are_included_only_with_context() -> None:
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
def test_a_query_of_one_part_becomes_the_direct_question(query: str) -> None:
    assert plain_questions(query, (CREST,) if "crest" in query else (), uses_looks=True) == (direct_question(query),)


def test_colours_of_one_part_stay_together() -> None:
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
def test_a_query_is_split_between_parts_not_between_colours(query: str, expected: list[str]) -> None:
    bill = QueryPart(kind="term", text="bill", name="bill", looks="")
    assert [one.statement for one in plain_questions(query, (CREST, bill), uses_looks=False)] == expected


def test_an_encoder_judge_answers_all_questions() -> None:
    """Encoders are free of charge, so stopping at a confident no would save nothing."""
    parts = [CREST]
    with tempfile.TemporaryDirectory() as folder:
        Image.new("RGB", (48, 48), "blue").save(Path(folder) / "a.png")
        job = Job(query_id="q", text="a crest, a bill", candidates=(JobImage(image_id="a", path="a.png", score=1.0),))
        resources = RerankResources(encoders=(AlwaysNo(),), parts=lambda _: parts, root=folder)
        found = rerank(job, "decompose", resources)
    assert [one.probability < 0.05 for one in found[0].questions] == [True, True]


class AlwaysNo:
    """An encoder that matches every photo with the negation alone."""

    name = space = "sure of no"
    dim = 2
    max_tokens = None

    def encode_images(self, images: Any) -> Any:
        return np.array([[1.0, 0.0]] * len(images), dtype=np.float32)

    def encode_texts(self, texts: Any) -> Any:
        return np.array([[1.0 if text == NEGATION else -1.0, 0.0] for text in texts], dtype=np.float32)


@pytest.mark.parametrize(
    ("query", "rest"),
    [
        ("not a Great Blue Heron", []),
        ("a photo without any Great Blue Heron", []),
        ("a red crown, no Great Blue Heron", ["Does this image show a red crown?"]),
        ("Anything other than a Great Blue Heron", []),
    ],
)
def test_a_name_that_the_query_excludes_is_asked_for_as_absent(query: str, rest: list[str]) -> None:
    absent, *others = plain_questions(query, [HERON], uses_looks=False)
    assert absent.question == "Does this image show something other than a Great Blue Heron?"
    assert (absent.relation, absent.taxon_ids) == ("absent", HERON.taxon_ids)
    assert (absent.statement, absent.negation) == (NEGATION, "a photo of a Great Blue Heron")
    assert [one.question for one in others] == rest
    direct = direct_question("not a Great Blue Heron", [HERON])
    assert (direct.relation, direct.taxon_ids) == ("absent", HERON.taxon_ids)


def test_species_joined_by_or_are_one_question() -> None:
    query = "a Northern Cardinal or a Great Blue Heron standing in water"
    either, doing = plain_questions(query, [CARDINAL, HERON], uses_looks=False)
    assert either.question == "Does this image show a Northern Cardinal or a Great Blue Heron?"
    assert either.taxon_ids == (*CARDINAL.taxon_ids, *HERON.taxon_ids) and doing.taxon_ids == ()
    both = plain_questions(query.replace(" or ", " and "), [CARDINAL, HERON], uses_looks=False)
    assert [one.taxon_ids for one in both][:2] == [CARDINAL.taxon_ids, HERON.taxon_ids]
