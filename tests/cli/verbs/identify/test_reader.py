"""`kb identify --reader` against a real server with a scripted model, and `--cards`: mechanics alone."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers.openai_server import Answer, Call, OpenAIServer, Reaction, Script, Status

SECOND = "Its second look."


def second_of(call: Call) -> str:
    """Choose what is ranked second, wherever it stands."""
    assert "B. " in call.text
    return json.dumps({"reason": SECOND, "answer": "B"})


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with OpenAIServer(second_of) as running:
        (tmp_path / "fieldmark.toml").write_text(
            f'[llm.vision]\nmodel = "scripted"\nbase_url = "{running.base_url}"\n'
            "price_in = 1000.0\nprice_out = 1000.0\n"
        )
        monkeypatch.chdir(tmp_path)
        yield running


def test_the_answer_is_the_reader_s_choice_with_its_reason_and_no_confidence(
    cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer
) -> None:
    photo = drawings / "bubo-scandiacus.png"
    (row,) = [
        json.loads(line)
        for line in cli.call(
            "identify", photo, "--kb", built_kb, "--reader", "--format", "jsonl", check=True
        ).stdout.splitlines()
    ]
    assert row["answer"]["name"] == row["candidates"][1]["scientific_name"]
    assert row["answer"]["confidence"] is None
    assert row["reader"] == {
        "choice": row["candidates"][1]["taxon_id"], "agreement": 1.0, "margin": None, "reason": SECOND,
        "samples": 1, "answered": 1, "failures": [],
    }  # fmt: skip
    (picture,) = server.calls[0].images
    assert picture.startswith(b"\xff\xd8\xff")


def test_the_table_says_who_answered(cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer) -> None:
    text = cli.call("identify", drawings / "bubo-scandiacus.png", "--kb", built_kb, "--reader", check=True).stdout
    assert re.search(
        r"^  .*, chosen by the reader\n  Reader: .*, agreement 100 %: Its second look\.$", text, re.MULTILINE
    )


def test_the_chance_that_an_answer_needs_is_said_to_count_only_where_the_reader_fails(
    cli: Any, calibrated_kb: Path, drawings: Path, server: OpenAIServer
) -> None:
    asked = ("identify", drawings / "bubo-scandiacus.png", "--kb", calibrated_kb, "--min-confidence", "1", "--quiet")
    assert cli.call(*asked, check=True).stderr == ""
    warning = "warning: Only rows where the reader fails use --min-confidence: its choices have no confidence\n"
    ranks = []
    for script in (failing_at(1), second_of):
        server.script = script
        outcome = cli.call(*asked, "--reader", "--format", "jsonl")
        assert outcome.stderr.startswith(warning)
        ranks.append(json.loads(outcome.stdout)["answer"]["rank"])
    assert ranks == ["none", "species"]


def test_a_second_run_takes_the_replies_that_are_kept(
    cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer
) -> None:
    command = ("identify", drawings, "--kb", built_kb, "--reader", "--format", "jsonl")
    first = cli.call(*command, check=True).stdout
    asked = server.n_calls
    assert asked == len(first.splitlines()) > 2
    again = cli.call(*command, "--offline", check=True).stdout
    assert server.n_calls == asked

    def without_times(text: str) -> list[Any]:
        return [{**json.loads(line), "seconds": 0} for line in text.splitlines()]

    assert without_times(again) == without_times(first)


def test_a_limit_of_cost_ends_with_7_and_keeps_what_was_done(
    cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer, tmp_path: Path
) -> None:
    server.script = lambda call: Answer(text=second_of(call), input_tokens=2000, output_tokens=300)  # 2.30 USD
    names = tmp_path / "names.jsonl"
    command = ("identify", drawings, "--kb", built_kb, "--reader", "--output", names)
    stopped = cli.call(*command, "--max-cost", "7")
    assert stopped.exit_code == 7
    assert 0 < server.n_calls < len(list(drawings.glob("*.png")))
    asked = server.n_calls
    cli.call(*command, check=True)
    assert len(names.read_text().splitlines()) == len(list(drawings.glob("*.png"))) == server.n_calls
    assert server.n_calls > asked


def test_a_model_that_refuses_leaves_the_answer_and_says_so(
    cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer
) -> None:
    server.script = lambda _: Answer(text=None, refusal="I name no birds.")
    photo = drawings / "bubo-scandiacus.png"
    outcome = cli.call("identify", photo, "--kb", built_kb, "--reader", "--format", "jsonl")
    assert outcome.exit_code == 7
    assert "The reader failed for 1 of 1 photo; their answers come from the ranking\n" in outcome.stderr
    row = json.loads(outcome.stdout)
    assert (row["status"], row["answer"]["name"]) == ("ok", row["candidates"][0]["scientific_name"])
    assert (row["reader"]["agreement"], row["reader"]["samples"], row["reader"]["answered"]) == (0, 1, 0)
    assert "the reader failed" in row["reader"]["reason"]


TOO_DARK = Status(status=400, error={"message": "the picture is too dark"})  # not asked again by itself, and not kept


def failing_at(n: int) -> Script:
    """Answer every call but the first `n`, which fail."""
    return lambda call: TOO_DARK if call.number <= n else second_of(call)


@pytest.mark.parametrize("name", ["names.jsonl", "names.csv", "names.parquet"])
def test_retry_failed_asks_a_reader_that_failed_again_and_no_other(
    cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer, tmp_path: Path, name: str
) -> None:
    command = ("identify", drawings, "--kb", built_kb, "--reader", "--output", tmp_path / name)
    server.script = failing_at(2)
    n_photos = len(list(drawings.glob("*.png")))
    first = cli.call(*command)
    assert (first.exit_code, server.n_calls) == (7, n_photos)
    assert f"The reader failed for 2 of {n_photos} photos" in first.stderr

    again = cli.call(*command)
    assert (again.exit_code, server.n_calls) == (7, n_photos), "a failure stays until it is to be tried again"
    assert "2 without the reader's answer (use --retry-failed to retry)" in again.stderr

    retried = cli.call(*command, "--retry-failed", check=True)
    assert server.n_calls == n_photos + 2
    assert f"Resuming: {n_photos - 2} of {n_photos} photos done before\n" in retried.stderr
    rows = tmp_path / "all" / name
    cli.call("identify", drawings, "--kb", built_kb, "--reader", "--output", rows, "--offline", check=True)
    assert answers_in(tmp_path / name) == answers_in(rows)


def answers_in(file: Path) -> dict[str, Any]:
    """Photo -> what its rows say, but for what they took."""
    if file.suffix == ".jsonl":
        found = [{**json.loads(line), "seconds": 0} for line in file.read_text().splitlines()]
        return {row["image"]: row for row in found}
    import pandas

    table = pandas.read_csv(file) if file.suffix == ".csv" else pandas.read_parquet(file)
    rows = table.drop(columns="seconds").astype(object).where(table.notna(), None).to_dict("records")
    return {image: [row for row in rows if row["image"] == image] for image in table["image"]}


def test_the_passes_that_answered_decide_and_the_row_says_why_the_others_did_not(
    cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer, tmp_path: Path
) -> None:
    def script(call: Call) -> Reaction:
        shown = shown_in(call)
        if call.number == 1:
            asked.extend(shown)
            return json.dumps({"reason": SECOND, "answer": "B"})
        if call.number == 2:
            return TOO_DARK
        return "?" if call.number == 3 else json.dumps({"reason": SECOND, "answer": "ABCDE"[shown.index(asked[1])]})

    asked: list[str] = []
    # One at a time, so that the calls come in the order of the passes.
    (tmp_path / "fieldmark.toml").write_text((tmp_path / "fieldmark.toml").read_text() + "max_concurrent = 1\n")
    server.script = script
    command = ("identify", drawings / "bubo-scandiacus.png", "--kb", built_kb, "--reader", "--reader-samples", "4")
    file = tmp_path / "names.csv"
    done = cli.call(*command, "--output", file, check=True)
    assert "Some samples of the reader failed for 1 of 1 photo; the others decided; use --retry-failed" in done.stderr
    row = next(csv.DictReader(io.StringIO(file.read_text())))
    assert (row["answer_name"], row["reader_agreement"]) == (asked[1], "0.5")
    assert (row["reader_samples"], row["reader_answered"]) == ("4", "2")
    assert "400: the picture is too dark" in row["reader_failures"]
    assert server.n_calls == 4

    text = cli.call(*command, "--offline", "--cards", tmp_path / "cards")
    assert text.exit_code == 3, "offline nobody can be asked for missing answers"
    cards = tmp_path / "cards"
    server.script = lambda call: TOO_DARK
    outcome = cli.call(*command, "--cards", cards, check=True)
    assert f"1 card in {cards}" in outcome.stderr
    shown = outcome.stdout
    assert server.n_calls == 5, "every reply, readable or not, is cached"
    silent = r"2 of 4 samples answered \(1 failed: .*400: the picture is too dark; 1 unreadable\)"
    assert re.search(rf"^  Reader: .*, agreement 50 %, {silent}: Its second look\.$", shown, re.MULTILINE)
    (page,) = cards.glob("*.html")
    assert re.search(f"50 % of its samples agree; {silent}", page.read_text())

    server.script = second_of
    retried = cli.call(*command, "--output", file, "--retry-failed", check=True)
    assert server.n_calls == 6, "only the pass that failed is asked again"
    assert "failed" not in retried.stderr
    row = next(csv.DictReader(io.StringIO(file.read_text())))
    assert (row["reader_samples"], row["reader_answered"], row["reader_failures"]) == ("4", "3", "")


def test_a_key_that_is_not_accepted_stops_the_run_at_once_whatever_other_passes_say(
    cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer
) -> None:
    server.script = lambda call: Status(status=401) if call.number == 2 else second_of(call)
    outcome = cli.call("identify", drawings, "--kb", built_kb, "--reader", "--reader-samples", "3", "--format", "jsonl")
    assert (outcome.exit_code, "API key required" in outcome.stderr) == (3, True)


def test_without_a_model_that_is_set_it_ends_with_3_and_says_what_to_write(
    cli: Any, built_kb: Path, drawings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = cli.call("identify", drawings, "--kb", built_kb, "--reader")
    assert outcome.exit_code == 3
    assert "[llm.vision]" in outcome.stderr


def rows_of(cli: Any, *arguments: str | Path) -> list[dict[str, Any]]:
    done = cli.call("identify", *arguments, "--reader", "--format", "jsonl", check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def shown_in(call: Call) -> list[str]:
    """The scientific names of the candidates of a call, as they stand there."""
    return re.findall(r"^[A-Z]\. .*?\((\w+ \w+)\)", call.text, re.MULTILINE)


@pytest.mark.parametrize(("preset", "k", "n"), [("default", None, 5), ("default", "7", 7), ("vr-rag-v2", "3", 3)])
def test_the_row_s_candidates_are_those_that_the_reader_was_shown(
    cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer, preset: str, k: str | None, n: int
) -> None:
    (row,) = rows_of(
        cli,
        drawings / "bubo-scandiacus.png",
        "--kb",
        built_kb,
        "--preset",
        preset,
        *(("--set", f"reader_candidates={k}") if k else ()),
    )
    assert [candidate["scientific_name"] for candidate in row["candidates"]] == shown_in(server.calls[0])
    assert len(row["candidates"]) == n


@pytest.mark.parametrize("preset", ["vr-rag-v1", "direct-rag"])
def test_where_chunks_are_ranked_the_reader_is_shown_the_species_of_the_k_best(
    cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer, preset: str
) -> None:
    """As in the paper: k of 10 unless said otherwise, each species once, so there may be fewer than k."""
    import kb
    import recognize

    photo = drawings / "bubo-scandiacus.png"
    with kb.open(built_kb) as store:
        recognizer = recognize.Recognizer(store, recognize.load_encoders("starter"), preset=preset)
        (ranking,) = recognizer.rank([photo])
    for k in (None, 3):
        (row,) = rows_of(
            cli, photo, "--kb", built_kb, "--preset", preset, *(("--set", f"reader_candidates={k}") if k else ())
        )
        ids = [candidate["taxon_id"] for candidate in row["candidates"]]
        assert ids == list(dict.fromkeys(ranking.chunk_taxon_ids[: k or 10]))


def test_the_reader_is_told_what_is_asked_for(cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer) -> None:
    asked = (drawings / "bubo-scandiacus.png", "--kb", built_kb)
    (row,) = rows_of(cli, *asked, "--set", "reader_context=names")
    assert (
        f"\nA. {row['candidates'][0]['common_name']} ({row['candidates'][0]['scientific_name']})\n"
        in server.calls[0].text
    )
    assert row["candidates"][0]["summary"] not in server.calls[0].text
    rows_of(cli, *asked)
    assert row["candidates"][0]["summary"] in server.calls[1].text
    lacking = cli.call("identify", *asked, "--reader", "--set", "reader_context=summary")
    assert (lacking.exit_code, "model-two-pass" in lacking.stderr, server.n_calls) == (3, True, 2)


def test_a_prompt_of_one_s_own_is_asked_and_a_file_of_rows_of_another_prompt_is_not_gone_on_with(
    cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "read_photo.md").write_text("Which bird?\n$candidates\n")
    command = ("identify", drawings, "--kb", built_kb, "--reader", "--output", tmp_path / "rows.csv")
    cli.call(*command, "--set", f"prompts={tmp_path}/mine", check=True)
    assert all(call.text.startswith("Which bird?\nA. ") for call in server.calls)
    other = cli.call(*command)
    assert other.exit_code == 2
    assert "reader_prompt" in other.stderr


def test_photos_are_scaled_to_what_the_server_takes_and_no_further(
    cli: Any, built_kb: Path, server: OpenAIServer, tmp_path: Path
) -> None:
    from PIL import Image

    settings = (tmp_path / "fieldmark.toml").read_text()
    Image.new("RGB", (2000, 1000), "tan").save(tmp_path / "large.png")
    Image.new("RGB", (300, 200), "tan").save(tmp_path / "small.png")
    for key, sides in (("", [(1024, 512), (300, 200)]), ("image_px = 448\n", [(448, 224), (300, 200)])):
        (tmp_path / "fieldmark.toml").write_text(settings + key)
        server.calls.clear()
        rows_of(cli, tmp_path / "large.png", "--kb", built_kb)
        rows_of(cli, tmp_path / "small.png", "--kb", built_kb, "--reader-samples", "2" if key else "1")
        sent = [Image.open(io.BytesIO(call.images[0])).size for call in server.calls]
        assert list(dict.fromkeys(sent)) == sides


def test_csv_has_what_the_reader_chose_and_why(cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer) -> None:
    asked = ("identify", drawings / "bubo-scandiacus.png", "--kb", built_kb, "--reader", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(cli.call(*asked, check=True).stdout)))
    assert {(row["reader_choice"], row["reader_agreement"], row["reader_reason"]) for row in rows} == {
        (rows[1]["taxon_id"], "1.0", SECOND)
    }


def test_a_card_shows_the_reader_s_reason(
    cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer, tmp_path: Path
) -> None:
    photo = drawings / "bubo-scandiacus.png"
    cli.call("identify", photo, "--kb", built_kb, "--reader", "--cards", tmp_path / "cards", check=True)
    (page,) = (tmp_path / "cards").glob("*.html")
    assert SECOND in page.read_text()


@pytest.mark.parametrize(
    "option",
    [
        ("--offline",),
        ("--max-cost", "7"),
        ("--reader-samples", "3"),
        ("--set", "reader_candidates=5"),
        ("--set", "reader_context=names"),
    ],
)
def test_options_of_the_reader_without_one_end_with_2(
    cli: Any, built_kb: Path, drawings: Path, option: tuple[str, ...]
) -> None:
    assert cli.call("identify", drawings, "--kb", built_kb, *option).exit_code == 2


def test_more_candidates_than_labels_are_refused_before_a_photo_is_read(
    cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer
) -> None:
    outcome = cli.call("identify", drawings, "--kb", built_kb, "--reader", "--top", "27")
    assert (outcome.exit_code, outcome.stdout, server.n_calls) == (2, "", 0)


def test_cards_are_pages_one_a_photo(cli: Any, built_kb: Path, drawings: Path, tmp_path: Path) -> None:
    cli.call("identify", drawings, "--kb", built_kb, "--cards", tmp_path / "cards", check=True)
    pages = sorted((tmp_path / "cards").iterdir())
    assert len(pages) == len(list(drawings.glob("*.png")))
    owl = next(page for page in pages if page.name.startswith("bubo-scandiacus-")).read_text()
    assert "Snowy Owl" in owl
    assert owl.count("data:image/jpeg;base64,") > 2
