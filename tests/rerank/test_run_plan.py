"""`rerank.run_plan`: contradicting choices are refused before a run."""

from __future__ import annotations

import pytest

from data.errors import MissingRequirement, UsageError
from rerank import RerankSettings, plan_run


def test_similarity_refuses_a_vision_judge() -> None:
    with pytest.raises(UsageError, match="asks no vision model"):
        plan_run("similarity", RerankSettings(), endpoints=("vision",), judge="vision")
    assert plan_run("similarity", RerankSettings(), endpoints=("vision",), judge="encoder").models == ()


def test_cotrr_needs_a_vision_model() -> None:
    with pytest.raises(UsageError, match="needs a vision model"):
        plan_run("cotrr", RerankSettings(), endpoints=("vision",), judge="encoder")
    with pytest.raises(MissingRequirement, match="vision"):
        plan_run("cotrr", RerankSettings(), endpoints=("text",))
