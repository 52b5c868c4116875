"""`kb remove`: unknown names, and what is removed as JSON."""

from __future__ import annotations

import json
from typing import Any


def test_a_name_that_is_not_there_is_not_removed(cli: Any, folder_kb: str) -> None:
    outcome = cli.call("remove", "--kb", folder_kb, "Snowy Oul")
    assert outcome.exit_code == 5
    assert "Did you mean Snowy Owl" in outcome.stderr


def test_removed_names_are_given_as_json(cli: Any, folder_kb: str) -> None:
    removed = json.loads(cli.call("remove", "--kb", folder_kb, "Snowy Owl", "--format", "json", check=True).stdout)
    assert removed["names"] == ["Bubo scandiacus"]
