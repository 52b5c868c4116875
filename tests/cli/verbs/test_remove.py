"""`kb remove`: unknown names, and JSON output."""

from __future__ import annotations

import json
from typing import Any


def test_an_unknown_name_exits_with_5_and_a_suggestion(cli: Any, folder_kb: str) -> None:
    outcome = cli.call("remove", "--kb", folder_kb, "Snowy Oul")
    assert outcome.exit_code == 5
    assert "Did you mean Snowy Owl" in outcome.stderr


def test_removed_names_are_printed_as_json(cli: Any, folder_kb: str) -> None:
    removed = json.loads(cli.call("remove", "--kb", folder_kb, "Snowy Owl", "--format", "json", check=True).stdout)
    assert removed["names"] == ["Bubo scandiacus"]
