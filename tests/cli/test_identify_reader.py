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

from tests.servers.openai_server import Answer, Call, OpenAIServer

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
        "choice": row["candidates"][1]["taxon_id"], "agreement": 1.0, "margin": None, "reason": SECOND
    }  # fmt: skip
    (picture,) = server.calls[0].images
    assert picture.startswith(b"\xff\xd8\xff")


def test_the_table_says_who_answered(cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer) -> None:
    text = cli.call("identify", drawings / "bubo-scandiacus.png", "--kb", built_kb, "--reader", check=True).stdout
    assert re.search(r"^  .*, by the reader\n  reader: .*, agreement 1\.00: Its second look\.$", text, re.MULTILINE)


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
    outcome = cli.call("identify", photo, "--kb", built_kb, "--reader", "--format", "jsonl", check=True)
    row = json.loads(outcome.stdout)
    assert row["answer"]["name"] == row["candidates"][0]["scientific_name"]
    assert row["reader"]["agreement"] == 0
    assert "the reader failed" in row["reader"]["reason"]


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
        cli, drawings / "bubo-scandiacus.png", "--kb", built_kb, "--preset", preset, *(("--reader-k", k) if k else ())
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
        (row,) = rows_of(cli, photo, "--kb", built_kb, "--preset", preset, *(("--reader-k", str(k)) if k else ()))
        ids = [candidate["taxon_id"] for candidate in row["candidates"]]
        assert ids == list(dict.fromkeys(ranking.chunk_taxon_ids[: k or 10]))


def test_the_reader_is_told_what_is_asked_for(cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer) -> None:
    asked = (drawings / "bubo-scandiacus.png", "--kb", built_kb)
    (row,) = rows_of(cli, *asked, "--reader-context", "names")
    assert (
        f"\nA. {row['candidates'][0]['common_name']} ({row['candidates'][0]['scientific_name']})\n"
        in server.calls[0].text
    )
    assert row["candidates"][0]["summary"] not in server.calls[0].text
    rows_of(cli, *asked)
    assert row["candidates"][0]["summary"] in server.calls[1].text
    lacking = cli.call("identify", *asked, "--reader", "--reader-context", "summary")
    assert (lacking.exit_code, "model-two-pass" in lacking.stderr, server.n_calls) == (3, True, 2)


def test_a_prompt_of_one_s_own_is_asked_and_a_file_of_rows_of_another_prompt_is_not_gone_on_with(
    cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "read_photo.md").write_text("Which bird?\n$candidates\n")
    command = ("identify", drawings, "--kb", built_kb, "--reader", "--output", tmp_path / "rows.csv")
    cli.call(*command, "--prompts", tmp_path / "mine", check=True)
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
        rows_of(cli, tmp_path / "small.png", "--kb", built_kb, "--reader-passes", "2" if key else "1")
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
        ("--reader-passes", "3"),
        ("--reader-k", "5"),
        ("--reader-context", "names"),
        ("--prompts", "."),
    ],
)
def test_options_of_the_reader_without_one_end_with_2(
    cli: Any, built_kb: Path, drawings: Path, option: tuple[str, ...]
) -> None:
    assert cli.call("identify", drawings, "--kb", built_kb, *option).exit_code == 2


def test_more_candidates_than_labels_are_refused_before_a_photo_is_read(
    cli: Any, built_kb: Path, drawings: Path, server: OpenAIServer
) -> None:
    from cli.identify import MOST_READ
    from recognize.reader import MAX_CANDIDATES

    assert MOST_READ == MAX_CANDIDATES
    outcome = cli.call("identify", drawings, "--kb", built_kb, "--reader", "--top", str(MOST_READ + 1))
    assert (outcome.exit_code, outcome.stdout, server.n_calls) == (2, "", 0)


def test_cards_are_pages_one_a_photo(cli: Any, built_kb: Path, drawings: Path, tmp_path: Path) -> None:
    cli.call("identify", drawings, "--kb", built_kb, "--cards", tmp_path / "cards", check=True)
    pages = sorted((tmp_path / "cards").iterdir())
    assert len(pages) == len(list(drawings.glob("*.png")))
    owl = next(page for page in pages if page.name.startswith("bubo-scandiacus-")).read_text()
    assert "Snowy Owl" in owl
    assert owl.count("data:image/jpeg;base64,") > 2
