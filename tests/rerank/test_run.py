"""Results of runs."""

import pytest

from data.errors import BadImage, CostStop, FieldmarkError
from data.records import RankedImage
from rerank.run import RunResult
from rerank.tally import Tally

FAILED = RankedImage(query_id="q1", image_id="a", rank=1, score=0.0, first_stage_rank=1, status="error", error="bad")


@pytest.mark.parametrize(
    ("failures", "cause"),
    [([BadImage("damaged"), CostStop("cost limit")], "cost limit"), ([BadImage("one"), BadImage("two")], "one")],
)
def test_an_unreadable_image_is_the_cause_only_without_other_errors(failures: list[FieldmarkError], cause: str) -> None:
    result = RunResult(rows={"q1": [FAILED]}, tally=Tally(failures=failures))
    with pytest.raises(FieldmarkError, match=cause):
        result.raise_if_all_failed()
