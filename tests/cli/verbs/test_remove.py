"""`kb remove`: unknown names, and JSON output."""

from __future__ import annotations

import json
from typing import Any


def test_an_unknown_name_gets_a_suggestion_and_removed_names_are_printed(cli: Any, folder_kb: str) -> None:
    outcome = cli.call("remove", "--kb", folder_kb, "Snowy Oul")
    assert (outcome.exit_code, "Did you mean Snowy Owl" in outcome.stderr) == (5, True)
    removed = json.loads(cli.call("remove", "--kb", folder_kb, "Snowy Owl", "--format", "json", check=True).stdout)
    assert removed["names"] == ["Bubo scandiacus"]
