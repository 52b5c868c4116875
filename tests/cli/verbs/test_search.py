"""`kb search`: species by a description."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def test_search_finds_a_bird_by_its_description(cli: Any, built_kb: Path) -> None:
    outcome = cli.call(
        "search", "white owl with yellow eyes", "--kb", built_kb, "--format", "json", "--top", "3", check=True
    )
    found = json.loads(outcome.stdout)
    assert len(found) == 3
    assert "bubo-scandiacus" in [match["taxon_id"] for match in found]
    assert [set(match) for match in found] == [{"taxon_id", "scientific_name", "common_name", "rank", "score"}] * 3


@pytest.mark.parametrize("verb", ["search", "context", "show"])
def test_an_empty_query_is_a_usage_error(cli: Any, verb: str) -> None:
    outcome = cli.call(verb, " ")
    assert outcome.exit_code == 2
    assert "xpected" in outcome.stderr
