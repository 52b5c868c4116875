"""`python -m papers answers` against a scripted reader and judge: mechanics, not quality."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from papers.answers.replies import Verdict, read_answer, read_verdict
from papers.answers.report import AnswerRow
from tests.conftest import ROOT, Outcome
from tests.servers.openai_server import Answer, Call, OpenAIServer, Reaction, Status

Papers = Callable[..., Outcome]
COLOURS = ("red", "lime", "blue")
N_QUESTIONS = 4


def colour_of(picture: bytes) -> str:
    """Return the colour of a picture of one colour."""
    return COLOURS[int(np.argmax(np.asarray(Image.open(BytesIO(picture)).convert("RGB")).mean(axis=(0, 1))))]


def model(call: Call) -> Reaction:
    """Read the colours of the pictures; a judge gives 1 for a reference word, and otherwise a hallucination."""
    if "Grade a student's answer" in call.text:
        asked = call.text.rpartition("Question: ")[2]
        references = re.search(r"Reference answer: (.*)", asked)[1].split(" OR ")  # type: ignore[index]
        answer = asked.partition("Student answer: ")[2]
        return "Score: 1" if any(each in answer for each in references) else "Score: 0 | Likely Hallucination"
    if not call.images:
        return "Answer: lime."
    seen = " and ".join(dict.fromkeys(map(colour_of, call.images)))
    return f"### Reasoning: I see {seen}.\n### Answer: {seen}"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OpenAIServer]:
    with OpenAIServer(model) as running:
        (tmp_path / "fieldmark.toml").write_text(
            "".join(
                f'[llm.{kind}]\nmodel = "{kind}"\nbase_url = "{running.base_url}"\nprice_in = 1.0\nprice_out = 1.0\n'
                "max_concurrent = 2\n"
                for kind in ("vision", "text")
            )
        )
        yield running


def photo(path: Path, colour: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (80, 60), colour).save(path)


@pytest.fixture
def folder(tmp_path: Path, server: OpenAIServer) -> Path:
    """Questions about one species; the answer is in the second photo of the run, and in the drawing."""
    rows, run = [], []
    for i in range(N_QUESTIONS):
        names = [f"{i}_Aves_Genus_a{i}/{colour}.png" for colour in COLOURS]
        for name, colour in zip(names, COLOURS, strict=True):
            photo(tmp_path / "photos" / name, colour)
        photo(tmp_path / "drawn" / f"{i}.png", "blue" if i else "red")
        question = f"What colour is the bird {i}?"
        labels = {name: int("blue" in name) for name in names}
        rows.append({"question": question, "answer": ["cyan", "blue"], "images": labels, "sn": f"Genus a{i}"})
        run += [f"{i} Q0 {names[place]} {rank} {1 / rank} x" for rank, place in enumerate((0, 2, 1), 1)]
    (tmp_path / "vr.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "clip.trec").write_text("\n".join(run) + "\n")
    return tmp_path


def figures(done: Any) -> dict[str, Any]:
    return {each["evidence"]: each for each in json.loads(done.stdout)["figures"]}


def test_answers_are_measured_by_evidence(papers: Papers, folder: Path, server: OpenAIServer) -> None:
    run = ("answers", "vr.jsonl", "clip.trec", "-k", "1", "-k", "2", "--drawings", "drawn")
    assert papers(*run, "--offline").exit_code == 3 and server.n_calls == 0
    done = papers(*run, "--output", "rows.jsonl", check=True)
    lines = done.stdout.splitlines()
    assert lines[0] == "4 questions: mean score with 95 % interval, in percent"
    assert [re.split(r" {2,}", line)[3] for line in lines[3:7]] == ["0.0", "75.0", "0.0", "100.0"]
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    assert set(rows[0]) == set(AnswerRow.__dataclass_fields__)
    assert [row["evidence"] for row in rows[:4]] == ["no image", "drawing", "clip top-1", "clip top-2"]
    assert [row["score"] for row in rows[:4]] == [0, 0, 0, 1]  # the first drawing is red
    assert rows[3]["images"] == ["0_Aves_Genus_a0/red.png", "0_Aves_Genus_a0/blue.png"]
    assert (rows[3]["answer"], rows[3]["reasoning"]) == ("red and blue", "I see red and blue.")
    assert (rows[3]["outcome"], rows[3]["references"]) == ("judged", ["cyan", "blue"])
    assert rows[0]["hallucination"] and rows[0]["judgement"] == "Score: 0 | Likely Hallucination"
    n_calls = server.n_calls
    asked = {json.dumps(call.payload, sort_keys=True) for call in server.calls}
    assert len(asked) == 2 * 4 * N_QUESTIONS - 1  # two red answers to the first question are judged at once
    again = papers(*run, "--offline", "--format", "json", "--resamples", "500", "--seed", "3", check=True)
    assert server.n_calls == n_calls and "0 model calls, 32 from the cache" in again.stderr
    found = figures(again)
    assert {name: each["accuracy"]["micro"] for name, each in found.items()} == {
        "no image": 0, "drawing": 0.75, "clip top-1": 0, "clip top-2": 1,
    }  # fmt: skip
    assert found["clip top-1"]["hallucination"] == 1 and found["clip top-2"]["images"] == 2
    (test,) = (t for t in json.loads(again.stdout)["tests"] if t["evidence"] == "drawing")
    assert (test["baseline"], test["test"]["difference"]) == ("no image", 0.75)
    other = papers(*run, "--offline", "--format", "json", "--resamples", "100", "--seed", "4", check=True)
    assert figures(other)["drawing"]["accuracy"]["micro_interval"] != found["drawing"]["accuracy"]["micro_interval"]


def test_the_reader_gets_each_picture_with_its_species(papers: Papers, folder: Path, server: OpenAIServer) -> None:
    papers("answers", "vr.jsonl", "clip.trec", "-k", "2", check=True)
    asked = next(call for call in server.calls if len(call.images) == 2 and "bird 0" in call.text)
    system, user = asked.payload["messages"]
    assert system["role"] == "system" and "believe the picture" in system["content"]
    assert [part.get("text", "picture") for part in user["content"]] == [
        "What colour is the bird 0?", "Photo 1: Genus a0", "picture", "Photo 2: Genus a0", "picture",
    ]  # fmt: skip
    assert [colour_of(picture) for picture in asked.images] == ["red", "blue"]
    assert {Image.open(BytesIO(picture)).size for picture in asked.images} == {(80, 60)}
    assert asked.payload["max_tokens"] == 1000
    judged = next(call for call in server.calls if "Student answer: red and blue" in call.text)
    assert judged.payload["model"] == "text" and "Reference answer: cyan OR blue\n" in judged.text


def test_two_species_share_the_photos_or_have_k_each(papers: Papers, folder: Path, server: OpenAIServer) -> None:
    images: Any = {f"entity_{i}": {} for i in (1, 2)}
    run = []
    for i in (1, 2):
        for n in range(10):
            name = f"{i}_Aves_Genus_b{i}/{n}.png"
            photo(folder / "photos" / name, COLOURS[n % 3])
            images[f"entity_{i}"][name] = n % 2
            run.append(f"0_entity_{i} Q0 {name} {n + 1} {1 - n / 10} x")
    question = {
        "question": "Which is darker?",
        "answer": ["the first"],
        "images": images,
        "sn": ["Genus b1", "Genus b2"],
    }
    (folder / "me.jsonl").write_text(json.dumps(question))
    (folder / "me.trec").write_text("\n".join(run) + "\n")
    counts = {}
    for per in ("question", "entity"):
        papers("answers", "me.jsonl", "me.trec", "--per", per, "--output", "o.jsonl", check=True)
        rows = [json.loads(line) for line in (folder / "o.jsonl").read_text().splitlines()]
        counts[per] = {row["evidence"]: Counter(image[0] for image in row["images"]) for row in rows}
    assert counts["question"] == {"no image": {}, "me top-1": {"1": 1, "2": 1}, "me top-10": {"1": 5, "2": 5}}
    assert counts["entity"] == {"no image": {}, "me top-1": {"1": 1, "2": 1}, "me top-10": {"1": 10, "2": 10}}
    asked = next(call for call in server.calls if len(call.images) == 10)
    assert "set the two species side by side" in asked.text
    assert asked.text.index("Photo 5: Genus b1") < asked.text.index("Photo 6: Genus b2")


def test_refusals_cut_answers_and_unreadable_judgements_score_0_and_are_counted(
    papers: Papers, folder: Path, server: OpenAIServer
) -> None:
    def faulty(call: Call) -> Reaction:
        if "Grade" in call.text:
            return "Quite good." if "bird 2" in call.text.rpartition("Question: ")[2] else model(call)
        if "bird 0" in call.text:
            return Answer(text=None, refusal="I cannot help with that.")
        if "bird 1" in call.text:
            return Answer(text="### Reasoning: on and on", finish="length")
        return "### Answer: blue"

    server.script = faulty
    done = papers("answers", "vr.jsonl", "--format", "json", "--output", "rows.jsonl", check=True)
    (found,) = figures(done).values()
    assert found["faults"] == {"refused": 1, "cut off": 1, "no answer": 0, "unreadable judgement": 1}
    assert (found["n"], found["accuracy"]["micro"]) == (4, 0.25)
    for line in ("1 unreadable judgement; counted as 0", "1 answer refused; counted", "1 answer cut off; counted"):
        assert line in done.stderr
    assert "Counted as 0" in papers("answers", "vr.jsonl", check=True).stdout


def test_missing_evidence_is_an_error_of_its_row_alone(papers: Papers, folder: Path, server: OpenAIServer) -> None:
    lines = (folder / "clip.trec").read_text().splitlines()
    (folder / "clip.trec").write_text("\n".join(line for line in lines if not line.startswith("2 ")) + "\n")
    (folder / "photos" / "1_Aves_Genus_a1" / "red.png").write_bytes(b"no image")
    done = papers("answers", "vr.jsonl", "clip.trec", "--output", "rows.jsonl", "--format", "json")
    assert done.exit_code == 7
    found = figures(done)
    assert {name: (each["n"], each["n_errors"]) for name, each in found.items()} == {
        "no image": (4, 0), "clip top-1": (2, 2), "clip top-10": (3, 1),
    }  # fmt: skip
    assert "3 answers not measured: " in done.stderr and "clip has no photos for query 2" in done.stderr
    assert "1 answer from fewer pictures" in done.stderr
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    (row,) = (row for row in rows if row["question_id"] == "1" and row["evidence"] == "clip top-10")
    assert len(row["images"]) == 2 and row["note"].startswith("left out: ") and "red.png" in row["note"]


def test_drawings_are_those_of_visret_and_paid_for_once(papers: Papers, folder: Path, server: OpenAIServer) -> None:
    with (folder / "fieldmark.toml").open("a") as file:
        file.write(f'[llm.image]\nmodel = "i"\nbase_url = "{server.base_url}"\nprice_per_request = 0.5\n')
    again = ("answers", "vr.jsonl", "--draw")
    planned = papers(*again, "--dry-run", check=True).stdout
    assert re.search(r"calls, without retries +24\n", planned) and "$6.0" in planned  # 12 drawings and little else
    papers(*again, "--output", "rows.jsonl", check=True)
    (drawn,) = {Path(call.path).name for call in server.calls if not call.payload.get("messages")}
    asked = [call.payload for call in server.calls if call.path.endswith(drawn)]
    assert [(each["n"], each["prompt"]) for each in asked] == [(3, "Generate a small image of the Answer: lime")] * 1
    n_calls = server.n_calls
    papers(*again, check=True)
    assert server.n_calls == n_calls
    papers(*again, "--preset", "paper", check=True)
    (prompt,) = [call.payload["prompt"] for call in server.calls[n_calls:] if call.path.endswith(drawn)]
    assert prompt == "Generate a small image of the Answer: lime."


def test_a_cost_limit_ends_a_run_that_a_higher_one_completes(
    papers: Papers, folder: Path, server: OpenAIServer
) -> None:
    (folder / "far" / "off").mkdir(parents=True)
    copy = shutil.copy(folder / "vr.jsonl", folder / "far" / "off")
    shown = papers("answers", str(copy), "clip.trec", "--dry-run", check=True).stdout  # no photos near it
    assert re.search(r"model calls, without retries +24", shown) and server.n_calls == 0
    done = papers("answers", "vr.jsonl", "clip.trec", "--max-cost", "0.006")
    assert done.exit_code == 7 and "Cost limit reached" in done.stderr and 0 < server.n_calls < 24
    papers("answers", "vr.jsonl", "clip.trec", "--max-cost", "1", check=True)
    assert server.n_calls == 24  # each reply is paid for once


def test_a_provider_that_is_down_is_an_error_not_a_score(papers: Papers, folder: Path, server: OpenAIServer) -> None:
    server.script = lambda _: Status(status=404, error={"message": "no such model"})
    done = papers("answers", "vr.jsonl")
    assert (done.exit_code, done.stdout) == (6, "") and "no such model" in done.stderr


@pytest.mark.integration
def test_a_killed_run_resumes_where_it_stopped(papers: Papers, folder: Path, server: OpenAIServer) -> None:
    released = threading.Event()

    def holding(call: Call) -> Reaction:
        if call.number > 9:
            released.wait(300)
        return model(call)

    server.script = holding
    command = [sys.executable, "-m", "papers", "answers", "vr.jsonl", "clip.trec"]
    process = subprocess.Popen(
        command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    until = time.monotonic() + 300
    while server.now < 2 or server.n_calls < 11:
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.communicate()
    released.set()
    server.script = model
    papers("answers", "vr.jsonl", "clip.trec", check=True)
    repeated = Counter(json.dumps(call.payload, sort_keys=True) for call in server.calls)
    assert sum(repeated.values()) - len(repeated) <= 4  # those in flight: two of each model
    assert len(repeated) == 2 * 3 * N_QUESTIONS


def test_wrong_input_is_refused_before_anything_is_asked(papers: Papers, folder: Path, server: OpenAIServer) -> None:
    (folder / "wrong.trec").write_text("0 Q0 a.jpg 1 1 x\n")
    cases: list[tuple[tuple[str, ...], int, str]] = [
        (("clip.trec",), 2, "clip.trec has no questions with answers"),
        (("vr.jsonl", "clip.trec", "clip.trec"), 2, "Two runs have the same name"),
        (("vr.jsonl", "wrong.trec"), 5, "wrong ranks 'a.jpg' for query '0', which is not an image of the query"),
        (("vr.jsonl", "none.trec"), 5, "none.trec does not exist"),
        (("vr.jsonl", "clip.trec", "--images", "drawn"), 5, "hint: --images DIR"),
        (("vr.jsonl", "-k", "3"), 2, "are for the photos of a RUN"),
        (("vr.jsonl", "--draw"), 3, "[llm.image]"),
        (("vr.jsonl", "--draw", "--drawings", "drawn"), 2, "Use one of them"),
        (("vr.jsonl", "--output", "vr.jsonl"), 2, "would overwrite an input"),
        (("vr.jsonl", "a=clip.trec", "--output", "clip.trec"), 2, "would overwrite an input"),
        (("vr.jsonl", "--per", "pair"), 2, "per"),
    ]
    for arguments, code, message in cases:
        done = papers("answers", *arguments)
        assert (done.exit_code, done.stdout, server.n_calls) == (code, "", 0), arguments
        assert message in done.stderr


def test_reader_and_judge_must_be_set(papers: Papers, folder: Path) -> None:
    (folder / "fieldmark.toml").write_text("")
    done = papers("answers", "vr.jsonl")
    assert done.exit_code == 3 and "[llm.vision]" in done.stderr


def test_the_answer_follows_the_last_mark() -> None:
    for text, answer, reasoning in (
        ("### Reasoning: dark feet.\n### Answer: Black.", "Black.", "dark feet."),
        ("**Reasoning:** a\nb\n\n**Answer:** Black and\nwhite.", "Black and\nwhite.", "a\nb"),
        ("Reasoning: the answer: unclear\nAnswer: green\nAnswer: black", "black", "the answer: unclear\nAnswer: green"),
        ("It is black.", "It is black.", ""),  # no form at all: the whole reply is the answer
        ("### Reasoning: nothing to see.\n### Answer:", "", "nothing to see."),
    ):
        read = read_answer(text)
        assert (read.answer, read.reasoning) == (answer, reasoning), text


def test_a_verdict_is_one_score_from_0_to_1_with_its_marks() -> None:
    for text, verdict in (
        ("Score: 1", Verdict(score=1)),
        ("**Score:** 0.5 | Likely Hallucination | Redundant", Verdict(score=0.5, hallucination=True, redundant=True)),
        ("Score: .5 | (no hallucination, but redundant words)", Verdict(score=0.5)),
        ("The colour fits.\nScore: 0,5 | Redundant", Verdict(score=0.5, redundant=True)),
        ("Score: 1/1", Verdict(score=1)),
        ("Score: -0.5 | Likely Hallucination", Verdict(score=0, hallucination=True)),
        ("Score: 0.5\nScore: 0.5", Verdict(score=0.5)),
        ("0.5 | Redundant", Verdict(score=0.5, redundant=True)),
        ("Score: 0 | No hallucination | Redundant: no", Verdict(score=0)),
        *((text, None) for text in ("1. The colour fits.", "50 % | Redundant", "Score: 1 or, strictly, Score: 0.5",
                                    "Score: 5/10", "Score: 8 out of 10", "Score: 50%", "Score: 7", "Right.", "")),
    ):  # fmt: skip
        assert read_verdict(text) == verdict, text
