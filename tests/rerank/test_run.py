"""Plans and results of runs."""

from dataclasses import replace

import pytest

from data.errors import BadImage, CostStop, FieldmarkError, MissingRequirement, NothingReadable, UsageError
from data.records import RankedImage
from rerank import RerankSettings, plan_run
from rerank.reranker import Tally
from rerank.run import RunResult

FAILED = RankedImage(query_id="q1", image_id="a", rank=1, score=0.0, first_stage_rank=1, status="error", error="bad")


def test_contradicting_choices_are_refused_before_a_run() -> None:
    def plan(method: str, **choices: str | bool) -> tuple[str, ...]:
        return plan_run(method, RerankSettings(), endpoints=endpoints, **choices).models  # type: ignore[arg-type]

    endpoints = ("vision",)
    for method, choices, why in (
        ("similarity", {"judge": "vision"}, "asks no vision model"), ("visret", {"judge": "vision"}, "asks no vision"),
        ("rewrite", {"judge": "vision"}, "asks no vision model"), ("captions", {"judge": "encoder"}, "has no judge"),
        ("cotrr", {"judge": "encoder"}, "needs a vision model"), ("cotrr", {"web": True}, "Web search is for"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=why):
            plan(method, **choices)
    for method, missing in (("visret", "llm.image"), ("rewrite", "llm.text")):
        with pytest.raises(MissingRequirement, match=missing):
            plan(method)
    assert plan("similarity", judge="encoder") == plan("decompose", judge="encoder") == ()
    assert plan("captions") == plan("visa") == plan("cotrr") == plan("decompose") == ("vision",)
    endpoints = ("text",)
    for method in ("cotrr", "captions", "visa"):
        with pytest.raises(MissingRequirement, match="vision"):
            plan(method)
    assert plan("rewrite") == ("text",)


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
