"""`kb status`: counts, names left out, and the knowledge base of the environment."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kb.store.ledger import Ledger


def test_status_counts_species_articles_and_chunks(cli: Any, built_kb: Path) -> None:
    outcome = cli.call("status", "--kb", built_kb, "--format", "json", check=True)
    found = json.loads(outcome.stdout)
    assert found["species"] == found["summaries"] == found["articles"] >= 6
    assert found["chunks"] >= found["species"]
    assert found["failures"] == []
    table = cli.call("status", "--kb", built_kb, check=True).stdout
    assert f"species           {found['species']}" in table
    assert found["spaces"], "in JSON alone: three long names"
    assert not any(space in table for space in found["spaces"])
    assert cli.call("status", "--kb", built_kb, "--left-out", check=True).stdout == "No name was left out.\n"


def test_status_lists_left_out_names_with_reasons(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "notes" / "Mallard").mkdir(parents=True)
    (tmp_path / "notes" / "Mallard" / "article.txt").write_text(
        "== Description ==\nThe male has a green head and a yellow bill.\n"
    )
    (tmp_path / "names.csv").write_text("common_name\nMallard\nBlue Jay\nSea Robin\n")
    cli.call("build", "--source", f"folder:{tmp_path}/notes", "--names", "names.csv", "--kb", "n.kb", check=True)
    listed = json.loads(cli.call("status", "--kb", "n.kb", "--left-out", "--format", "json", check=True).stdout)
    assert [(row["name"], row["reason"]) for row in listed] == [
        ("Cyanocitta cristata", "no page"),
        ("Sea Robin", "not in the checklist"),
    ]
    table = cli.call("status", "--kb", "n.kb", "--left-out", check=True).stdout
    assert all(re.search(rf"^{row['name']} +{row['reason']}", table, re.M) for row in listed)


def test_an_unfinished_build_is_reported(
    cli: Any, tmp_path: Path, drawings: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A killed build leaves a record of its stages in the ledger."""
    path = tmp_path / "a.kb"
    cli.call("build", "--source", "starter", "--limit", "3", "--only", "resolve", "--kb", path, check=True)
    with closing(Ledger(path / "ledger.sqlite")) as ledger:
        ledger.set_fact("building", "fetch, distil")
    assert "not finished      the last build" in cli.call("status", "--kb", path, check=True).stdout
    outcome = cli.call("identify", drawings, "--kb", path)
    assert outcome.exit_code == 3
    assert f"The build of {path} did not finish; run it again." in caplog.text
    assert f"kb status --kb {path}" in outcome.stderr
