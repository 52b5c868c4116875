"""`kb identify --reader` against a scripted server, and `--cards`: mechanics, not quality."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kb
import recognize
from tests.servers.openai_server import Answer, Call, OpenAIServer, Reaction, Script, Status

CARDINAL, SECOND = "cardinalis-cardinalis", "Its second look."


def second_of(call: Call) -> str:
    """Choose the second candidate."""
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


def test_min_confidence_applies_only_if_the_reader_fails(
    cli: Any, calibrated_kb: Path, drawings: Path, server: OpenAIServer
) -> None:
    command = ("identify", drawings / "bubo-scandiacus.png", "--kb", calibrated_kb, "--min-confidence", "1", "--quiet")
    assert cli.call(*command, check=True).stderr == ""
    warning = "warning: Only rows where the reader fails use --min-confidence: its choices have no confidence\n"
    ranks = []
    for script in (failing_at(1), second_of):
        server.script = script
        outcome = cli.call(*command, "--reader", "--format", "jsonl")
        assert outcome.stderr.startswith(warning)
        ranks.append(json.loads(outcome.stdout)["answer"]["rank"])
    assert ranks == ["none", "species"]


def test_a_cost_limit_exits_with_7_and_the_next_run_resumes(
    cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer, tmp_path: Path
) -> None:
    server.script = lambda call: Answer(text=second_of(call), input_tokens=2000, output_tokens=300)  # 2.30 USD
    names = tmp_path / "names.jsonl"
    command = ("identify", drawings, "--kb", built_kb, "--reader", "--output", names)
    stopped = cli.call(*command, "--max-cost", "7")
    assert stopped.exit_code == 7
    assert 0 < server.n_calls < len(list(drawings.glob("*.png")))
    cli.call(*command, check=True)
    assert len(names.read_text().splitlines()) == len(list(drawings.glob("*.png"))) == server.n_calls


TOO_LARGE = Status(status=413, error={"message": "the picture is too large"})  # not tried again by itself, nor kept


def failing_at(n: int) -> Script:
    """Answer every call but the first `n`, which fail."""
    return lambda call: TOO_LARGE if call.number <= n else second_of(call)


def test_retry_failed_repeats_only_failed_reader_calls(
    cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "read_photo.md").write_text("Which bird?\n$candidates\n")
    command = ("identify", drawings, "--kb", built_kb, "--reader", "--output", "names.jsonl")
    prompts = ("--set", "prompts=mine")
    server.script = failing_at(2)
    n = len(list(drawings.glob("*.png")))
    first = cli.call(*command, *prompts)
    assert (first.exit_code, server.n_calls) == (7, n)
    assert f"The reader failed for 2 of {n} photos; their answers come from the ranking" in first.stderr
    assert "(the reader failed: scripted@" in first.stderr and "413: the picture is too large)" in first.stderr
    failed = [row for row in map(json.loads, Path("names.jsonl").read_text().splitlines()) if row["reader"]["failures"]]
    assert [(row["status"], row["reader"]["agreement"], row["reader"]["answered"]) for row in failed] == [
        ("identified", 0, 0), ("identified", 0, 0),
    ]  # fmt: skip
    assert all(row["answer"]["name"] == row["candidates"][0]["scientific_name"] for row in failed)
    again = cli.call(*command, *prompts)
    assert (again.exit_code, server.n_calls) == (7, n), "a failure stays until it is retried"
    assert "2 without the reader's answer (use --set retry_failed=true to retry)" in again.stderr
    retried = cli.call(*command, *prompts, "--set", "retry_failed=true", check=True)
    assert server.n_calls == n + 2 and f"Resuming: {n - 2} of {n} photos done before\n" in retried.stderr
    assert all(call.text.startswith("Which bird?\nA. ") for call in server.calls)
    other = cli.call(*command)
    assert (other.exit_code, "another prompt of the reader" in other.stderr) == (2, True)


def test_answered_samples_decide_and_failures_are_recorded(
    cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer, tmp_path: Path
) -> None:
    first_shown: list[str] = []

    def script(call: Call) -> Reaction:
        shown = shown_in(call)
        first_shown.extend(shown if call.number == 1 else ())
        chosen = json.dumps({"reason": SECOND, "answer": "ABCDE"[shown.index(first_shown[1])]})
        return {2: TOO_LARGE, 3: "?"}.get(call.number, chosen)

    # One at a time, so that the calls come in the order of the samples.
    (tmp_path / "fieldmark.toml").write_text((tmp_path / "fieldmark.toml").read_text() + "max_concurrent = 1\n")
    server.script = script
    command = ("identify", drawings / "bubo-scandiacus.png", "--kb", built_kb, "--reader", "--set", "reader_samples=4")

    def row() -> dict[str, str]:
        return next(csv.DictReader(io.StringIO(Path("names.csv").read_text())))

    done = cli.call(*command, "--columns", "all", "--output", "names.csv", check=True)
    said = "Some samples of the reader failed for 1 of 1 photo; the others decided; use --set retry_failed=true"
    assert said in done.stderr and "413: the picture is too large" in row()["reader_failures"]
    wanted = {"answer_scientific_name": first_shown[1], "reader_agreement": "0.5", "reader_samples": "4"}
    assert wanted.items() <= row().items() and row()["reader_answered"] == "2"
    assert cli.call(*command, "--offline").exit_code == 3, "missing answers cannot be requested offline"
    server.script = lambda call: TOO_LARGE
    outcome = cli.call(*command, "--cards", "cards", check=True)
    assert server.n_calls == 6, "usable replies are cached"
    silent = r"2 of 4 samples answered \(2 failed: .*413: the picture is too large\)"
    assert re.search(rf"^  Reader: .*, agreement 50 %, {silent}: Its second look\.$", outcome.stdout, re.MULTILINE)
    (page,) = Path("cards").glob("bubo*.html")
    assert re.search(f"50 % of its samples agree; {silent}", page.read_text())
    server.script = second_of
    cli.call(*command, "--columns", "all", "--output", "names.csv", "--set", "retry_failed=true", check=True)
    assert server.n_calls == 8, "only the failed samples are requested again"
    assert (row()["reader_answered"], row()["reader_failures"]) == ("4", "")


def rows_of(cli: Any, *arguments: str | Path) -> list[dict[str, Any]]:
    done = cli.call("identify", *arguments, "--reader", "--format", "jsonl", check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def shown_in(call: Call) -> list[str]:
    """Return the scientific names of the candidates of a call, in their order."""
    return re.findall(r"^[A-Z]\. .*?\((\w+ \w+)\)", call.text, re.MULTILINE)


def test_the_answer_is_the_choice_among_the_candidates_shown(
    cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer
) -> None:
    photo = drawings / "bubo-scandiacus.png"
    with kb.open(built_kb) as store:
        encoders = recognize.load_encoders("starter")
        of_chunks = {
            n: next(recognize.Recognizer(store, encoders, preset="vr-rag-v1", n_chunks=n).identify([photo])).candidates
            for n in (3, 10)
        }
    for preset, more, n in (
        ("default", (), 5),
        ("default", ("--set", "reader_candidates=7"), 7),
        ("vr-rag-v2", ("--set", "reader_candidates=3"), 3),
        # As in the paper: the species of the 10 best chunks, each once, so there may be fewer.
        ("vr-rag-v1", (), len(of_chunks[10])),
        ("vr-rag-v1", ("--set", "reader_candidates=3", "--set", "reader_forced=false"), len(of_chunks[3])),
    ):
        (row,) = rows_of(cli, photo, "--kb", built_kb, "--preset", preset, *more)
        is_forced = preset != "default" and "reader_forced=false" not in more
        assert ('"none"' not in server.calls[-1].text) is is_forced, (preset, more)
        assert [candidate["scientific_name"] for candidate in row["candidates"]] == shown_in(server.calls[-1])
        assert len(row["candidates"]) == n
    (row,) = rows_of(cli, photo, "--kb", built_kb)
    assert (row["answer"]["name"], row["answer"]["confidence"]) == (row["candidates"][1]["scientific_name"], None)
    assert row["reader"] == {
        "choice": row["candidates"][1]["taxon_id"], "agreement": 1.0, "margin": None, "reason": SECOND,
        "samples": 1, "answered": 1, "failures": [],
    }  # fmt: skip
    assert server.calls[0].images[0].startswith(b"\xff\xd8\xff")


def test_reader_context_selects_the_text_of_candidates(
    cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer
) -> None:
    arguments = (drawings / "bubo-scandiacus.png", "--kb", built_kb)
    (row,) = rows_of(cli, *arguments, "--set", "reader_context=names")
    first = row["candidates"][0]
    assert f"\nA. {first['common_name']} ({first['scientific_name']})\n" in server.calls[0].text
    rows_of(cli, *arguments)
    assert [first["summary"] in call.text for call in server.calls] == [False, True]
    lacking = cli.call("identify", *arguments, "--reader", "--set", "reader_context=summary")
    assert (lacking.exit_code, "model-two-pass" in lacking.stderr, server.n_calls) == (3, True, 2)
