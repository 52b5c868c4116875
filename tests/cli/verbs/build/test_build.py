"""`kb build` from the starter, a folder and a real wiki: reports and exit codes."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.verbs.conftest import fields
from tests.drawn_birds import drawn_bird


@pytest.mark.usefixtures("toy_paper_profile")
def test_another_profile_is_refused_and_the_suggested_commands_work(cli: Any) -> None:
    command = ("build", "--source", "starter", "--taxon", "Tyto alba", "--profile")
    cli.call(*command, "starter", "--kb", "owls.kb", check=True)
    before = cli.call("verify", "--kb", "owls.kb", check=True).stdout
    refused = cli.call(*command, "paper", "--kb", "owls.kb")
    assert refused.exit_code == 2
    assert "owls.kb was built with the profile starter, expected paper" in refused.stderr
    assert "kb build --profile paper --kb owls-paper.kb" in refused.stderr
    exported, imported = re.findall(r"kb ((?:export|import) [^,\n]+)", refused.stderr)
    cli.call(*exported.split(), check=True)
    cli.call(*imported.split(), check=True)
    status = json.loads(cli.call("status", "--kb", "owls-paper.kb", "--format", "json", check=True).stdout)
    assert (status["profile"], status["species"]) == ("paper", 1)
    assert cli.call("verify", "--kb", "owls.kb", check=True).stdout == before


def test_a_dry_run_one_stage_and_a_limit(cli: Any, tmp_path: Path) -> None:
    build = ("build", "--source", "starter")
    planned = cli.call(*build, "--dry-run", check=True).stdout
    assert fields(planned)["taxa looked up"] == fields(planned)["pages found"]
    assert planned.endswith("Nothing was written.\n")
    assert list(tmp_path.iterdir()) == []
    outcome = cli.call(*build, "--taxon", "Tyto alba", "--kb", "a.kb", "--only", "resolve", check=True)
    assert "resolve" in outcome.stderr and "fetch" not in outcome.stderr
    assert (fields(outcome.stdout)["articles"], fields(outcome.stdout)["summaries"]) == ("0", "0")
    assert fields(cli.call(*build, "--limit", "3", "--kb", "b.kb", check=True).stdout)["species"] == "3"


def test_what_cannot_be_built_is_refused_before_any_request(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    for arguments, code, message in (
        (("--taxon", "Strigiformis"), 5, "Did you mean Strigiformes"),
        (("--taxon", "Strigiformes"), 3, "FIELDMARK_CONTACT"),
        (("--taxon", "Tyto alba", "--api-url", "http://127.0.0.1:9/api.php"), 6, "127.0.0.1:9"),
        (("--source", "starter", "--kb", "mine"), 2, "mine"),
        ((), 2, "Specify --taxon, --list, --category or --names."),
    ):
        outcome = cli.call("build", *arguments)
        assert (outcome.exit_code, message in outcome.stderr) == (code, True), (arguments, outcome.stderr)
    assert [path.name for path in tmp_path.rglob("*")] == ["mine", "thesis.txt"]


def test_a_folder_of_articles_is_a_source_of_species_and_terms(cli: Any, tmp_path: Path) -> None:
    texts = {"Snowy Owl": "A large white owl with yellow eyes.", "Terms/Osmeterium": "An osmeterium is a forked organ."}
    for name, text in {**texts, "Mallard": "A green duck."}.items():
        (tmp_path / "birds" / name).mkdir(parents=True)
        (tmp_path / "birds" / name / "article.txt").write_text(f"## Description\n{text}\n")
    (tmp_path / "birds" / "Garden gnome").mkdir()
    (tmp_path / "terms.txt").write_text("osmeterium\n")
    source = ("build", "--source", f"folder:{tmp_path / 'birds'}", "--taxon", "Strigiformes", "--terms", "terms.txt")
    report = fields(cli.call(*source, check=True).stdout)
    assert (report["species"], report["summaries"], report["terms"]) == ("1", "1", "1")
    assert report["notes"] == "no reference photos 1"
    assert report["left out"] == "not in the checklist 1"
    shown = json.loads(cli.call("show", "Snowy Owl", "--kb", "strigiformes.kb", "--format", "json", check=True).stdout)
    assert "white" in shown["summary"]["text"]
    assert "forked organ" in cli.call("show", "osmeterium", "--kb", "strigiformes.kb", check=True).stdout


@pytest.mark.integration
def test_owls_are_built_from_a_real_wiki_and_left_out_names_are_reported(cli: Any, wiki_api_url: str) -> None:
    outcome = cli.run("build", "--taxon", "Strigiformes", "--api-url", wiki_api_url, "--kb", "owls.kb", check=True)
    report = fields(outcome.stdout)
    assert int(report["species"]) >= 3
    assert report["species"] == report["articles"]
    assert "no page" in report["left out"]
    assert "not a bird" in report["left out"]
    assert "not asked for" not in report["left out"]
    assert int(report["requests"]) > 0
    status = json.loads(cli.run("status", "--kb", "owls.kb", "--format", "json", check=True).stdout)
    assert status["species"] == int(report["species"])
    again = cli.run("build", "--taxon", "Strigiformes", "--api-url", wiki_api_url, "--kb", "owls.kb", check=True)
    assert int(fields(again.stdout)["requests"]) < int(report["requests"])
    assert "fetch" not in again.stderr, "stored bodies are not fetched again"

    for option in ("--list", "--category"):
        outcome = cli.call("build", option, "Unicorns", "--api-url", wiki_api_url, "--kb", "x.kb")
        assert (outcome.exit_code, "'Unicorns'" in outcome.stderr) == (5, True)
        assert f"hint: {option} expects the exact" in outcome.stderr and not Path("x.kb").exists()


@pytest.fixture
def owls(tmp_path: Path, drawings: Path) -> Path:
    """A folder of two owls with an article each, and two drawings of the first."""
    for name in ("Snowy Owl", "Western Barn Owl"):
        (tmp_path / "owls" / name).mkdir(parents=True)
        (tmp_path / "owls" / name / "article.txt").write_text("It has white plumage and yellow eyes.")
    for name in ("bubo-scandiacus", "phoenicopterus-ruber"):
        shutil.copy(drawings / f"{name}.png", tmp_path / "owls" / "Snowy Owl")
    return tmp_path / "owls"


def test_numbers_of_anchors_and_of_failures_are_settings(cli: Any, owls: Path, tmp_path: Path) -> None:
    def n_photos() -> int:
        found: int = json.loads(cli.call("status", "--kb", "o.kb", "--format", "json", check=True).stdout)["anchors"]
        return found

    source = ("build", "--source", f"folder:{owls}", "--kb", "o.kb")
    cli.call(*source, "--set", "anchors_per_species=1", check=True)
    assert n_photos() == 1
    (tmp_path / "fieldmark.toml").write_text(
        '[build]\nanchors_per_species = 2\n[llm.text]\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\n'
    )
    (owls / "Snowy Owl" / "article.txt").write_text("It has white plumage, dark bars and yellow eyes.")
    cli.call("update", "--kb", "o.kb", check=True)
    assert n_photos() == 2
    stopped = cli.call(*source, "--distiller", "model", "--set", "max_failures_in_a_row=1")
    assert (stopped.exit_code, "Too many pages failed in a row (1)" in stopped.stderr) == (6, True)


def test_a_folder_of_photos_builds_a_species_and_only_its_own_folders_are_reported(cli: Any, tmp_path: Path) -> None:
    for name in ("Snowy Owl", "Merlin", "Peacock butterfly"):
        (tmp_path / "birds" / name).mkdir(parents=True)
    for seed in range(4):
        (tmp_path / "birds" / "Snowy Owl" / f"{seed}.png").write_bytes(drawn_bird("bubo-scandiacus", seed))
    built = cli.call("build", "--source", f"folder:{tmp_path / 'birds'}", "--kb", "p.kb", check=True)
    assert re.search(r"^left out +no page 1, not in the checklist 1$", built.stdout, re.MULTILINE)
    assert re.search(r"^photos skipped +beyond the limit 1$", built.stdout, re.MULTILINE)
    assert "AviList 2025 holds birds only; kb build and kb taxa take another with --checklist." in built.stderr
    listed = cli.call("status", "--kb", "p.kb", "--left-out", "--format", "json", check=True).stdout
    assert [(row["name"], row["reason"]) for row in json.loads(listed)] == [
        ("Falco columbarius", "no page"),
        ("Peacock butterfly", "not in the checklist"),
        ("Bubo scandiacus: 3.png", "beyond the limit"),
    ]
    shown = json.loads(cli.call("show", "Snowy Owl", "--kb", "p.kb", "--format", "json", check=True).stdout)
    assert (shown["marks"], shown["source"], len(shown["anchors"])) == (["no-summary"], None, 3)
    assert cli.call("verify", "--kb", "p.kb").exit_code == 0
