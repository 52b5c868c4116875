"""`kb credits`: attribution in every format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import documented_keys
from tests.cli.verbs.conftest import replace_in_summaries


def test_drawn_birds_are_credited_to_fieldmark_in_every_format(cli: Any, built_kb: Path) -> None:
    text = cli.call("credits", "--kb", built_kb, check=True).stdout
    assert text.startswith("Credits of drawn.kb\n")
    assert "Fieldmark's own texts:" in text
    assert "Must not be published" not in text
    found = json.loads(cli.call("credits", "--kb", built_kb, "--format", "json", check=True).stdout)
    assert found["n_not_to_be_published"] == 0
    assert set(found) == documented_keys("kb credits --format json")
    assert {photo["licence"] for photo in found["photos"]} == {"Apache-2.0"}
    rows = list(csv.DictReader(io.StringIO(cli.call("credits", "--kb", built_kb, "--format", "csv").stdout)))
    assert len(rows) == len(found["texts"]) + len(found["photos"])
    page = cli.call("credits", "--kb", built_kb, "--format", "html", check=True).stdout
    assert page.startswith("<!doctype html>")
    assert all(photo["file"] in page for photo in found["photos"])


def test_spreadsheet_formulas_are_escaped_in_csv_but_not_in_json(cli: Any, faulty_kb: Path) -> None:
    replace_in_summaries(faulty_kb, '"Mallard"', '"=1+2"')
    for verb, rows in (("lint", "findings"), ("credits", "texts")):
        (row,) = csv.DictReader(io.StringIO(cli.call(verb, "--kb", faulty_kb, "--format", "csv").stdout))
        (given,) = json.loads(cli.call(verb, "--kb", faulty_kb, "--format", "json").stdout)[rows]
        name = "name" if verb == "lint" else "title"
        assert (row[name], given[name]) == ("'=1+2", "=1+2")
