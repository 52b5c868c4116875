"""`kb credits`: attribution in every format."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.integration
def test_non_free_photos_are_skipped_by_default_and_marked_when_included(
    cli: Any, wiki_api_url: str, tmp_path: Path
) -> None:
    """One knowledge base, built with free licences, then any licence, then free ones; articles are fetched once."""
    names = ("Common Myna", "Barn Swallow", "Blyth's Reed Warbler", "Blunt-winged Warbler")
    (tmp_path / "names.csv").write_text("\n".join(["common_name", *names]))

    def built(licences: str) -> tuple[int, Any, str]:
        """Return the number of requests of a build, its credits, and their warnings."""
        order = ("--names", "names.csv", "--api-url", wiki_api_url, "--kb", "w.kb", "--set", f"licences={licences}")
        report = cli.call("build", *order, check=True).stdout
        credits = cli.call("credits", "--kb", "w.kb", "--format", "json", check=True)
        requests = re.search(r"^requests +(\d+)$", report, re.MULTILINE)
        assert requests is not None
        return int(requests[1]), json.loads(credits.stdout), credits.stderr

    n_first, free, _ = built("free")
    assert {photo["freedom"] for photo in free["photos"]} == {"free"}
    assert sum(free["skipped_photos"].values()) > 0

    n_second, taken, warning = built("any")
    assert n_second <= n_first - len(names)  # bodies are not fetched again
    assert {photo["freedom"] for photo in taken["photos"]} > {"free"}
    assert all(photo["publishable"] is (photo["freedom"] == "free") for photo in taken["photos"])
    assert "Do not publish" in warning

    _, again, _ = built("free")
    assert again["photos"] == free["photos"]
