"""Trust in a knowledge base: lint and credits."""

from __future__ import annotations

import csv
import io
import json
import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.common import output
from cli.verbs.lint import CSV_COLUMNS, RULES_HELP
from kb.curate.lint import RULES
from kb.store.ledger import Ledger

ARTICLE = """## Description

The male has a green head, a yellow bill and a grey body. The female is mottled brown with an orange bill.
It is 50 to 65 cm long.
"""


@pytest.fixture
def mallard(cli: Any, tmp_path: Path) -> Path:
    """A knowledge base of one species, out of a folder of the user's own."""
    folder = tmp_path / "notes" / "Mallard"
    folder.mkdir(parents=True)
    (folder / "article.txt").write_text(ARTICLE)
    cli.call("build", "--source", f"folder:{tmp_path}/notes", "--kb", "mallard.kb", check=True)
    return tmp_path / "mallard.kb"


def put(kb: Path, old: str, new: str) -> Path:
    """Change the words of the summaries, without any distiller."""
    with closing(Ledger(kb / "ledger.sqlite")) as ledger, ledger.transaction():
        ledger.publish([replace(entry, record=entry.record.replace(old, new)) for entry in ledger.entries()])
    return kb


@pytest.fixture
def with_a_fault(mallard: Path) -> Path:
    """The same, with a colour in its summary that the article does not have."""
    return put(mallard, "a green head", "a purple head")


def test_lint_of_a_sound_knowledge_base_finds_nothing_and_ends_with_0(cli: Any, mallard: Path) -> None:
    outcome = cli.call("lint", "--kb", mallard, "--severity", "note", check=True)
    assert outcome.stdout == "3 sentences of 1 species checked\n"


def test_lint_shows_a_claim_without_support_and_ends_with_1(cli: Any, with_a_fault: Path) -> None:
    outcome = cli.call("lint", "--kb", with_a_fault)
    assert outcome.exit_code == 1
    assert "not in its evidence: purple" in outcome.stdout
    assert "error    unsupported        1" in outcome.stdout


def test_every_format_of_lint_tells_the_same_finding(cli: Any, with_a_fault: Path) -> None:
    found = json.loads(cli.call("lint", "--kb", with_a_fault, "--format", "json").stdout)
    assert found["ok"] is False
    assert found["counts"] == {"error": 1, "warning": 0, "note": 0}
    (finding,) = found["findings"]
    assert (finding["rule"], finding["name"], finding["statement"]) == ("unsupported", "Mallard", 1)
    assert json.loads(cli.call("lint", "--kb", with_a_fault, "--format", "jsonl").stdout) == finding
    (row,) = csv.DictReader(io.StringIO(cli.call("lint", "--kb", with_a_fault, "--format", "csv").stdout))
    assert row == {column: str(finding[column]) for column in CSV_COLUMNS}


@pytest.mark.parametrize(("severity", "exit_code"), [("error", 0), ("warning", 1), ("note", 1)])
def test_severity_says_what_ends_with_1(cli: Any, mallard: Path, severity: str, exit_code: int) -> None:
    put(mallard, "a green head", "a dark green head")  # a shade that the article does not have: a warning
    assert cli.call("lint", "--kb", mallard, "--severity", severity).exit_code == exit_code


def test_the_help_of_lint_names_every_rule_with_its_severities_and_limits() -> None:
    lines = [line.split() for line in RULES_HELP.splitlines()[2:]]
    known = {rule: [part.split(":")[0] for part in meaning.split("; ")] for rule, meaning in RULES.items()}
    told: dict[str, list[str]] = {}
    for words in lines:
        if words[0] in known:
            rule = words.pop(0)
        told.setdefault(rule, []).append(words[0])
    in_a_bracket = {"too-short"}  # its note for bare facts stands there
    assert told == {rule: known[rule][:1] if rule in in_a_bracket else known[rule] for rule in known}
    limits = [set(re.findall(r"\d+", text)) for text in (RULES_HELP, " ".join(RULES.values()))]
    assert limits[0] == limits[1]


def test_credits_of_the_drawn_birds_are_fieldmarks_own_in_every_format(cli: Any, built_kb: Path) -> None:
    text = cli.call("credits", "--kb", built_kb, check=True).stdout
    assert text.startswith("Credits of drawn.kb\n")
    assert "Fieldmark's own texts:" in text
    assert "Must not be published" not in text
    found = json.loads(cli.call("credits", "--kb", built_kb, "--format", "json", check=True).stdout)
    assert found["n_not_to_be_published"] == 0
    assert {photo["licence"] for photo in found["photos"]} == {"Apache-2.0"}
    rows = list(csv.DictReader(io.StringIO(cli.call("credits", "--kb", built_kb, "--format", "csv").stdout)))
    assert len(rows) == len(found["texts"]) + len(found["photos"])
    page = cli.call("credits", "--kb", built_kb, "--format", "html", check=True).stdout
    assert page.startswith("<!doctype html>")
    assert all(photo["file"] in page for photo in found["photos"])


def test_a_folder_of_ones_own_is_credited_as_such(cli: Any, mallard: Path) -> None:
    (text,) = json.loads(cli.call("credits", "--kb", mallard, "--format", "json", check=True).stdout)["texts"]
    assert (text["kind"], text["title"], text["publishable"]) == ("own", "Mallard", True)


def test_names_that_a_spreadsheet_would_run_are_disarmed_in_csv_and_as_they_are_in_json(
    cli: Any, with_a_fault: Path
) -> None:
    put(with_a_fault, '"Mallard"', '"=1+2"')
    for verb, rows in (("lint", "findings"), ("credits", "texts")):
        (row,) = csv.DictReader(io.StringIO(cli.call(verb, "--kb", with_a_fault, "--format", "csv").stdout))
        (given,) = json.loads(cli.call(verb, "--kb", with_a_fault, "--format", "json").stdout)[rows]
        name = "name" if verb == "lint" else "title"
        assert (row[name], given[name]) == ("'=1+2", "=1+2")


def test_words_in_tables_and_fields_cannot_steer_a_terminal() -> None:
    bad = "a purple\x1b[2J\x9b2J head"
    for text in (output.as_table(("text",), [(bad,)]), output.as_fields({"text": bad})):
        assert "a purple[2J2J head" in text


@pytest.mark.integration
def test_photos_that_are_not_free_are_skipped_counted_and_marked_when_taken(
    cli: Any, wiki_api_url: str, tmp_path: Path
) -> None:
    """One knowledge base, built free, then with any licence, then free again; articles are fetched once."""
    names = ("Common Myna", "Barn Swallow", "Blyth's Reed Warbler", "Blunt-winged Warbler")
    (tmp_path / "names.csv").write_text("\n".join(["common_name", *names]))

    def built(licences: str) -> tuple[int, Any, str]:
        """Return the requests of a build, the credits after it, and what they warn of."""
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
    assert n_second <= n_first - len(names)  # no body again
    assert {photo["freedom"] for photo in taken["photos"]} > {"free"}
    assert all(photo["publishable"] is (photo["freedom"] == "free") for photo in taken["photos"])
    assert "Do not publish" in warning

    _, again, _ = built("free")
    assert again["photos"] == free["photos"]
