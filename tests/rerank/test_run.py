"""Results of runs; their plans are on record (`recorded/plans.txt`)."""

from dataclasses import replace

import pytest

from data.errors import BadImage, CostStop, FieldmarkError, NothingReadable
from data.records import RankedImage
from rerank.reranker import Tally
from rerank.run import RunResult

FAILED = RankedImage(query_id="q1", image_id="a", rank=1, score=0.0, first_stage_rank=1, status="error", error="bad")


def test_an_unreadable_image_is_the_cause_only_without_other_errors() -> None:
    for failures, cause in (
        ([BadImage("damaged"), CostStop("cost limit")], "cost limit"), ([BadImage("one"), BadImage("two")], "bad"),
    ):  # fmt: skip
        result = RunResult(rows={"q1": [FAILED]}, tally=Tally(failures=failures))
        with pytest.raises(FieldmarkError, match=cause):
            result.raise_if_all_failed()


def test_every_unreadable_image_is_named_up_to_three() -> None:
    errors = ["a is empty", "a is empty", "b is empty", "c is empty", "d is empty"]
    result = RunResult(rows={"q1": [replace(FAILED, error=error) for error in errors]}, tally=Tally())
    assert result.reasons == "a is empty; b is empty; c is empty; and 1 more"
    with pytest.raises(NothingReadable, match=r"^a is empty; b is empty; c is empty; and 1 more$"):
        result.raise_if_all_failed()
