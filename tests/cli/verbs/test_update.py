"""`kb update`: changes at the sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.verbs.conftest import build_folder, write_bird


def test_update_finds_its_folder_and_lists_the_changes(cli: Any, tmp_path: Path) -> None:
    write_bird(tmp_path / "birds", "Snowy Owl", "It has white plumage with dark bars and yellow eyes.")
    write_bird(tmp_path / "birds", "Blue Jay", "It has a blue crest and white underparts.")
    build_folder(tmp_path / "birds", folder_kb := tmp_path / "my.kb")
    assert "changes            none" in cli.call("update", "--kb", folder_kb, check=True).stdout
    write_bird(tmp_path / "birds", "Blue Jay", "It has a black necklace and a blue crest.")
    found = json.loads(cli.call("update", "--kb", folder_kb, "--format", "json", check=True).stdout)
    assert found["checked"] == 2
    assert [(change["name"], change["kind"], change["detail"]) for change in found["changes"]] == [
        ("Cyanocitta cristata", "new revision", "files changed")
    ]
    assert found["distilled"] == 1
    assert "black necklace" in cli.call("show", "--kb", folder_kb, "Blue Jay", check=True).stdout


def test_an_absent_kind_of_source_exits_with_2(cli: Any, folder_kb: str) -> None:
    outcome = cli.call("update", "--kb", folder_kb, "--source", "wikipedia")
    assert outcome.exit_code == 2
    assert "no source of kind wikipedia" in outcome.stderr


def test_shipped_knowledge_cannot_be_updated(cli: Any, built_kb: Path) -> None:
    outcome = cli.call("update", "--kb", built_kb)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "knowledge that ships with Fieldmark" in outcome.stderr
    assert "kb build --taxon Aves" in outcome.stderr
    assert "starter/" not in outcome.stderr, "the digest is not shown to users"
