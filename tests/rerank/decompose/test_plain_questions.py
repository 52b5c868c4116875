"""Questions by rule, and the kinds of queries by their words."""

import csv
import tempfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from data.records import Job, JobImage, QueryPart
from rerank import rerank
from rerank.decompose.plain_questions import NEGATION, direct_question, plain_questions
from rerank.decompose.routing import kind_of_query

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


def test_encoders_are_asked_all_questions_whatever_they_say():
    """Asking them costs nothing, so there is nothing to save by stopping at a sure no."""
    parts = [CREST]
    with tempfile.TemporaryDirectory() as folder:
        Image.new("RGB", (48, 48), "blue").save(Path(folder) / "a.png")
        job = Job(query_id="q", text="a crest, a bill", candidates=(JobImage(image_id="a", path="a.png", score=1.0),))
        found = rerank(job, "decompose", encoder=SureOfNo(), parts=lambda _: parts, root=folder)
    assert [one.probability < 0.05 for one in found[0].questions] == [True, True]


class SureOfNo:
    """An encoder to which every photo is a photo of a bird and nothing else."""

    name = space = "sure of no"
    dim = 2
    max_tokens = None

    def encode_images(self, images):
        return np.array([[1.0, 0.0]] * len(images), dtype=np.float32)

    def encode_texts(self, texts):
        return np.array([[1.0 if text == NEGATION else -1.0, 0.0] for text in texts], dtype=np.float32)


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("a heron swallowing a frog", "behavior"),
        ("a king eider", "species"),  # no act, though it ends like one
        ("a wren on a fence", "context"),
        ("an immature gull feeding on a beach", "behavior"),
        ("an albino robin", "appearance"),
    ],
)
def test_the_kind_of_a_query_is_the_first_that_its_words_speak_of(query, kind):
    assert kind_of_query(query) == kind


def test_kinds_of_queries_are_told_as_often_as_the_docs_say(shared):
    def right(split, same):
        with (shared / "benchmarks" / f"inquire_queries_{split}.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        return sum(same(row["supercategory"].lower(), kind_of_query(row["query_text"])) for row in rows)

    assert right("val", lambda truth, kind: truth == kind) == 44
    assert right("test", lambda truth, kind: truth == kind) == 115
    assert right("test", lambda truth, kind: (truth == "appearance") == (kind == "appearance")) == 160
