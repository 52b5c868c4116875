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
CARDINAL = QueryPart(kind="species", text="Northern Cardinal", name="Northern Cardinal", looks="A red bird.")


def test_questions_cover_taxon_then_terms_then_the_rest() -> None:
    found = plain_questions(
        "a Northern Cardinal with a red crest, sitting in snow", (CARDINAL, CREST), uses_looks=False
    )
    assert [one.question for one in found] == [
        "Does this image show a Northern Cardinal?",
        "Does this image show a red crest?",
        "Does this image show sitting in snow?",
    ]


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
