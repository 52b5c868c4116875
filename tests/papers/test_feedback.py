"""`python -m papers feedback`: tables, classes by folder, jobs, MSR-VTT, options and settings."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.verbs.feedback.conftest import QUERY
from tests.servers.openai_server import Answer, Status

SMALL = ("--set", "k=3", "--turns", "3")


@pytest.fixture(autouse=True)
def knowledge(built_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the knowledge base of the drawings; unpacking the shipped one takes seconds."""
    monkeypatch.setenv("FIELDMARK_KB", str(built_kb))


@pytest.fixture
def measure(papers: Any, coloured: Path, plain_encoders: None) -> Callable[..., Any]:
    """Return a function that measures, and returns the run and its JSON."""

    def run(*more: str) -> Any:
        done = papers("feedback", "--images", str(coloured), *more, "--format", "json")
        return done, json.loads(done.stdout) if done.stdout.startswith("{") else None

    return run


def recall(figures: Any, column: str) -> list[float]:
    return [each["micro"] for each in figures["recall"][column]]


def jobs_file(coloured: Path) -> str:
    """Write two jobs with relevant photos of several colours."""
    ids = sorted(path.relative_to(coloured).as_posix() for path in coloured.rglob("*.png"))
    reds = [image_id for image_id in ids if image_id.startswith("red")]
    jobs = [
        {"query_id": "a", "text": QUERY, "candidates": [], "relevant": [*reds[::2], *ids[::7]]},
        {"query_id": "b", "text": "a blue bird with a black tail", "candidates": [], "relevant": ids[5:20:2]},
        {"query_id": "unlabelled", "text": "a bird", "candidates": []},
    ]
    Path("jobs.jsonl").write_text("\n".join(map(json.dumps, jobs)))
    return "jobs.jsonl"


def test_folders_are_classes_and_no_feedback_equals_a_single_turn(measure: Any) -> None:
    done, figures = measure("--method", "none", "--method", "rocchio", *SMALL)
    assert done.exit_code == 0, done.stderr
    assert figures["n_queries"] == 4 and list(figures["recall"]) == ["single turn", "none", "rocchio"]
    assert recall(figures, "none") == recall(figures, "single turn")
    assert recall(figures, "rocchio")[0] == recall(figures, "none")[0]
    assert figures["ceiling"] == pytest.approx([0.3, 0.6, 0.9, 1.0])
    queries = [run["queries"][0] for run in figures["runs"]["none"]]
    assert queries == ["blue bird", "green bird", "red bird", "white bird"]
    _, other = measure("--method", "none", *SMALL, "--query", "a {name} with a white belly")
    assert other["runs"]["none"][0]["queries"][0] == f"a {queries[0]} with a white belly"


def test_tables_and_plot(papers: Any, coloured: Path, measure: Any) -> None:
    _, figures = measure("--method", "rocchio", *SMALL)
    command = ("feedback", "--images", str(coloured), "--method", "rocchio", *SMALL)
    text = papers(*command, "--plot", "recall.svg", check=True).stdout
    single, rocchio = (100 * recall(figures, name)[3] for name in ("single turn", "rocchio"))
    assert "Accumulated recall in %, 4 queries" in text and "Gain over a single turn at the end" in text
    row = next(line for line in text.splitlines() if line.startswith("turn 3"))
    assert f"R@12 {single:.1f}" in row and f" {rocchio:.1f} " in row
    rows = list(csv.DictReader(papers(*command, "--format", "csv", check=True).stdout.splitlines()))
    assert [float(each["recall"]) for each in rows if each["method"] == "rocchio"] == pytest.approx(
        recall(figures, "rocchio"), abs=1e-6
    )
    svg = Path("recall.svg").read_text()
    assert svg.startswith("<svg") and svg.count("stroke-dasharray") == 4 and ">rocchio</text>" in svg


@pytest.mark.integration
def test_methods_of_text_agree_at_turn_1_and_cost_nothing_again(
    measure: Any, models: Any, own_home: Path, coloured: Path
) -> None:
    jobs = jobs_file(coloured)
    uncached, _ = measure("--jobs", jobs, *SMALL, "--method", "captions", "--offline")
    assert uncached.exit_code == 3 and "No cached reply" in uncached.stderr and models.calls == []
    done, figures = measure("--jobs", jobs, *SMALL)
    assert done.exit_code == 0, done.stderr
    texts = ("captions", "summary", "keywords", "cot")
    assert set(figures["recall"]) == {"single turn", "rocchio", *texts}
    assert len({tuple(recall(figures, each)[:2]) for each in texts}) == 1
    first = [[run["queries"][:2] for run in figures["runs"][each]] for each in texts]
    assert first[0] == first[1] == first[2] == first[3]
    n = models.n_calls
    again, _ = measure("--jobs", jobs, *SMALL)
    assert models.n_calls == n and "from the cache" in again.stderr
    assert measure("--jobs", jobs, *SMALL, "--offline")[1] == figures
    stopped, _ = measure("--jobs", jobs, *SMALL, "--set", "seed=3", "--max-cost", "0.0000001")
    assert stopped.exit_code == 7 and "1 query left out: a: Cost limit reached" in stopped.stderr


def test_a_setting_changes_the_figures(measure: Any, models: Any, coloured: Path) -> None:
    given = ("--jobs", jobs_file(coloured), "--turns", "4", "--set", "k=6")
    usual: dict[str, Any] = {}
    for method, setting in (("captions", "captioned=1"), ("keywords", "prefix=A green"), ("rocchio", "beta=0")):
        usual[method] = usual.get(method) or measure(*given, "--method", method)[1]
        done, changed = measure(*given, "--method", method, "--set", setting)
        assert done.exit_code == 0 and changed["runs"] != usual[method]["runs"], setting


@pytest.mark.integration
def test_phrases_of_a_knowledge_base_and_the_preset_of_the_paper(
    measure: Any, models: Any, coloured: Path, folder_kb: str
) -> None:
    given = ("--jobs", jobs_file(coloured), "--method", "captions", *SMALL, "--captioner", "phrases", "--kb", folder_kb)
    _, usual = measure(*given)
    assert models.calls == [] and "plumage" in usual["runs"]["captions"][0]["queries"][1]
    one = measure(*given, "--set", "phrases=1")[1]["runs"]["captions"][0]["queries"][1]
    assert len(one) < len(usual["runs"]["captions"][0]["queries"][1])
    text = f"{QUERY} " * 20
    Path("jobs.jsonl").write_text(json.dumps({"query_id": "a", "text": text, "candidates": [], "relevant": ["x", next(
        path.relative_to(coloured).as_posix() for path in sorted(coloured.rglob("*.png")))]}))  # fmt: skip
    done, _ = measure("--jobs", "jobs.jsonl", "--method", "none", *SMALL, "--preset", "paper")
    assert "queries cut off" in done.stderr
    assert "1 relevant photo not found in the collection" in done.stderr


def test_msr_vtt_is_searched_in_the_drawn_frames_of_all_clips(
    papers: Any, coloured: Path, plain_encoders: None
) -> None:
    photos = sorted(coloured.rglob("*.png"))
    from PIL import Image

    for clip in range(3):
        Path(f"frames/video{clip}").mkdir(parents=True)
        for frame in range(12):
            Image.open(photos[clip * 12 + frame]).convert("RGB").save(f"frames/video{clip}/{frame:03}.jpg")
    content = {
        "videos": [{"video_id": f"video{clip}", "split": "train"} for clip in range(3)],
        "sentences": [
            {"video_id": f"video{clip}", "sen_id": clip * 2 + i, "caption": text}
            for clip in range(3)
            for i, text in enumerate(("a red bird", "a blue bird with a white belly"))
        ],
    }
    Path("videodatainfo.json").write_text(json.dumps(content))
    done = papers(
        "feedback", "--images", "frames", "--jobs", "videodatainfo.json", "--method", "rocchio", "--turns", "1",
        "--set", "k=20", "--format", "json",
    )  # fmt: skip
    figures = json.loads(done.stdout)
    assert done.exit_code == 0 and figures["n_queries"] == 6
    assert {run["n_relevant"] for run in figures["runs"]["rocchio"]} == {10}
    assert recall(figures, "rocchio")[1] == 1.0  # two turns of 20 show all 30 drawn frames


@pytest.mark.integration
def test_a_query_that_fails_is_left_out_and_named(measure: Any, models: Any, own_home: Path, coloured: Path) -> None:
    file = Path(jobs_file(coloured))
    file.write_text(file.read_text().replace("a blue bird with a black tail", "zzz"))
    done, figures = measure("--jobs", str(file), "--method", "none", *SMALL)
    assert done.exit_code == 7 and figures["n_queries"] == 1 and list(figures["failed"]) == ["b"]
    assert "1 query left out: b: The encoder" in done.stderr
    kept = sum(1 for _ in (own_home / "feedback").rglob("none.sqlite"))
    file.write_text(file.read_text().replace("zzz", "a blue bird with a black tail"))
    assert kept == 1 and measure("--jobs", str(file), "--method", "none", *SMALL)[0].exit_code == 0
    assert len(list((own_home / "feedback").rglob("none.sqlite"))) == kept, "a run without failures leaves no file"
    models.script = lambda call: Answer(refusal="no") if call.images else "a bird"
    done, figures = measure("--jobs", jobs_file(coloured), "--method", "captions", *SMALL)
    assert done.exit_code == 7 and "images could not be captioned" in done.stderr


@pytest.mark.integration
def test_a_provider_that_is_down_exits_with_6_and_the_same_command_continues(
    measure: Any, models: Any, own_home: Path, coloured: Path
) -> None:
    command = ("--jobs", jobs_file(coloured), "--method", "captions", *SMALL)
    script, models.script = models.script, lambda _: Status(status=404)
    done, _ = measure(*command)
    assert done.exit_code == 6 and done.stdout == ""
    assert "error: Every query failed: m@127.0.0.1" in done.stderr and ": 404" in done.stderr
    assert "run the same command again" in done.stderr
    models.script = script
    assert measure(*command)[0].exit_code == 0


@pytest.mark.integration
def test_queries_that_were_not_denoised_exit_with_7_also_when_resumed(
    measure: Any, models: Any, own_home: Path, coloured: Path
) -> None:
    script = models.script
    models.script = lambda call: script(call) if call.images else "Keywords: bird"
    file = Path(jobs_file(coloured))
    command = ("--jobs", str(file), "--method", "captions", "--method", "cot", *SMALL)
    done, figures = measure(*command)
    assert recall(figures, "cot") == recall(figures, "captions")
    counted = [line for line in done.stderr.splitlines() if "could not be denoised" in line]
    assert done.exit_code == 7 and len(counted) == 1

    # A failed query keeps the file of finished ones, in which those without denoising are not.
    file.write_text(file.read_text().replace("a blue bird with a black tail", "zzz"))
    assert [measure(*command)[0].exit_code for _ in range(2)] == [7, 7]
    again = measure(*command)[0].stderr
    assert again == measure(*command)[0].stderr and "could not be denoised" in again


def test_a_sample_of_queries_and_the_intervals_follow_the_seed(measure: Any) -> None:
    def names(*more: str) -> tuple[list[str], Any, Any]:
        _, figures = measure("--method", "none", *SMALL, *more)
        return [run["query_id"] for run in figures["runs"]["none"]], figures["gain"], figures["recall"]["none"]

    assert {len(names("--sample", "2", "--seed", str(seed))[0]) for seed in range(3)} == {2}
    assert len({tuple(names("--sample", "2", "--seed", str(seed))[0]) for seed in range(6)}) > 1
    assert names("--resamples", "100") != names("--resamples", "150")


def test_bad_input(papers: Any, coloured: Path, plain_encoders: None) -> None:
    def fails(*more: str, said: str, images: str = str(coloured)) -> None:
        done = papers("feedback", "--images", images, "--method", "none", *more)
        assert done.exit_code in (2, 5) and said in done.stderr, done.stderr

    fails("--query", "a bird", said="expected a text with {name}")
    Path("jobs.jsonl").write_text(json.dumps({"query_id": "a", "text": "a red bird", "candidates": []}))
    fails("--jobs", "jobs.jsonl", said="has no query with relevant images")
    Path("jobs.jsonl").write_text(json.dumps({"query_id": "a", "text": "red", "candidates": [], "relevant": ["x"]}))
    fails("--jobs", "jobs.jsonl", said="has none of the relevant images")
    fails(said="are in no folders", images=str(coloured / "red_bird"))
