"""`kb remove`: unknown names."""

from __future__ import annotations

from typing import Any


def test_a_name_that_is_not_there_is_not_removed(cli: Any, folder_kb: str) -> None:
    outcome = cli.call("remove", "--kb", folder_kb, "Snowy Oul")
    assert outcome.exit_code == 5
    assert "Did you mean Snowy Owl" in outcome.stderr
