"""`kb update`, `verify`, `remove`, `lint`, `export`, `import`, `bench`, `credits` and `index-images`."""

import csv
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any, get_args

import pytest
from PIL import Image

import kb
from cli.verbs.lint import CSV_COLUMNS, RULES_HELP
from kb.curate.lint import MAX_FACT_WORDS, MAX_WORDS, MIN_WORDS, Rule
from tests.cli.conftest import documented_keys
from tests.cli.verbs.conftest import build_folder, fields, replace_in_summaries, write_bird
from tests.toy.encoders import toy_encoders


def found_by(cli: Any, *arguments: object) -> Any:
    return json.loads(cli.call(*arguments, "--format", "json", check=True).stdout)


def test_update_finds_its_folder_and_lists_the_changes(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIELDMARK_WIKI_USER", "Me@Field")  # without a wiki, its password is not needed
    monkeypatch.setenv("FIELDMARK_API_URL", "http://127.0.0.1:9/api.php")
    write_bird(tmp_path / "birds", "Blue Jay", "It has a blue crest and white underparts.")
    build_folder(tmp_path / "birds", folder_kb := tmp_path / "my.kb")
    assert "changes            none" in cli.call("update", "--kb", folder_kb, check=True).stdout
    write_bird(tmp_path / "birds", "Blue Jay", "It has a black necklace and a blue crest.")
    found = found_by(cli, "update", "--kb", folder_kb)
    assert (found["checked"], found["distilled"]) == (1, 1)
    assert [(change["name"], change["kind"], change["detail"]) for change in found["changes"]] == [
        ("Cyanocitta cristata", "new revision", "files changed")
    ]
    assert "black necklace" in cli.call("show", "--kb", folder_kb, "Blue Jay", check=True).stdout


def test_what_cannot_be_updated_is_refused_with_a_reason(cli: Any, folder_kb: str, built_kb: Path) -> None:
    for arguments, messages in (
        (("--kb", folder_kb, "--source", "wikipedia"), ["no source of kind wikipedia"]),
        (("--kb", built_kb), ["knowledge that ships with Fieldmark", "kb build --taxon Aves"]),
    ):
        outcome = cli.call("update", *arguments)
        assert (outcome.exit_code, outcome.stdout) == (2, "")
        assert all(message in outcome.stderr for message in messages)
    for arguments in (("verify",), ("update",), ("export", "out"), ("remove", "Kea"), ("add", "--name", "Kea")):
        outcome = cli.call(*arguments)
        assert outcome.exit_code == 3, arguments
        assert outcome.stderr.startswith("error: No knowledge base given.\nhint: Add --kb DIR")


def test_verify_repairs_a_missing_index_and_exits_with_1_for_missing_articles(
    cli: Any, built_kb: Path, tmp_path: Path
) -> None:
    broken = shutil.copytree(built_kb, tmp_path / "broken.kb")
    shutil.rmtree(next((broken / "vectors").glob("*/chroma")))
    before = found_by(cli, "verify", "--kb", built_kb)
    first = cli.call("verify", "--kb", broken)
    assert first.exit_code == 1
    assert re.search(r"^repaired  .*\nok        repaired$", first.stdout, re.MULTILINE)
    again = found_by(cli, "verify", "--kb", broken)
    assert (again["ok"], again["problems"], again["digest"]) == (True, [], before["digest"])
    shutil.rmtree(broken / "articles")
    outcome = cli.call("verify", "--kb", broken)
    assert outcome.exit_code == 1
    assert outcome.stdout.startswith("problem   ") and "\nok        no\n" in outcome.stdout


def test_lint_shows_the_same_finding_in_every_format(cli: Any, faulty_kb: Path) -> None:
    found = json.loads(cli.call("lint", "--kb", faulty_kb, "--format", "json").stdout)
    assert (found["ok"], found["counts"]) == (False, {"error": 1, "warning": 0, "note": 0})
    (finding,) = found["findings"]
    assert (finding["rule"], finding["name"], finding["statement"]) == ("unsupported", "Mallard", 1)
    assert json.loads(cli.call("lint", "--kb", faulty_kb, "--format", "jsonl").stdout) == finding
    (row,) = csv.DictReader(io.StringIO(cli.call("lint", "--kb", faulty_kb, "--format", "csv").stdout))
    assert row == {column: str(finding[column]) for column in CSV_COLUMNS}
    table = cli.call("lint", "--kb", faulty_kb).stdout
    assert re.search(r"^error +unsupported +1\n\d sentences of 1 species checked$", table, re.M)


def test_severity_decides_which_findings_exit_with_1(cli: Any, mallard: Path) -> None:
    replace_in_summaries(mallard, "a green head", "a dark green head")  # a shade missing from the article: a warning
    for severity, exit_code in (("error", 0), ("warning", 1), ("note", 1)):
        assert cli.call("lint", "--kb", mallard, "--severity", severity).exit_code == exit_code
    named = {line[2:].split(" ")[0] for line in RULES_HELP.splitlines()[2:]} - {""}
    assert named == set(get_args(Rule))
    assert set(re.findall(r"\d+", RULES_HELP)) == {str(limit) for limit in (MIN_WORDS, MAX_WORDS, MAX_FACT_WORDS)}


def test_an_exported_bundle_is_imported_with_the_same_digest_and_species_are_removed(
    cli: Any, folder_kb: str, tmp_path: Path
) -> None:
    exported = found_by(cli, "export", "--kb", folder_kb, "out")
    assert (exported["species"], exported["images"]) == (2, 0)
    assert "digest   " in cli.call("export", "--kb", folder_kb, "without", "--no-vectors", check=True).stdout
    assert [(tmp_path / name / "vectors").is_dir() for name in ("out", "without")] == [True, False]
    imported = found_by(cli, "import", "out", "--kb", "copy.kb")
    assert (imported["species"], imported["digest"]) == (2, exported["digest"])
    assert exported["digest"] in cli.call("verify", "--kb", "copy.kb", check=True).stdout
    assert cli.call("export", "--kb", folder_kb, "out").exit_code == 2
    (tmp_path / "out" / "species.parquet").write_bytes(b"x")
    assert cli.call("import", "out", "--kb", "other.kb").exit_code == 5
    assert not (tmp_path / "other.kb").exists()
    outcome = cli.call("remove", "--kb", folder_kb, "Snowy Oul")
    assert (outcome.exit_code, "Did you mean Snowy Owl" in outcome.stderr) == (5, True)
    assert found_by(cli, "remove", "--kb", folder_kb, "Snowy Owl")["names"] == ["Bubo scandiacus"]


def test_a_bundle_of_another_profile_needs_re_encode(cli: Any, folder_kb: str) -> None:
    kb.export_bundle(folder_kb, "bundle")
    kb.import_bundle("bundle", "other.kb", toy_encoders(), re_encode=True)
    kb.export_bundle("other.kb", "out")
    order = ("import", "out", "--kb", "copy.kb", "--profile", "starter")
    outcome = cli.call(*order)
    assert (outcome.exit_code, "hint: --re-encode " in outcome.stderr) == (3, True)
    assert not Path("copy.kb").exists()
    assert "encoded now" in cli.call(*order, "--re-encode", check=True).stdout


def test_bench_measures_the_steps_of_look_ups(cli: Any, built_kb: Path) -> None:
    found = found_by(cli, "bench", "--kb", built_kb, "--runs", "2")
    assert (found["kb"], found["runs"], found["species"]) == (str(built_kb), 2, 20)
    assert list(found["steps"]) == ["open", "identify a photo", "search", "context"]
    assert all(0 < step["median_s"] <= step["slowest_s"] for step in found["steps"].values())
    lines = cli.call("bench", "--kb", built_kb, "--runs", "1", check=True).stdout.splitlines()
    assert lines[0] == f"{built_kb}: 20 species; runs of each step: 1"
    assert [line.split()[0] for line in lines[4:]] == ["open", "identify", "search", "context"]


def test_drawn_birds_are_credited_to_fieldmark_in_every_format(cli: Any, built_kb: Path) -> None:
    text = cli.call("credits", "--kb", built_kb, check=True).stdout
    assert text.startswith("Credits of drawn.kb\n") and "Fieldmark's own texts:" in text
    found = json.loads(cli.call("credits", "--kb", built_kb, "--format", "json", check=True).stdout)
    assert found["n_not_to_be_published"] == 0
    assert set(found) == documented_keys("kb credits --format json")
    assert {photo["licence"] for photo in found["photos"]} == {"Apache-2.0"}
    rows = list(csv.DictReader(io.StringIO(cli.call("credits", "--kb", built_kb, "--format", "csv").stdout)))
    assert len(rows) == len(found["texts"]) + len(found["photos"])
    page = cli.call("credits", "--kb", built_kb, "--format", "html", check=True).stdout
    assert page.startswith("<!doctype html>")
    assert all(photo["file"] in page for photo in found["photos"])


@pytest.mark.usefixtures("toy_paper_profile")
def test_the_summary_counts_new_removed_and_unreadable_photos_for_each_encoder(cli: Any, drawings: Path) -> None:
    (drawings / "broken.jpg").write_bytes(b"no photo")
    (drawings / "empty.png").write_bytes(b"")
    for name in ("notes.txt", "DSC1.CR2"):
        (drawings / name).write_bytes(b"x")
    preview = io.BytesIO()
    Image.open(drawings / "bubo-scandiacus.png").convert("RGB").save(preview, "JPEG")
    (drawings / "DSC2.NEF").write_bytes(bytes(64) + preview.getvalue())
    run = cli.call("index-images", drawings, check=True)
    assert "Skipped 1 file: 1 .txt" in run.stderr
    found = fields(run.stdout)
    assert (found["photos"], found["new or changed"], found["encoder"]) == ("5", "8", "starter")
    assert found["unreadable"] == "3 (1 is a RAW photo without a preview, 1 is not an image, 1 is empty)"
    found = fields(cli.call("index-images", drawings, "--encoder", "paper", check=True).stdout)
    assert found["new or changed"] == "8" and found["encoder"] != "starter"
    (drawings / "bubo-scandiacus.png").unlink()
    found = fields(cli.call("index-images", drawings, check=True).stdout)
    assert (found["photos"], found["new or changed"], found["removed"]) == ("4", "0", "1")
