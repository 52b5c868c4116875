"""`kb identify`: inputs, output formats, unreadable photos, resumed runs, calibration and species lists."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas
import pytest
from PIL import Image

from kb.store.layout import Layout, keep_info
from kb.store.ledger import Ledger
from recognize import Recognizer
from recognize.answer_text import percent
from recognize.settings import PHOTO_PRESETS

CARDINAL = "cardinalis-cardinalis"


def parsed(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def no_shipped_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the profiles `paper` and `best`."""
    from recognize import recognizer
    from recognize.confidence.calibration import shipped_calibration

    other = replace(shipped_calibration(), profile="other")
    monkeypatch.setattr(recognizer, "shipped_calibration", lambda: other)


def test_candidates_have_the_score_of_each_stage(cli: Any, built_kb: Path, drawings: Path) -> None:
    outcome = cli.call(
        "identify", drawings / f"{CARDINAL}.png", "--kb", built_kb, "--format", "jsonl", "--top", "4", check=True
    )
    (row,) = parsed(outcome.stdout)
    assert (row["status"], row["preset"], row["kb"]) == ("identified", "default", str(built_kb))
    assert len(row["candidates"]) == 4
    scores = [candidate["score"] for candidate in row["candidates"]]
    assert scores == sorted(scores, reverse=True)
    assert {"text", "visual"} <= row["candidates"][0]["scores"].keys()
    assert row["answer"]["name"] == row["candidates"][0]["scientific_name"]
    assert row["answer"]["confidence"] is not None


@pytest.mark.parametrize("preset", ["default", "vr-rag-v1", "vr-rag-v2"])
def test_every_preset_ranks_the_drawn_cardinal_among_the_first_three(
    cli: Any, built_kb: Path, drawings: Path, preset: str
) -> None:
    outcome = cli.call(
        "identify", drawings / f"{CARDINAL}.png", "--kb", built_kb, "--preset", preset, "--format", "jsonl", check=True
    )
    (row,) = parsed(outcome.stdout)
    assert row["preset"] == preset
    assert CARDINAL in [candidate["taxon_id"] for candidate in row["candidates"][:3]]


def test_subfolders_are_searched_and_csv_is_one_table(cli: Any, built_kb: Path, drawings: Path) -> None:
    below = drawings / "more"
    below.mkdir()
    shutil.copy(drawings / f"{CARDINAL}.png", below / "again.png")
    (drawings / "notes.txt").write_text("no picture")
    outcome = cli.call(
        "identify", drawings, "--kb", built_kb, "--format", "csv", "--top", "2", "--rows", "candidates", check=True
    )
    table = list(csv.DictReader(io.StringIO(outcome.stdout)))
    assert len(table) == 5 * 2
    assert len({row["image"] for row in table}) == 5
    assert {row["rank"] for row in table} == {"1", "2"}


def test_paths_are_read_from_stdin_or_a_pattern(cli: Any, built_kb: Path, drawings: Path) -> None:
    named = sorted(str(path) for path in drawings.glob("*.png"))
    command = ("identify", "--kb", built_kb, "--format", "jsonl")
    piped = cli.call(*command, "-", stdin="\n".join(named) + "\n", check=True)
    matched = cli.call(*command, f"{drawings}/*.png", check=True)
    assert [row["image"] for row in parsed(piped.stdout)] == named
    assert [row["image"] for row in parsed(matched.stdout)] == named


def test_file_names_that_are_not_utf8_pass_through_pipes(
    cli: Any, built_kb: Path, drawings: Path, tmp_path: Path
) -> None:
    odd = os.fsencode(drawings) + b"/caf\xe9.png"
    shutil.copy(drawings / f"{CARDINAL}.png", odd)
    named = tmp_path / "names.txt"
    named.write_bytes(b"\xef\xbb\xbf" + odd + b"\r\n")
    strict = cli.environment({"PYTHONIOENCODING": "utf-8:strict"})
    command = [*cli.command(), "identify", "-", "--kb", str(built_kb), "--top", "1", "--quiet"]
    for form in ("csv", "jsonl", "table"):
        with named.open("rb") as stdin:
            outcome = subprocess.run([*command, "--format", form], stdin=stdin, capture_output=True, env=strict)
        assert (outcome.returncode, outcome.stderr) == (0, b"")
        assert odd in outcome.stdout


def test_one_unreadable_photo_is_an_error_row_and_exits_with_7(cli: Any, built_kb: Path, drawings: Path) -> None:
    whole = (drawings / f"{CARDINAL}.png").read_bytes()
    (drawings / "bad.png").write_bytes(whole[: len(whole) // 2])
    outcome = cli.call("identify", drawings, "--kb", built_kb, "--format", "jsonl")
    assert outcome.exit_code == 7
    by_name = {Path(row["image"]).name: row for row in parsed(outcome.stdout)}
    assert len(by_name) == 5
    assert [name for name, row in by_name.items() if row["status"] == "error"] == ["bad.png"]
    assert by_name["bad.png"]["answer"] is None
    assert by_name["bad.png"]["candidates"] == []
    assert "warning: 1 of 5 photos skipped: unreadable" in outcome.stderr


@pytest.mark.parametrize("content", [b"", b"this is no picture", b"\x89PNG\r\n\x1a\n"], ids=["empty", "text", "stub"])
def test_no_readable_photo_exits_with_5(cli: Any, built_kb: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.png").write_bytes(content)
    outcome = cli.call("identify", "x.png", "--kb", built_kb, "--format", "jsonl")
    assert outcome.exit_code == 5
    assert parsed(outcome.stdout)[0]["status"] == "error"
    assert outcome.stderr.splitlines()[-1].startswith("error: ")


def test_a_missing_photo_and_an_empty_folder_exit_with_5(cli: Any, built_kb: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    missing = cli.call("identify", "nowhere.jpg", "--kb", built_kb)
    assert (missing.exit_code, missing.stderr) == (5, "error: The photo is not readable.\n")
    empty = cli.call("identify", "empty", "--kb", built_kb)
    assert (empty.exit_code, empty.stdout) == (5, "")
    assert empty.stderr == "error: No photo found in empty.\n"


def test_skipped_files_of_a_folder_are_counted_by_extension(cli: Any, built_kb: Path, drawings: Path) -> None:
    for name in ("a.txt", "b.txt", "c.XMP", "d.cr2", "e.nef", "f.mp4", "LICENCE"):
        (drawings / name).write_bytes(b"x")
    command = ("identify", drawings, "--kb", built_kb, "--format", "jsonl")
    stderr = cli.call(*command, check=True).stderr
    assert "Skipped 7 files: 2 .txt, " in stderr
    assert all(f"1 {kind}" in stderr for kind in (".xmp", ".cr2", ".nef", ".mp4", "without extension"))
    warnings = [
        "warning: 2 RAW photos skipped: .cr2, .nef not supported; export JPEGs",
        "warning: 1 video skipped: .mp4 not supported; save stills as JPEG",
    ]
    assert [line for line in stderr.splitlines() if line.startswith("warning")] == warnings
    assert cli.call(*command, "--quiet", check=True).stderr.splitlines() == warnings


def test_a_raw_photo_given_by_name_is_an_error_with_a_remedy(cli: Any, built_kb: Path, tmp_path: Path) -> None:
    (tmp_path / "owl.nef").write_bytes(b"x")
    outcome = cli.call("identify", "owl.nef", "--kb", built_kb)
    assert outcome.exit_code == 5
    assert outcome.stdout.startswith("owl.nef\n  Error: owl.nef is a RAW photo, which is not supported: export JPEGs")


def test_a_missing_knowledge_base_exits_with_3_and_a_hint(cli: Any, drawings: Path) -> None:
    outcome = cli.call("identify", drawings, "--kb", "nowhere.kb")
    assert outcome.exit_code == 3
    assert outcome.stderr.splitlines() == [
        "error: No knowledge base at nowhere.kb",
        "hint: Build one with kb build --kb nowhere.kb and --taxon, --list, --category or --names.",
    ]


def test_a_mistyped_knowledge_base_is_answered_with_those_beside_it(cli: Any) -> None:
    for folder in ("birds.kb", "owls.kb"):
        Path(folder).mkdir()
        Path(folder, "kb.toml").touch()
    Path("names.csv").touch()
    for given, message, hint in (
        ("bird.kb", "No knowledge base at bird.kb", "Did you mean birds.kb?"),
        (str(Path.cwd() / "owl.kb"), "No knowledge base at ", f"Did you mean {Path.cwd() / 'owls.kb'}?"),
        ("names.csv", "A file, not a knowledge base, at names.csv", "--kb takes the folder of a knowledge base."),
    ):
        outcome = cli.call("status", "--kb", given)
        assert outcome.exit_code == 3
        assert outcome.stderr.startswith(f"error: {message}")
        assert outcome.stderr.strip().endswith(f"\nhint: {hint}")


def test_a_web_address_is_a_row_with_an_error_and_a_remedy(cli: Any, built_kb: Path, drawings: Path) -> None:
    command = (
        "identify",
        "https://example.org/a.jpg",
        next(drawings.glob("*.png")),
        "--kb",
        built_kb,
        "--format",
        "jsonl",
    )
    outcome = cli.call(*command)
    bad, good = map(json.loads, outcome.stdout.splitlines())
    assert outcome.exit_code == 7
    assert bad["error"] == "https://example.org/a.jpg is a web address; expected a local file, so download it first"
    assert good["candidates"] != []


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--min-confidence", "50%", "from 0 to 1"),
        ("--min-confidence", "1.5", "from 0 to 1"),
        ("--max-cost", "cheap", "of at least 0"),
    ],
)
def test_a_number_out_of_range_is_answered_with_the_range(cli: Any, option: str, value: str, expected: str) -> None:
    outcome = cli.call("identify", "a.jpg", option, value)
    message = f"error: Invalid value for '{option}': expected a number {expected}, such as 0.5, got '{value}'."
    assert (outcome.exit_code, outcome.stderr.splitlines()[0]) == (2, message)


def test_a_knowledge_base_of_another_space_exits_with_3(
    cli: Any, built_kb: Path, drawings: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.kb"
    shutil.copytree(built_kb, other)
    settings = other / "kb.toml"
    unchanged = settings.read_text()
    settings.write_text(unchanged.replace("fieldmark-starter-look/", "somebody-else/"))
    assert settings.read_text() != unchanged
    ledger = Ledger(other / "ledger.sqlite")
    keep_info(ledger, Layout(other).require())
    ledger.close()
    outcome = cli.call("identify", drawings, "--kb", other)
    assert outcome.exit_code == 3
    assert "these encoders make vectors of" in outcome.stderr


@pytest.mark.usefixtures("no_shipped_calibration")
def test_a_note_says_that_confidence_is_not_available(cli: Any, built_kb: Path, drawings: Path) -> None:
    command = ("identify", drawings / f"{CARDINAL}.png", "--kb", built_kb)
    outcome = cli.call(*command, check=True)
    assert outcome.stdout.startswith(str(drawings / f"{CARDINAL}.png"))
    assert "\n  Northern Cardinal (Cardinalis cardinalis), best match\n" in outcome.stdout
    assert outcome.stderr.startswith("Confidence is not available: none ships for the profile starter")
    assert "\x1b" not in outcome.stdout
    assert cli.call(*command, "--quiet", check=True).stderr == ""


def test_scores_add_a_table_to_the_answer(cli: Any, built_kb: Path, drawings: Path) -> None:
    command = ("identify", drawings / f"{CARDINAL}.png", "--kb", built_kb, "--top", "3")
    plain = cli.call(*command, check=True).stdout
    scored = cli.call(*command, "--scores", check=True).stdout
    assert [line.strip()[:3] for line in plain.splitlines()[2:]] == ["or ", "or ", ""]
    assert scored.startswith(plain.rstrip() + "\n#")
    assert len(scored.splitlines()) == len(plain.splitlines()) + 2 + 3  # head, line, candidates


@pytest.mark.usefixtures("no_shipped_calibration")
def test_answers_stay_at_species_without_a_calibration(cli: Any, built_kb: Path, drawings: Path) -> None:
    command = ("identify", drawings, "--kb", built_kb, "--format", "jsonl")
    rows = parsed(cli.call(*command, "--min-confidence", "1", check=True).stdout)
    assert [(row["calibration"], row["answer"]["rank"], row["answer"]["confidence"]) for row in rows] == [
        (None, "species", None)
    ] * 4


@pytest.mark.parametrize("preset", PHOTO_PRESETS)
def test_every_preset_has_an_estimated_confidence(cli: Any, built_kb: Path, drawings: Path, preset: str) -> None:
    command = ("identify", drawings, "--kb", built_kb, "--preset", preset, "--format", "jsonl")
    outcome = cli.call(*command, "--min-confidence", "0", "--set", "unknown_prior=0.01", check=True)
    rows = parsed(outcome.stdout)
    assert all(row["calibration"].startswith("estimated-") for row in rows)
    assert all(0 <= row["answer"]["p_unknown"] <= 1 and 0 <= row["answer"]["confidence"] <= 1 for row in rows)
    assert "estimated" not in outcome.stderr


def test_a_note_says_that_confidence_is_estimated(cli: Any, built_kb: Path, drawings: Path) -> None:
    command = ("identify", drawings / f"{CARDINAL}.png", "--kb", built_kb)
    assert (
        "Confidence is estimated for any knowledge base; kb calibrate fits it to yours\n"
        in cli.call(*command, check=True).stderr
    )
    assert "estimated" not in cli.call(*command, "--quiet", check=True).stderr


@pytest.mark.usefixtures("no_shipped_calibration")
def test_confidence_options_warn_without_a_calibration(cli: Any, built_kb: Path, drawings: Path) -> None:
    command = ("identify", drawings / f"{CARDINAL}.png", "--kb", built_kb, "--preset", "vr-rag-v1")
    why = "none ships for the profile starter; kb calibrate fits it to this knowledge base\n"
    both = cli.call(*command, "--set", "unknown_prior=0.2", "--min-confidence", "0.9", "--quiet", check=True)
    assert both.stderr == f"warning: --min-confidence and the setting unknown_prior have no effect: {why}"
    one = cli.call(*command, "--set", "unknown_prior=0.3", "--quiet", check=True)
    assert one.stderr == f"warning: the setting unknown_prior has no effect: {why}"
    assert cli.call(*command, "--quiet", check=True).stderr == ""


def test_a_calibration_must_fit_the_species_and_be_readable(
    cli: Any, built_kb: Path, drawings: Path, tmp_path: Path
) -> None:
    from recognize.confidence.calibration import shipped_calibration, write_calibration

    other = tmp_path / "other.kb"
    shutil.copytree(built_kb, other)
    file = other / "calibration" / "default.json"
    file.parent.mkdir()
    write_calibration(file, replace(shipped_calibration(), kind="own", vocabulary="of other species"))
    photo = drawings / f"{CARDINAL}.png"
    outcome = cli.call("identify", photo, "--kb", other, "--format", "jsonl", check=True)
    assert parsed(outcome.stdout)[0]["calibration"].startswith("estimated-")
    why = "the calibration of this knowledge base was made for other species than the knowledge base holds now"
    assert f"Confidence is estimated: {why}" in outcome.stderr
    file.write_text("{}")
    outcome = cli.call("identify", photo, "--kb", other)
    assert outcome.exit_code == 1
    assert "calibration/default.json" in outcome.stderr
    assert "Without this file, confidence is estimated" in outcome.stderr


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("unknown_prior", "0", "a number above 0 and below 1"),
        ("unknown_prior", "1", "a number above 0 and below 1"),
        ("unknown_prior", "abc", "a number above 0 and below 1"),
        ("off_list_share", "1", "a number above 0 and below 1"),
        ("burst_seconds", "inf", "a number from 0"),
        ("place_odds", "0.9", "a number from 1"),
        ("reader_samples", "0", "a whole number from 1"),
        ("reader_candidates", "27", "a whole number from 1 to 26"),
    ],
)
def test_a_setting_out_of_range_fails_with_its_source_and_range(cli: Any, key: str, value: str, expected: str) -> None:
    outcome = cli.call("identify", "a.jpg", "--set", f"{key}={value}")
    message = f'error: Setting "identify.{key}" in --set: expected {expected}, got {value!r}.'
    assert (outcome.exit_code, outcome.stderr.splitlines()[0]) == (2, message)


def test_explain_shows_evidence_and_photo_credits(cli: Any, built_kb: Path, drawings: Path) -> None:
    outcome = cli.call("identify", drawings / f"{CARDINAL}.png", "--kb", built_kb, "--explain", check=True)
    plain = cli.call("identify", drawings / f"{CARDINAL}.png", "--kb", built_kb, check=True)
    added = outcome.stdout.removeprefix(plain.stdout.rstrip())
    assert added != outcome.stdout
    assert "Fieldmark, Apache-2.0" in added
    assert "scores higher than" in added


def test_explain_recognises_a_reference_photo(cli: Any, built_kb: Path, tmp_path: Path) -> None:
    import kb

    store = kb.open(built_kb)
    (entry,) = store.species([CARDINAL])
    photo = tmp_path / "known.png"
    shutil.copy(store.anchor_path(entry.anchors[0].anchor_id), photo)
    store.close()
    outcome = cli.call("identify", photo, "--kb", built_kb, "--explain", check=True)
    assert "reference photo, similarity 1.000" in outcome.stdout
    assert "This photo is a reference photo of Northern Cardinal" in outcome.stdout


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_odd_file_names_are_done_once_and_not_at_every_resume(
    cli: Any, built_kb: Path, drawings: Path, tmp_path: Path, suffix: str
) -> None:
    names = ["a\nb.png", "c\r\nd.png", "'=e.png", "=f.png", '"g.png', "''h.png", "i,j.png", "k\u2028l.png"]
    folder = tmp_path / "photos"
    folder.mkdir()
    picture = next(drawings.glob("*.png")).read_bytes()
    for name in names:
        (folder / name).write_bytes(picture)
    table = tmp_path / f"names{suffix}"
    first = cli.call("identify", folder, "--kb", built_kb, "--output", table, check=True)
    rows = table.read_bytes()
    again = cli.call("identify", folder, "--kb", built_kb, "--output", table, check=True)
    assert table.read_bytes() == rows
    assert "photos 8 of 8" in first.stderr
    assert "photos 8 of 8" not in again.stderr


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_options_of_the_table_warn_with_other_formats(cli: Any, built_kb: Path, drawings: Path, form: str) -> None:
    command = ("identify", drawings / f"{CARDINAL}.png", "--kb", built_kb, "--format", form)
    one = cli.call(*command, "--explain", check=True)
    assert one.stderr == f"warning: --explain only changes the table, not {form} rows\n"
    both = cli.call(*command, "--explain", "--scores", check=True)
    assert both.stderr == f"warning: --scores and --explain only change the table, not {form} rows\n"


def test_a_second_run_adds_only_new_photos_to_the_output(cli: Any, built_kb: Path, drawings: Path) -> None:
    command = ("identify", drawings, "--kb", built_kb, "--output", "out.jsonl")
    cli.call(*command, check=True)
    first = Path("out.jsonl").read_text()
    shutil.copy(drawings / f"{CARDINAL}.png", drawings / "z-new.png")
    again = cli.call(*command, check=True)
    rows = parsed(Path("out.jsonl").read_text())
    assert Path("out.jsonl").read_text().startswith(first)
    assert [Path(row["image"]).name for row in rows][-1] == "z-new.png"
    assert len(rows) == len({row["image"] for row in rows}) == 5
    assert "4 of 5 photos done before" in again.stderr
    assert again.stdout == ""


def test_a_killed_run_resumes_to_the_same_rows(cli: Any, built_kb: Path, drawings: Path, tmp_path: Path) -> None:
    command = ["identify", str(drawings), "--kb", str(built_kb), "--format", "csv", "--rows", "candidates", "--output"]
    whole = tmp_path / "whole.csv"
    for n_photos in (70, 300, 1200):  # more photos if the machine finishes before the kill
        for number in range(n_photos):
            shutil.copy(drawings / f"{CARDINAL}.png", drawings / f"copy-{number:04}.png")
        cut = tmp_path / f"cut-{n_photos}.csv"
        ours = subprocess.Popen([*cli.command(), *command, str(cut)], env=cli.environment(), stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120  # imports are slow on a busy machine
        while not (cut.exists() and cut.stat().st_size > 1500) and time.monotonic() < deadline:
            time.sleep(0.005)
        os.kill(ours.pid, signal.SIGKILL)
        if ours.wait(timeout=30) == -signal.SIGKILL:
            break
    cli.call(*command, whole, check=True)
    assert cut.stat().st_size < whole.stat().st_size
    cli.call(*command, cut, check=True)

    cut_rows, whole_rows = (list(csv.DictReader(path.read_text().splitlines())) for path in (cut, whole))
    named = ("image", "rank", "taxon_id", "status")
    assert [[row[column] for column in named] for row in cut_rows] == [
        [row[column] for column in named] for row in whole_rows
    ]
    # float32: another batch may differ in the last digit shown.
    assert [float(row["score"]) for row in cut_rows] == pytest.approx(
        [float(row["score"]) for row in whole_rows], abs=1e-5
    )


def test_retry_failed_tries_unreadable_photos_again(cli: Any, built_kb: Path, drawings: Path) -> None:
    (drawings / "bad.png").write_bytes(b"no picture")
    command = ("identify", drawings, "--kb", built_kb, "--output", "out.jsonl")
    assert cli.call(*command).exit_code == 7
    again = cli.call(*command)
    assert again.exit_code == 7, "the row with the error is still there"
    assert "Resuming: 5 of 5 photos done before; 1 unreadable (use --set retry_failed=true to retry)" in again.stderr
    retried = cli.call(*command, "--set", "retry_failed=true", "--set", "progress=jsonl")
    assert retried.exit_code == 7
    last = json.loads(retried.stderr.splitlines()[-2])
    assert (last["progress"], last["done"], last["total"], last["failed"]) == ("photos", 1, 1, 1)
    rows = parsed(Path("out.jsonl").read_text())
    assert sorted(row["status"] for row in rows) == ["error", *["identified"] * 4]


def test_no_resume_replaces_the_output_file(cli: Any, built_kb: Path, drawings: Path) -> None:
    photo = drawings / f"{CARDINAL}.png"
    cli.call("identify", drawings, "--kb", built_kb, "--output", "out.csv", check=True)
    command = ("identify", photo, "--kb", built_kb, "--output", "out.csv", "--preset", "vr-rag-v2")
    cli.call(*command, "--set", "resume=false", check=True)
    table = list(csv.DictReader(Path("out.csv").read_text().splitlines()))
    assert {(row["image"], row["preset"]) for row in table} == {(str(photo), "vr-rag-v2")}


@pytest.mark.parametrize("option", ["--set retry_failed=true", "--set resume=false"])
def test_resume_options_need_an_output_file(cli: Any, built_kb: Path, drawings: Path, option: str) -> None:
    outcome = cli.call("identify", drawings, "--kb", built_kb, *option.split())
    assert outcome.exit_code == 2
    assert "needs --output" in outcome.stderr


def test_off_list_share_needs_a_species_list(cli: Any, built_kb: Path, drawings: Path) -> None:
    outcome = cli.call("identify", drawings, "--kb", built_kb, "--set", "off_list_share=0.2")
    assert outcome.exit_code == 2
    assert "The setting off_list_share needs --species-list" in outcome.stderr


def test_parquet_has_the_rows_of_csv_with_column_types(cli: Any, built_kb: Path, drawings: Path) -> None:
    command = ("identify", drawings, "--kb", built_kb, "--rows", "candidates", "--output")
    cli.call(*command, "names.csv", check=True)
    cli.call(*command, "names.parquet", check=True)
    assert sorted(path.name for path in Path().iterdir() if path.name.startswith("names")) == [
        "names.csv",
        "names.parquet",
    ]
    wanted = pandas.read_csv("names.csv")
    found = pandas.read_parquet("names.parquet")
    assert list(found.columns) == list(wanted.columns)
    named = ["image", "status", "rank", "taxon_id", "answer_scientific_name", "preset"]
    assert found[named].equals(wanted[named])
    assert str(found["score"].dtype) == "float64"
    assert found["score"].to_list() == pytest.approx(wanted["score"].to_list(), abs=1e-5)


def test_parquet_needs_a_file(cli: Any, built_kb: Path, drawings: Path) -> None:
    outcome = cli.call("identify", drawings, "--kb", built_kb, "--format", "parquet")
    assert outcome.exit_code == 2
    assert "--format parquet needs --output FILE" in outcome.stderr


def test_place_and_date_are_in_every_format(cli: Any, built_kb: Path, drawings: Path, tmp_path: Path) -> None:
    photo = tmp_path / "here.jpg"
    with Image.open(drawings / f"{CARDINAL}.png") as drawing:
        exif = Image.Exif()
        exif.get_ifd(0x8769)[0x9003] = "2026:05:01 06:30:00"
        exif.get_ifd(0x8825).update({1: "N", 2: (40.0, 30.0, 0.0), 3: "W", 4: (74.0, 15.0, 0.0)})
        drawing.convert("RGB").save(photo, exif=exif)
    command = ("identify", photo, "--kb", built_kb, "--top", "1", "--output")
    for name in ("a.csv", "a.jsonl", "a.parquet"):
        cli.call(*command, name, check=True)
    (line,) = csv.DictReader(Path("a.csv").read_text().splitlines())
    (row,) = parsed(Path("a.jsonl").read_text())
    (typed,) = pandas.read_parquet("a.parquet").to_dict("records")
    assert (line["date"], line["latitude"], line["longitude"]) == ("2026-05-01T06:30:00", "40.5", "-74.25")
    assert (row["date"], row["place"]) == ("2026-05-01T06:30:00", [40.5, -74.25])
    assert (typed["date"], typed["latitude"], typed["longitude"]) == ("2026-05-01T06:30:00", 40.5, -74.25)


def test_json_progress_is_on_stderr_and_rows_are_on_stdout(cli: Any, built_kb: Path, drawings: Path) -> None:
    command = ("identify", drawings, "--kb", built_kb, "--format", "jsonl")
    outcome = cli.call(*command, "--set", "progress=jsonl", check=True)
    reports = parsed(outcome.stderr)
    assert (reports[-1]["done"], reports[-1]["total"], reports[-1]["failed"], reports[-1]["left_s"]) == (4, 4, 0, 0)
    assert len(parsed(outcome.stdout)) == 4
    assert cli.call(*command, "--set", "progress=jsonl", "--quiet", check=True).stderr == ""


def test_a_species_list_adds_a_boost_shown_beside_the_plain_score(cli: Any, built_kb: Path, drawings: Path) -> None:
    Path("list.csv").write_text("common_name\nSnowy Owl\nGreat Auk\nSnowy Owll\ngull sp.\n")
    command = ("identify", drawings / f"{CARDINAL}.png", "--kb", built_kb, "--top", "30", "--species-list", "list.csv")
    outcome = cli.call(*command, "--format", "jsonl", check=True)
    (row,) = parsed(outcome.stdout)
    by_id = {each["taxon_id"]: each for each in row["candidates"]}
    boost = by_id["bubo-scandiacus"]["scores"]["list"]
    assert boost > 0
    assert {each["scores"]["list"] for key, each in by_id.items() if key != "bubo-scandiacus"} == {0.0}
    for each in row["candidates"]:
        assert each["score"] - each["scores"]["list"] == pytest.approx(each["score_without_list"], abs=2e-6)
    plain = parsed(cli.call(*command[:6], "--format", "jsonl", check=True).stdout)[0]
    assert len(row["candidates"]) == len(plain["candidates"]) > 10, "no species is ruled out"
    assert row["answer_without_list"] == plain["answer"]
    counts = "list.csv (table): 2 species, 1 of them in this knowledge base (missing: Pinguinus impennis)"
    assert f"{counts}; 1 line for several" in outcome.stderr
    assert "consider --set unknown_prior=0.5" in outcome.stderr, "half of the list is missing"
    assert "1 name of list.csv matches no species: Snowy Owll (unknown; did you mean Snowy Owl" in outcome.stderr
    assert f"+{boost:.3f} on their scores" in outcome.stderr
    table = cli.call(*command, "--scores", check=True).stdout
    assert "\n  Without the species list:\n    Northern Cardinal (Cardinalis cardinalis)" in table
    header = next(line for line in table.splitlines() if "common name" in line)
    assert header.split()[5:9] == ["score", "without", "list", "list"]


def test_a_list_that_contradicts_confident_answers_gets_a_warning(
    cli: Any, calibrated_kb: Path, drawings: Path
) -> None:
    Path("list.txt").write_text("Mallard\n")
    command = ("identify", drawings, "--kb", calibrated_kb, "--species-list", "list.txt", "--format", "jsonl")

    def run(share: str) -> tuple[list[bool], list[bool], str]:
        """Return for each photo identified without the list whether the list changes it and it was sure, and stderr."""
        outcome = cli.call(*command, "--set", f"off_list_share={share}", check=True)
        rows = [row for row in parsed(outcome.stdout) if row["answer_without_list"]["rank"] == "species"]
        is_sure = [row["answer_without_list"]["confidence"] >= 0.9 for row in rows]
        changed = [row["candidates"][0]["scientific_name"] != row["answer_without_list"]["name"] for row in rows]
        return changed, is_sure, outcome.stderr

    changed, is_sure, stderr = run("0.000001")
    n, n_changed, n_sure = len(changed), sum(changed), sum(is_sure)
    n_both = sum(both == (True, True) for both in zip(changed, is_sure, strict=True))
    assert n_both > 0, "or the drawings show nothing here"
    n_photos = len(list(drawings.glob("*.png")))
    assert f"Without the list, {n} of {n_photos} photos are identified to species; the list puts another" in stderr
    assert f"another species first in {n_changed} of them\n" in stderr
    assert f"warning: The list puts another species first in {n_both} of {n_sure} photos with at least 90 %" in stderr
    assert f"warning: The list does not fit these photos: {n_sure} of {n_sure} photos" in stderr
    assert "Use --set off_list_share=0.99 instead of 1e-06" in stderr
    changed, _, stderr = run("0.99")
    assert (any(changed), "warning" in stderr) == (False, False)


def test_a_species_list_is_in_csv_and_in_the_run_parameters(cli: Any, built_kb: Path, drawings: Path) -> None:
    Path("list.txt").write_text("Snowy Owl\n")
    rows = ("--rows", "candidates", "--output", "out.csv", "--species-list", "list.txt")
    command = ("identify", drawings, "--kb", built_kb, *rows)
    cli.call(*command, check=True)
    table = list(csv.DictReader(Path("out.csv").read_text().splitlines()))
    for line in table:
        assert float(line["score"]) - float(line["score_list"]) == pytest.approx(
            float(line["score_without_list"]), abs=2e-6
        )
        assert line["answer_without_list"]
    assert "4 of 4 photos done before" in cli.call(*command, check=True).stderr
    for changed in (("--set", "off_list_share=0.2"), ("--species-list", "other.txt")):
        Path("other.txt").write_text("Snowy Owl\nBlue Jay\n")
        outcome = cli.call(*command, *changed)
        assert outcome.exit_code == 2
        assert "species_list" in outcome.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Great Auk\n", "No species of list.txt is in the knowledge base"),
        ("", "found none"),
        (None, "File not found: list.txt"),
    ],
)
def test_an_unusable_species_list_exits_with_5(
    cli: Any, built_kb: Path, drawings: Path, content: str | None, message: str
) -> None:
    if content is not None:
        Path("list.txt").write_text(content)
    outcome = cli.call("identify", drawings, "--kb", built_kb, "--species-list", "list.txt")
    assert outcome.exit_code == 5
    assert message in outcome.stderr


def test_output_of_another_preset_is_not_resumed(cli: Any, built_kb: Path, drawings: Path) -> None:
    command = ("identify", drawings, "--kb", built_kb, "--output", "out.csv")
    cli.call(*command, check=True)
    before = Path("out.csv").read_bytes()
    outcome = cli.call(*command, "--preset", "vr-rag-v2")
    assert outcome.exit_code == 2
    assert "preset default -> vr-rag-v2" in outcome.stderr
    assert Path("out.csv").read_bytes() == before


def test_a_table_cannot_be_resumed(cli: Any, built_kb: Path, drawings: Path) -> None:
    outcome = cli.call("identify", drawings, "--kb", built_kb, "--output", "out.txt")
    assert outcome.exit_code == 2
    assert not Path("out.txt").exists()


def test_an_empty_photo_argument_exits_with_2(cli: Any, built_kb: Path) -> None:
    outcome = cli.call("identify", "", "--kb", built_kb)
    assert outcome.exit_code == 2
    assert "A photo argument is empty" in outcome.stderr


@pytest.mark.parametrize("name", [b"caf\xe9.png", b"x" * 250 + b".png", "ä".encode() * 120 + b".png"])
def test_a_card_is_written_for_a_photo_of_any_name(
    cli: Any, built_kb: Path, drawings: Path, tmp_path: Path, name: bytes
) -> None:
    shutil.copy(drawings / "cardinalis-cardinalis.png", os.fsencode(drawings) + b"/" + name)
    command = ("identify", os.fsdecode(os.fsencode(drawings) + b"/" + name), "--kb", built_kb)
    cli.call(*command, "--cards", "pages", "--output", "rows.csv", check=True)
    (made,) = (path for path in (tmp_path / "pages").iterdir() if path.name != "index.html")
    assert f'<a href="{quote(made.name)}">' in (tmp_path / "pages" / "index.html").read_text(encoding="utf-8")
    assert made.name[:3] == os.fsdecode(name)[:3]
    assert "Northern Cardinal" in made.read_text(encoding="utf-8")
    again = cli.call(*command, "--cards", "others", "--output", "rows.csv", check=True)
    assert "--cards writes no pages for photos that were done before (1 have none)" in again.stderr
    assert not Path("others").exists()
    assert "--cards" not in cli.call(*command, "--cards", "pages", "--output", "rows.csv", check=True).stderr


def test_the_index_of_cards_is_complete_after_a_resumed_run(cli: Any, built_kb: Path, drawings: Path) -> None:
    command = ("identify", drawings, "--kb", built_kb, "--cards", "pages", "--output", "rows.csv")
    cli.call(*command, check=True)
    (drawings / "z-bad.png").write_bytes(b"no picture")
    outcome = cli.call(*command)
    assert (outcome.exit_code, "1 card in pages: open pages/index.html" in outcome.stderr) == (7, True)
    index = Path("pages/index.html").read_text(encoding="utf-8")
    links = re.findall('<a href="([^"]+)">', index)
    assert sorted(links) == sorted(path.name for path in Path("pages").glob("*-*.html"))
    assert len(links) == 5
    assert index.count("data:image/jpeg;base64,") == 4
    assert "5 photos: 4 identified, 1 unreadable." in index
    Path("pages/index.html").unlink()
    cli.call(*command)
    assert Path("pages/index.html").read_text(encoding="utf-8") == index, "nothing is left to do, and it is restored"


def test_output_of_other_encoders_is_not_resumed(cli: Any, built_kb: Path, drawings: Path) -> None:
    import kb

    command = ("identify", drawings / f"{CARDINAL}.png", "--kb", built_kb, "--output", "rows.csv")
    cli.call(*command, check=True)
    (journal,) = (Path(os.environ["FIELDMARK_HOME"]) / "identify").glob("*.jsonl")
    head, *rest = journal.read_text().splitlines()
    started = json.loads(head)
    with kb.open(built_kb) as store:
        assert started["parameters"]["spaces"] == list(store.spaces)
    started["parameters"]["spaces"][0] = "another encoder"
    journal.write_text("\n".join([json.dumps(started), *rest]) + "\n")
    outcome = cli.call(*command)
    assert outcome.exit_code == 2
    assert "rows.csv was written with other parameters: other encoders." in outcome.stderr


def test_a_table_is_not_written_to_a_file(cli: Any, tmp_path: Path) -> None:
    refused = cli.call("identify", "x.jpg", "--output", "x.csv", "--format", "table")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("error: --output takes no tables.")


def test_a_larger_prior_is_suggested_only_where_it_is_lower(
    cli: Any, built_kb: Path, drawings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("list.csv").write_text("common_name\nSnowy Owl\nGreat Auk\n")
    command = ("identify", drawings, "--kb", built_kb, "--species-list", "list.csv", "--format", "jsonl")

    def is_suggested(*given: str) -> bool:
        return "consider --set unknown_prior=0.5" in cli.call(*command, *given, check=True).stderr

    assert [is_suggested("--set", f"unknown_prior={prior}") for prior in ("0.49", "0.5", "0.7")] == [True, False, False]
    for estimate in (0.1, 0.6):
        monkeypatch.setattr(Recognizer, "estimate_unknown_prior", lambda *_, estimate=estimate: estimate)
        assert is_suggested() is (estimate < 0.5)


def test_a_note_gives_the_estimated_share_of_unknown_species(cli: Any, built_kb: Path, drawings: Path) -> None:
    command = ("identify", drawings, "--kb", built_kb, "--format", "jsonl")
    outcome = cli.call(*command, check=True)
    (prior,) = {row["unknown_prior"] for row in parsed(outcome.stdout)}
    assert 0 < prior < 1
    assert f"{percent(prior)} of the photos are estimated to show species outside the knowledge base" in outcome.stderr
    given = cli.call(*command, "--set", "unknown_prior=0.35", check=True)
    assert {row["unknown_prior"] for row in parsed(given.stdout)} == {0.35}
    assert "are estimated to show" not in given.stderr
    assert "are estimated to show" not in cli.call(*command, "--quiet", check=True).stderr


def test_a_resumed_run_estimates_the_share_of_unknown_species_from_all_its_photos(
    cli: Any, built_kb: Path, drawings: Path
) -> None:
    first, second, *others = sorted(drawings.glob("*.png"))
    command = ("--kb", built_kb, "--output", "rows.jsonl")

    def run(*arguments: object) -> tuple[list[float], str]:
        note = cli.call("identify", *arguments, *command, check=True).stderr
        return [row["unknown_prior"] for row in parsed(Path("rows.jsonl").read_text())], note

    (early, _), _ = run(first, second)
    together, note = run(drawings)
    (late,) = set(together[2:])
    assert together[:2] == [early] * 2 and late != early and len(together) == 2 + len(others)
    assert f"{percent(late)} of the photos are estimated" in note and "rows of earlier runs keep their own" in note
    assert run(drawings, "--set", "resume=false")[0] == [late] * len(together), "from all photos, as in one run"
    assert cli.call("identify", drawings, *command, "--set", "unknown_prior=0.2").exit_code == 2


def test_a_resumed_run_with_fewer_photos_says_where_the_share_of_unknown_species_comes_from(
    cli: Any, built_kb: Path, drawings: Path
) -> None:
    first, second, *others = sorted(drawings.glob("*.png"))
    command = ("--kb", built_kb, "--output", "rows.jsonl")
    cli.call("identify", drawings, *command, check=True)
    before = {row["unknown_prior"] for row in parsed(Path("rows.jsonl").read_text())}
    for photo in (first, second):
        photo.touch()
    note = cli.call("identify", first, second, *command, check=True).stderr
    assert f"outside the knowledge base, as in an earlier run of {2 + len(others)} photos\n" in note
    assert {row["unknown_prior"] for row in parsed(Path("rows.jsonl").read_text())} == before
