"""`kb lint`: findings in every format, and their severities."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any, get_args

from cli.verbs.lint import CSV_COLUMNS, RULES_HELP
from kb.curate.lint import MAX_FACT_WORDS, MAX_WORDS, MIN_WORDS, Rule
from tests.cli.verbs.conftest import replace_in_summaries


def test_every_format_shows_the_same_finding(cli: Any, faulty_kb: Path) -> None:
    found = json.loads(cli.call("lint", "--kb", faulty_kb, "--format", "json").stdout)
    assert found["ok"] is False
    assert found["counts"] == {"error": 1, "warning": 0, "note": 0}
    (finding,) = found["findings"]
    assert (finding["rule"], finding["name"], finding["statement"]) == ("unsupported", "Mallard", 1)
    assert json.loads(cli.call("lint", "--kb", faulty_kb, "--format", "jsonl").stdout) == finding
    (row,) = csv.DictReader(io.StringIO(cli.call("lint", "--kb", faulty_kb, "--format", "csv").stdout))
    assert row == {column: str(finding[column]) for column in CSV_COLUMNS}


def test_severity_decides_which_findings_exit_with_1(cli: Any, mallard: Path) -> None:
    replace_in_summaries(mallard, "a green head", "a dark green head")  # a shade missing from the article: a warning
    for severity, exit_code in (("error", 0), ("warning", 1), ("note", 1)):
        assert cli.call("lint", "--kb", mallard, "--severity", severity).exit_code == exit_code


def test_lint_help_lists_every_rule_and_limit() -> None:
    named = {line[2:].split(" ")[0] for line in RULES_HELP.splitlines()[2:]} - {""}
    assert named == set(get_args(Rule))
    assert set(re.findall(r"\d+", RULES_HELP)) == {str(limit) for limit in (MIN_WORDS, MAX_WORDS, MAX_FACT_WORDS)}
