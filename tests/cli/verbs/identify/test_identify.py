"""`kb identify`: inputs, output formats, unreadable photos, resumed runs, calibration and species lists."""

import csv
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from PIL import Image

from recognize import recognizer
from recognize.answers import percent
from recognize.settings import PHOTO_PRESETS, UNKNOWN_PRIOR

CARDINAL = "cardinalis-cardinalis"


def parsed(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_every_preset_answers_with_an_estimated_confidence(cli: Any, built_kb: Path, drawings: Path) -> None:
    command = ("identify", drawings / f"{CARDINAL}.png", "--kb", built_kb, "--format", "jsonl", "--top", "4")
    for preset in PHOTO_PRESETS:
        settings = ("--min-confidence", "0", "--set", "unknown_prior=0.01")
        (row,) = parsed(cli.call(*command, "--preset", preset, *settings, check=True).stdout)
        assert (row["status"], row["preset"], row["kb"]) == ("identified", preset, str(built_kb))
        assert len(row["candidates"]) == 4 and row["answer"]["name"] == row["candidates"][0]["scientific_name"]
        assert (row["unknown_prior"], row["calibration"].partition("-")[0]) == (0.01, "estimated"), preset
        assert 0 <= row["answer"]["confidence"] <= 1, preset


def test_paths_are_read_from_stdin_or_a_pattern_and_json_progress_is_on_stderr(
    cli: Any, built_kb: Path, drawings: Path
) -> None:
    for name in ("a.txt", "bubo-scandiacus.nef", "e.xmp", "f.mp4"):
        (drawings / name).write_bytes(b"x")
    warnings = ["warning: 1 video skipped: .mp4 not supported; save stills as JPEG"]
    folder = cli.call("identify", drawings, "--kb", built_kb, "--format", "jsonl", "--quiet", check=True)
    assert folder.stderr.splitlines() == warnings
    named = sorted(str(path) for path in drawings.glob("*.png"))
    command = ("identify", "--kb", built_kb, "--format", "jsonl", "--set", "progress=jsonl")
    piped = cli.call(*command, "-", "--quiet", stdin="\n".join(named) + "\n", check=True)
    assert ([row["image"] for row in parsed(piped.stdout)], piped.stderr) == (named, "")
    matched = cli.call(*command, f"{drawings}/*.png", check=True)
    assert [row["image"] for row in parsed(matched.stdout)] == named
    last = parsed(matched.stderr)[-1]
    assert (last["done"], last["total"], last["failed"], last["left_s"]) == (4, 4, 0, 0)


def test_without_a_calibration_a_note_says_so_and_options_of_confidence_warn(
    cli: Any, built_kb: Path, drawings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(recognizer.shipped_calibration(), profile="other")
    monkeypatch.setattr(recognizer, "shipped_calibration", lambda: other)
    command = ("identify", drawings / f"{CARDINAL}.png", "--kb", built_kb)
    outcome = cli.call(*command, check=True)
    assert outcome.stdout.startswith(
        f"{drawings / CARDINAL}.png\n  Northern Cardinal (Cardinalis cardinalis), best match\n"
    )
    why = "none ships for the profile starter; kb calibrate fits it to this knowledge base"
    assert outcome.stderr.startswith(f"Confidence is not available: {why}")
    for given, warning in (
        ((), ""),
        (("--set", "unknown_prior=0.2", "--min-confidence", "0.9"),
         f"warning: --min-confidence and the setting unknown_prior have no effect: {why}\n"),
        (("--set", "unknown_prior=0.3"), f"warning: the setting unknown_prior has no effect: {why}\n"),
    ):  # fmt: skip
        assert cli.call(*command, *given, "--quiet", check=True).stderr == warning


def test_scores_and_evidence_are_added_to_the_table_and_other_formats_warn(
    cli: Any, built_kb: Path, drawings: Path
) -> None:
    command = ("identify", drawings / f"{CARDINAL}.png", "--kb", built_kb, "--top", "3")
    plain = cli.call(*command, check=True).stdout
    scored = cli.call(*command, "--scores", check=True).stdout
    assert scored.startswith(plain.rstrip() + "\n#")
    assert len(scored.splitlines()) == len(plain.splitlines()) + 2 + 3  # head, line, candidates
    explained = cli.call(*command, "--explain", check=True).stdout
    assert explained.startswith(plain.rstrip())
    assert "Fieldmark, Apache-2.0" in explained and "scores higher than" in explained
    for given, warning in (
        (("--explain", "--scores"), "--scores and --explain only change the table, not jsonl rows"),
        (("--rows", "candidates"), "--rows only changes CSV and Parquet, not jsonl"),
        (("--date", "2026-05-31"),
         "--date has no effect: it is used with --place, GPS data of a photo, or a species list with weeks"),
    ):  # fmt: skip
        assert cli.call(*command, "--format", "jsonl", *given, check=True).stderr == f"warning: {warning}\n"
    scored = (*command, "--format", "csv", "--scores", "--columns", "all")
    assert "for scores: --rows candidates --columns all" in cli.call(*scored, check=True).stderr
    assert cli.call(*scored, "--rows", "candidates", check=True).stderr == ""


def test_a_second_run_adds_new_photos_and_retries_unreadable_ones_on_request(
    cli: Any, built_kb: Path, drawings: Path
) -> None:
    photo = drawings / f"{CARDINAL}.png"
    (drawings / "bad.png").write_bytes(photo.read_bytes()[: photo.stat().st_size // 2])
    command = ("identify", drawings, "--kb", built_kb, "--output", "out.csv", "--columns", "all")
    first = cli.call(*command)
    assert (first.exit_code, "warning: 1 of 5 photos skipped: unreadable" in first.stderr) == (7, True)
    before = Path("out.csv").read_text()
    shutil.copy(photo, drawings / "z-new.png")
    again = cli.call(*command)
    assert (again.exit_code, again.stdout) == (7, ""), "the row with the error is still there"
    added = Path("out.csv").read_text().removeprefix(before)
    assert added.startswith(f"{drawings}/z-new.png,") and added.count("\n") == 1
    assert "Resuming: 5 of 6 photos done before; 1 unreadable (use --set retry_failed=true to retry)" in again.stderr
    retried = cli.call(*command, "--set", "retry_failed=true", "--set", "progress=jsonl")
    last = json.loads(retried.stderr.splitlines()[-2])
    assert (last["progress"], last["done"], last["total"], last["failed"]) == ("photos", 1, 1, 1)
    cli.call("identify", photo, *command[2:], "--preset", "vr-rag-v2", "--set", "resume=false", check=True)
    table = list(csv.DictReader(Path("out.csv").read_text().splitlines()))
    assert [(row["image"], row["preset"]) for row in table] == [(str(photo), "vr-rag-v2")]


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
    assert "1 name of list.csv matches no species: Snowy Owll (unknown; did you mean Snowy Owl" in outcome.stderr
    assert f"+{boost:.3f} on their scores" in outcome.stderr
    table = cli.call(*command, "--scores", "--set", "off_list_share=0.5", check=True)
    assert "\n  Without the species list:\n    Northern Cardinal (Cardinalis cardinalis)" in table.stdout
    assert "favoured 171 to 1" in outcome.stderr and "favoured 19 to 1" in table.stderr


def test_a_run_with_other_parameters_is_not_resumed(cli: Any, built_kb: Path, drawings: Path) -> None:
    Path("list.txt").write_text("Snowy Owl\n")
    rows = ("--rows", "candidates", "--output", "out.csv", "--species-list", "list.txt")
    command = ("identify", drawings, "--kb", built_kb, *rows)
    cli.call(*command, check=True)
    assert "4 of 4 photos done before" in cli.call(*command, check=True).stderr
    before = Path("out.csv").read_bytes()
    Path("other.txt").write_text("Snowy Owl\nBlue Jay\n")
    for changed, difference in (
        (("--set", "off_list_share=0.2"), "another species list"),
        (("--species-list", "other.txt"), "another species list"),
        (("--preset", "vr-rag-v2"), "preset default -> vr-rag-v2"),
        (("--top", "3"), "top 5 -> 3"),
        (("--rows", "photos"), "rows candidates -> photos"),
        (("--format", "jsonl"), "format csv -> jsonl"),
        (("--fast",), "another detector of birds, or none (--fast)"),
        (("--set", "unknown_prior=0.3"), "unknown prior None -> 0.3"),
        (("--group", "burst"), "burst seconds None -> 5.0"),
    ):
        outcome = cli.call(*command, *changed)
        assert (outcome.exit_code, difference in outcome.stderr) == (2, True), (changed, outcome.stderr)
    assert Path("out.csv").read_bytes() == before


def test_cards_and_their_index_are_written_for_photos_of_any_name(cli: Any, built_kb: Path, drawings: Path) -> None:
    shutil.copy(drawings / f"{CARDINAL}.png", drawings / os.fsdecode(b"caf\xe9" + "ä".encode() * 120 + b".png"))
    command = ("identify", drawings, "--kb", built_kb, "--output", "rows.csv", "--cards")
    assert "5 cards in pages: open pages/index.html in a browser" in cli.call(*command, "pages", check=True).stderr
    (drawings / "z-bad.png").write_bytes(b"no picture")
    assert "1 card in pages: open" in cli.call(*command, "pages").stderr
    index = Path("pages/index.html").read_text(encoding="utf-8")
    assert "6 photos: 5 identified, 1 unreadable." in index and len(list(Path("pages").glob("*.html"))) == 1 + 6
    again = cli.call(*command, "others")
    assert "--cards writes no pages for photos that were done before (6 have none)" in again.stderr


def test_the_share_of_unknown_species_is_estimated_from_all_photos_and_noted(
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
    share = f"{percent(late)} of the photos are estimated to show species outside the knowledge base"
    assert f"{share}; rows of earlier runs keep their own estimate\n" in note
    anew, note = run(drawings, "--set", "resume=false")
    assert anew == [late] * len(together) and f"{share}\n" in note, "from all photos, as in one run"
    note = run(first, shutil.copy(first, "new.png"))[1]
    assert f"{percent(late)} of the photos" in note and "as in an earlier run of 4 photos" in note


def test_rows_of_photos_alone_are_in_the_file_until_the_share_is_known(
    cli: Any, built_kb: Path, drawings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("identify", drawings, "--kb", built_kb, "--output", "rows.jsonl")
    shutil.copy(sorted(drawings.glob("*.png"))[0], "first.png")
    cli.call("identify", "first.png", *command[2:], check=True)
    estimated = "recognize.recognizer.estimate_prior"
    with monkeypatch.context() as stopped:
        stopped.setattr(estimated, Mock(side_effect=KeyboardInterrupt))
        assert cli.call(*command).exit_code == 130
    alone = parsed(Path("rows.jsonl").read_text())
    assert [row["unknown_prior"] for row in alone] == [UNKNOWN_PRIOR] * 5
    assert [Path(row["image"]).name for row in alone] == [
        "first.png",
        *sorted(path.name for path in drawings.iterdir()),
    ]
    monkeypatch.setattr(estimated, lambda even: 0.4)
    done = cli.call(*command, check=True)
    together = parsed(Path("rows.jsonl").read_text())
    assert [row["image"] for row in together] == [row["image"] for row in alone]
    assert [row["unknown_prior"] for row in together] == [UNKNOWN_PRIOR, *[0.4] * 4]
    assert "first look 4 of 4" in done.stderr and "photos 4 of 4" in done.stderr
    printed = cli.call(*command[:-2], "--format", "jsonl", check=True)
    assert [row["unknown_prior"] for row in parsed(printed.stdout)] == [0.4] * 4, "printed rows are the last"


def test_what_cannot_be_done_is_refused_with_a_reason(cli: Any, built_kb: Path, drawings: Path) -> None:
    Path("empty").mkdir()
    Path("auk.txt").write_text("Great Auk\n")
    for arguments, code, message in (
        (("a.jpg", "--output", "x.csv", "--set", "off_list_share=0.2"), 2, "off_list_share needs --species-list."),
        ((".", "--set", "retry_failed=true", "--set", "resume=false"), 2, "resume and the setting retry_failed need"),
        ((".", "--offline", "--max-cost", "7"), 2, "--max-cost and --offline need --reader."),
        ((".", "--set", "reader_context=names"), 2, "The setting reader_context needs --reader."),
        ((".", "--reader", "--top", "27"), 2, "Expected at most 26 candidates for the reader, got 27."),
        ((".", "--format", "parquet"), 2, "--format parquet needs --output FILE."),
        ((".", "--output", "x.csv", "--format", "table"), 2, "--output takes no tables."),
        ((".", "--output", "out.txt"), 2, "Unknown format of --output out.txt."),
        ((".", "--min-confidence", "50%"), 2, "a number from 0 to 1, such as 0.5, got '50%'."),
        (("",), 2, "A photo argument is empty."),
        (("nowhere.jpg", "none.jpg"), 5, "error: None of the 2 photos is readable.\n"),
        (("empty",), 5, "error: No photo found in empty.\n"),
        ((drawings, "--species-list", "auk.txt"), 5, "No species of auk.txt is in the knowledge base"),
        ((drawings, "--species-list", "none.txt"), 5, "File not found: none.txt"),
        ((drawings, "--reader"), 3, "[llm.vision]"),
        ((drawings, "--kb", "none.kb"), 3, "No knowledge base at none.kb\nhint: Build one with kb build --kb n"),
    ):
        outcome = cli.call("identify", *arguments, *(() if "--kb" in arguments else ("--kb", built_kb)))
        assert (outcome.exit_code, message in outcome.stderr) == (code, True), (arguments, outcome.stderr)
    assert not Path("out.txt").exists()


def test_notes_on_photos_are_in_rows_and_counted_and_folders_left_out_are_named(
    cli: Any, built_kb: Path, drawings: Path
) -> None:
    owl = Image.open(drawings / "bubo-scandiacus.png").convert("RGB").resize((640, 640))
    exif = Image.Exif()
    exif.get_ifd(0x8825).update({2: (37.0, 47.0, 43.08), 4: (144.0, 58.0, 31.08)})
    exif.get_ifd(0x8769)[0x9003] = "2026:05:01 10:00:00"
    (drawings / "owls" / "@eaDir").mkdir(parents=True)
    owl.save(drawings / "owls" / "a.jpg", exif=exif)
    owl.save(drawings / "owls" / "b.jpg", exif=exif)
    (drawings / "owls" / "b.jpg").write_bytes((drawings / "owls" / "b.jpg").read_bytes()[:-2])
    (drawings / "owls" / "c.jpg").symlink_to(drawings / "bubo-scandiacus.png")
    command = ("identify", drawings / "owls", "--kb", built_kb)
    place, cut = (
        "Place not used: the GPS data lack north or south, east or west.",
        "Damaged: the file is cut short, 100 % of the rows could be read.",
    )
    outcome = cli.call(*command, "--format", "csv", check=True)
    assert [row["notes"] for row in csv.DictReader(outcome.stdout.splitlines())] == [place, f"{cut} {place}", ""]
    for line in (
        f"Not searched: 1 folder, such as {drawings}/owls/@eaDir",
        "warning: Place not used: 2 of 3 photos (see the notes)",
        "warning: Damaged: 1 of 3 photos (see the notes)",
    ):
        assert line in outcome.stderr
    assert f"  {cut}\n  {place}" in cli.call(*command, check=True).stdout
    grouped = cli.call(*command, "--group", "burst", "--format", "jsonl", check=True)
    assert [row["notes"] for row in parsed(grouped.stdout)] == [[place, cut], []]
