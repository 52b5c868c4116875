"""`kb rerank`: folders, job files, both outputs, exit codes, and a run that is killed and resumed."""

import json
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from data.starter.knowledge import drawings_of
from tests.cli.verbs.rerank.conftest import answered, jobs_file, script
from tests.conftest import CommandLine
from tests.rerank.scripted import questions_reply
from tests.servers.openai_server import Answer, OpenAIServer


def test_a_job_is_judged_into_two_files_and_cached(
    cli: CommandLine, birds: Path, photos: Path, endpoint: Callable[..., None]
) -> None:
    file = jobs_file(photos, n=2)
    command = ["rerank", file, "--kb", birds, "--preset", "paper", "--output", "out/run", "--judge", "vision"]
    with OpenAIServer(script) as server:
        endpoint(server)
        run = cli.call(*command, check=True)
        # A probe of two, the questions of two queries, and three answers on each of twelve photos.
        assert server.n_calls == 2 + 2 + 36
        assert run.stdout == "" and "40 model calls" in run.stderr and "per query" in run.stderr
        rows = [json.loads(line) for line in Path("out/run.jsonl").read_text().splitlines()]
        assert [(row["query_id"], row["rank"]) for row in rows] == [(f"q{i}", r) for i in (0, 1) for r in range(1, 7)]
        assert rows[0]["image_id"] == "3" and rows[0]["score"] == pytest.approx(90)
        assert {one["obtained_by"] for row in rows for one in row["questions"]} == {"logprobs"}
        assert len(Path("out/run.trec").read_text().splitlines()) == 12
        assert {row["cost_usd"] > 0 for row in rows} == {True}
        cli.call(*command, check=True)
        again = [json.loads(line) for line in Path("out/run.jsonl").read_text().splitlines()]
        assert server.n_calls == 40 and again == [row | {"cost_usd": 0.0} for row in rows], "a cached reply is free"
        cli.call(*command, "--no-cache", check=True)
        assert server.n_calls == 80
    both = cli.call(*command, "--offline", "--no-cache")
    assert both.exit_code == 2 and "--no-cache asks the models again and --offline asks none" in both.stderr


SOURCES = {"citations": ["https://web.example/1", "https://web.example/2"]}
ZORBLIN = Answer(text="A zorblin is a red gland of frogs [1].", more=SOURCES, input_tokens=30, output_tokens=10)


@pytest.fixture
def zorblins(birds: Path, photos: Path, tmp_path: Path) -> Any:
    """Return a writable knowledge base without the word "zorblin", and a job of two photos that contains it."""
    for photo in photos.iterdir():
        if photo.stem not in ("red bird", "blue bird"):
            photo.unlink()
    file = jobs_file(photos)
    file.write_text(file.read_text().replace("a red bird, 0", "a red bird with a zorblin"))
    return shutil.copytree(birds, tmp_path / "own.kb"), file


def test_an_unknown_term_is_searched_once_and_included_in_the_cost(
    cli: CommandLine, zorblins: Any, endpoint: Callable[..., None]
) -> None:
    knowledge, file = zorblins
    with OpenAIServer(script) as vision, OpenAIServer(ZORBLIN) as web:
        endpoint(vision)
        endpoint(web, kind="search")
        plan = cli.call("rerank", file, "--kb", knowledge, "--dry-run", check=True).stdout
        assert "of these for context" in plan and vision.n_calls == web.n_calls == 0
        run = cli.call("rerank", file, "--kb", knowledge, "--preset", "paper", "--output", "run", check=True)
        assert web.n_calls == 1 and "zorblin" in web.calls[0].text
        prompts = [call.text for call in vision.calls if "red bird with a zorblin" in call.text]
        assert len(prompts) == 1 + 6 and all("A zorblin is a red gland of frogs" in text for text in prompts)
        n_calls = vision.n_calls + web.n_calls
        (written,) = (call for call in vision.calls if not call.images)
        spent = 40 + 401 * (vision.n_calls - 1) + len(written.text.split()) + len(questions_reply().split())
        assert f"{n_calls} model calls" in run.stderr and f"${spent / 1e6:.4f}" in run.stderr


def test_a_dry_run_counts_the_questions_that_are_asked_again_one_by_one(
    cli: CommandLine, zorblins: Any, endpoint: Callable[..., None]
) -> None:
    """The model answers none of the combined questions."""
    knowledge, file = zorblins
    with OpenAIServer(script) as vision:
        endpoint(vision)
        plan = cli.call("rerank", file, "--kb", knowledge, "--dry-run", check=True).stdout
        for more, code in ((("--offline",), 3), (("--max-cost", "0.000001"), 7)):
            stopped = cli.call("rerank", file, "--kb", knowledge, *more)
            assert (stopped.exit_code, vision.n_calls) == (code, 0), stopped.stderr
        done = cli.call("rerank", file, "--kb", knowledge, check=True).stderr
    most, spent = (float(found[1]) for text in (plan, done) if (found := re.search(r"(?:at most|,) +\$([\d.]+)", text)))
    assert 0 < spent <= most < 0.04, (plan, done)
    expected = re.search(r"model calls, without retries +(\d+) to (\d+)", plan)
    assert expected and (expected[1], expected[2]) == ("5", str(vision.n_calls)), plan


FIVE = "An albino is white [2].\n\nIts eyes are pink. It keeps its shape [1]. Look at the eyes. Its legs are pale [2]."


def test_the_web_is_searched_as_preset_settings_and_flags_say(
    cli: CommandLine, zorblins: Any, endpoint: Callable[..., None], tmp_path: Path, monkeypatch: Any
) -> None:
    """The preset `paper` searches for every query, and shows the judge the whole answer alone."""
    knowledge, file = zorblins
    file.write_text(file.read_text().replace("a red bird with a zorblin", "a bird with a cere"))
    rerank = ("rerank", file, "--kb", knowledge)
    with OpenAIServer(script) as vision, OpenAIServer(Answer(text=FIVE, more=SOURCES)) as web:
        endpoint(vision)
        warned = cli.call(*rerank, "--preset", "paper", check=True)
        assert "[llm.search] is not set: context comes from the knowledge base instead" in warned.stderr
        assert cli.call(*rerank, "--preset", "paper", "--web").exit_code == 3
        refused = cli.call(*rerank, "--preset", "paper", "--no-web")
        assert (refused.exit_code, "--preset paper takes context from the web alone" in refused.stderr) == (2, True)
        endpoint(web, kind="search")
        for number, (more, n_calls) in enumerate((
            ((), 0),
            (("--web",), 1),
            (("--preset", "paper", "--set", "context.web=if-needed", "--set", "context.kb=if-needed"), 0),
            (("--preset", "paper"), 1),
        )):  # fmt: skip
            monkeypatch.setenv("FIELDMARK_HOME", str(tmp_path / f"home {number}"))  # without kept replies
            web.calls.clear()
            vision.calls.clear()
            cli.call("rerank", file, "--kb", shutil.copytree(knowledge, tmp_path / f"{number}.kb"), *more, check=True)
            assert web.n_calls == n_calls, more
        prompts = [call.text for call in vision.calls if "bird with a cere" in call.text]
        assert prompts and all(FIVE in text and "are skin" not in text for text in prompts)


def test_what_cannot_be_done_is_refused_with_a_reason(cli: CommandLine, birds: Path, photos: Path) -> None:
    jobs = jobs_file(photos)
    (photos.parent / "bad.jsonl").write_text(jobs.read_text() + '{"query_id": "x"}\n')
    folder = ["photos", "--query", "x"]
    for arguments, code, expected in (
        (["photos"], 2, "is a folder of photos and needs a query"),
        (["jobs.jsonl", "--query", "x"], 2, "has its own queries"),
        (["photos", "--query", " "], 2, "The query is empty"),
        (["jobs.jsonl", "--output", "jobs"], 2, "would overwrite the job"),
        ([*folder, "--samples", "2"], 2, "expected an odd number"),
        ([*folder, "--judge", "vision"], 3, "[llm.vision] is not set"),
        ([*folder, "--web", "--method", "cotrr"], 2, "--web is for --method decompose, not for cotrr."),
        ([*folder, "--samples", "3", "--method", "cotrr"], 2, "--samples is for --method decompose"),
        ([*folder, "--no-context", "--method", "cotrr"], 2, "--context is for --method decompose"),
        ([*folder, "--method", "cotrr", "--judge", "encoder"], 2, "needs a vision model"),
        ([*folder, "--preset", "authors"], 2, 'has no preset "authors"'),
        ([*folder, "--web", "--judge", "encoder"], 2, "--web has no effect"),
        ([*folder, "--web", "--no-context"], 2, "context is turned off"),
        ([*folder, "--method", "visret"], 3, "[llm.image] is not set"),
        ([*folder, "--method", "rewrite"], 3, "[llm.text] is not set"),
        ([*folder, "--kb", "missing.kb"], 3, "missing.kb"),
        (["bad.jsonl"], 5, "line 2"),
    ):
        run = cli.call("rerank", *arguments, *(() if "--kb" in arguments else ("--kb", birds)))
        assert (run.exit_code, expected in run.stderr) == (code, True), (arguments, run.stderr)


def test_a_failed_query_is_missing_from_the_trec_run(
    cli: CommandLine, birds: Path, photos: Path, endpoint: Callable[..., None]
) -> None:
    file = jobs_file(photos, n=2)

    def mumble_on_the_second(call: Any) -> Any:
        return answered("Hm", Hm=1.0) if call.images and "a red bird, 1" in call.text else script(call)

    with OpenAIServer(mumble_on_the_second) as server:
        endpoint(server)
        run = cli.call("rerank", file, "--kb", birds, "--output", "run")
    assert run.exit_code == 7 and "no usable answer" in run.stderr
    rows = [json.loads(line) for line in Path("run.jsonl").read_text().splitlines()]
    assert {(row["query_id"], row["status"]) for row in rows} == {("q0", "ok"), ("q1", "error")}
    assert {line.split()[0] for line in Path("run.trec").read_text().splitlines()} == {"q0"}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("signals", "code", "n_calls"),
    [
        ((signal.SIGKILL,), -signal.SIGKILL, 21 + 2),
        ((signal.SIGINT,), 130, 21),
        ((signal.SIGINT, signal.SIGINT), 130, 21 + 2),
    ],
)
def test_a_killed_run_repeats_only_calls_in_flight_and_one_that_is_interrupted_waits_for_them(
    signals: tuple[signal.Signals, ...], code: int, n_calls: int, cli: CommandLine, birds: Path, photos: Path,
    endpoint: Callable[..., None],
) -> None:  # fmt: skip
    """Received replies are cached, the rest of 21 is requested, and the result is the same; a second Ctrl-C kills."""
    file = jobs_file(photos)
    arguments = ["rerank", str(file), "--kb", str(birds), "--preset", "paper", "--output", "run"]
    stopped = threading.Event()

    def held(call: Any) -> Any:
        """Hold back calls 13 and 14 until the run is stopped; there is no 15th, because at most two are in flight."""
        if call.number > 12:
            stopped.wait(300)
        return script(call)

    with OpenAIServer(held) as server, ExitStack() as opened:
        endpoint(server, max_concurrent=2)
        started = subprocess.Popen(
            [*cli.command(), *arguments], cwd=cli.folder, env=cli.environment(), stderr=subprocess.PIPE, text=True
        )
        process = opened.enter_context(started)
        deadline = time.monotonic() + 240
        while server.n_calls < 14 and time.monotonic() < deadline:
            time.sleep(0.01)
        for each in signals:
            process.send_signal(each)
            assert process.stderr is not None
            while (line := process.stderr.readline()) and "waiting for 2 replies in flight" not in line:
                pass
        if n_calls == 21:
            stopped.set()
        assert process.wait(60) == code and server.n_calls == 14 and not Path("run.jsonl").exists()
        stopped.set()
        cli.run(*arguments, check=True)
        assert server.n_calls == n_calls
    rows = [json.loads(line) for line in Path("run.jsonl").read_text().splitlines()]
    assert [row["status"] for row in rows] == ["ok"] * 6 and rows[0]["image_id"] == "3"


def test_the_depth_of_a_folder_takes_the_most_similar_photos(cli: CommandLine, drawings: Path, birds: Path) -> None:
    query = ("--query", "a red bird with a black face", "--kb", str(birds))
    found = cli.call("find", query[1], "--images", drawings, *query[2:], "--format", "jsonl", check=True)
    similar = [json.loads(line)["image_id"] for line in found.stdout.splitlines()]
    assert similar != sorted(similar)
    (drawings / "0-broken.png").write_bytes(b"no photo")
    more = ("--method", "similarity", "--depth", "2", "--format", "jsonl")
    run = cli.call("rerank", drawings, *query, *more, check=True)
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert [row["image_id"] for row in rows] == [*similar, "0-broken.png"]
    assert [row["score"] for row in rows][2:] == [-3.0, -4.0, -5.0]
    assert "the 2 photos most similar to the query are re-ranked" in run.stderr


def test_a_run_without_any_usable_answer_exits_with_6(
    cli: CommandLine, birds: Path, photos: Path, endpoint: Callable[..., None]
) -> None:
    """As in the paper they count as no, so every row is in order."""
    with OpenAIServer(lambda call: answered("Hm", Hm=1.0) if call.images else script(call)) as server:
        endpoint(server)
        run = cli.call("rerank", jobs_file(photos), "--kb", birds, "--preset", "paper", "--format", "jsonl", "-q")
    assert run.exit_code == 6 and "no usable answer to 18 of 18 questions" in run.stderr
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert [(row["image_id"], row["status"]) for row in rows] == [(f"{i}", "ok") for i in range(6)]


def test_the_recognizer_scores_a_species_that_a_query_names(cli: CommandLine, birds: Path, tmp_path: Path) -> None:
    (tmp_path / "drawings").mkdir()
    for taxon_id in ("agelaius-phoeniceus", "alcedo-atthis"):
        (tmp_path / "drawings" / f"{taxon_id}.png").write_bytes(drawings_of(taxon_id, "query")[0].png())
    query = ("--query", "a Common Kingfisher standing in water", "--kb", birds, "--format", "jsonl")
    run = cli.call("rerank", "drawings", *query, check=True)
    note = "[llm.vision] is not set, so the encoders judge"
    assert note in run.stderr and note not in cli.call("rerank", "drawings", *query, "--judge", "encoder").stderr
    first, second = (json.loads(line) for line in run.stdout.splitlines())
    assert first["image_id"] == "alcedo-atthis.png" and first["score"] > second["score"]
    asked, other = first["questions"]
    assert (asked["question"], asked["obtained_by"]) == ("Does this image show a Common Kingfisher?", "recognizer")
    assert first["score"] == pytest.approx(100 * asked["probability"], abs=1e-3)
    assert (other["answer"], other["obtained_by"]) == (None, "no evidence")
    assert f"no evidence on {other['question']!r}, which does not count" in run.stderr
