import json
import re
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from papers.answers.replies import Verdict, read_verdict
from papers.answers.report import AnswerRow
from tests.conftest import Outcome
from tests.servers.openai_server import Answer, Call, OpenAIServer, Reaction

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


def test_wrong_input_is_refused_before_anything_is_asked(papers: Papers, folder: Path, server: OpenAIServer) -> None:
    (folder / "wrong.trec").write_text("0 Q0 a.jpg 1 1 x\n")
    cases: list[tuple[tuple[str, ...], int, str]] = [
        (("vr.jsonl", "wrong.trec"), 5, "wrong ranks 'a.jpg' for query '0', which is not an image of the query"),
        (("vr.jsonl", "clip.trec", "--images", "drawn"), 5, "hint: --images DIR"),
        (("vr.jsonl", "-k", "3"), 2, "are for the photos of a RUN"),
        (("vr.jsonl", "--draw"), 3, "[llm.image]"),
        (("vr.jsonl", "--draw", "--drawings", "drawn"), 2, "Use one of them"),
        (("vr.jsonl", "--output", "vr.jsonl"), 2, "would overwrite an input"),
    ]
    for arguments, code, message in cases:
        done = papers("answers", *arguments)
        assert (done.exit_code, done.stdout, server.n_calls) == (code, "", 0), arguments
        assert message in done.stderr


def test_a_verdict_is_one_score_from_0_to_1_with_its_marks() -> None:
    for text, verdict in (
        ("Score: 1", Verdict(score=1)),
        ("**Score:** 0.5 | Likely Hallucination | Redundant", Verdict(score=0.5, hallucination=True, redundant=True)),
        ("Score: .5 | (no hallucination, but redundant words)", Verdict(score=0.5)),
        ("The colour fits.\nScore: 0,5 | Redundant", Verdict(score=0.5, redundant=True)),
        ("Score: -0.5 | Likely Hallucination", Verdict(score=0, hallucination=True)),
        *((text, None) for text in ("1. The colour fits.", "50 % | Redundant", "Score: 1 or, strictly, Score: 0.5",
                                    "Score: 5/10", "Score: 8 out of 10", "Score: 50%", "Score: 7", "Right.", "")),
    ):  # fmt: skip
        assert read_verdict(text) == verdict, text
