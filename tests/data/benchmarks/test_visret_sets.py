"""Readers of the data sets of VisRet and interactive retrieval, on small files of the published form."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from data.benchmarks.retrieval.benchmark import Benchmark
from data.benchmarks.retrieval.coco_hard import hardest
from data.benchmarks.retrieval.published import read_benchmark
from data.errors import BadInput, UsageError


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def lines(*entries: Any) -> str:
    return "".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in entries)


def read(path: Path, **more: Any) -> Benchmark:
    found = read_benchmark(path, **more)
    assert found is not None
    return found


GOOSE, HERON = "1_Aves_Branta_leucopsis", "2_Aves_Ardea_cinerea"
ONE = {
    "images": {f"{GOOSE}/a.jpg": 0, f"{GOOSE}/b.jpg": 1},
    "answer": ["black", "black (with white)"],
    "question": "What colour  are its feet?",
    "sn": "Branta leucopsis",
}
TWO = {
    "images": {"entity_1": {f"{GOOSE}/a.jpg": 1}, "entity_2": {f"{HERON}/c.jpg": 0, f"{HERON}/d.jpg": 1}},
    "answer": ["The heron."],
    "question": "Which one has the longer bill?",
    "sn": ["Branta leucopsis", "Ardea cinerea"],
}


def test_a_question_about_one_species_is_one_query_over_its_photos(tmp_path: Path) -> None:
    other = {key: value for key, value in ONE.items() if key != "sn"}  # the cleaned file of VisRet may lack it
    found = read(write(tmp_path / "visual_rag.jsonl", lines(ONE, other)))
    assert (found.name, [query.query_id for query in found.queries]) == ("Visual-RAG", ["0", "1"])
    for query in found.queries:
        assert (query.text, query.entity, query.is_question) == ("What colour are its feet?", None, True)
        assert query.relevant == (f"{GOOSE}/b.jpg",)
    assert found.pools["0"] == (f"{GOOSE}/a.jpg", f"{GOOSE}/b.jpg")
    assert {question.entities for question in found.questions} == {("Branta leucopsis",)}
    assert (found.questions[0].answers, found.questions[0].queries) == (("black", "black (with white)"), ("0",))


def test_a_question_about_two_species_is_a_query_over_the_photos_of_each(tmp_path: Path) -> None:
    found = read(write(tmp_path / "me.jsonl", lines(TWO)))
    assert found.name == "Visual-RAG-ME"
    assert [(q.query_id, q.entity, q.text) for q in found.queries] == [
        ("0_entity_1", "Branta leucopsis", TWO["question"]),
        ("0_entity_2", "Ardea cinerea", TWO["question"]),
    ]
    assert found.pools["0_entity_2"] == (f"{HERON}/c.jpg", f"{HERON}/d.jpg")
    (question,) = found.questions
    assert question.queries == ("0_entity_1", "0_entity_2")
    assert question.entities == ("Branta leucopsis", "Ardea cinerea")


def test_the_published_sets_have_the_pools_of_table_1(shared: Path) -> None:
    found = read(shared / "benchmarks" / "visual_rag_me.jsonl")
    assert (len(found.queries), len(found.questions)) == (100, 50)
    assert round(sum(map(len, found.pools.values())) / 100) == 263
    assert round(sum(len(query.relevant or ()) for query in found.queries) / 100, 1) == 20.8
    for query in found.queries:  # every query is searched in the photos of its own species
        names = {Path(image).parent.name.replace("_", " ") for image in found.pools[query.query_id]}
        assert len(names) == 1 and names.pop().endswith(query.entity or "-")
    hard = read(shared / "benchmarks" / "inquire_rerank_hard.json")
    assert (hard.name, len(hard.queries)) == ("INQUIRE-Rerank-Hard", 59)
    assert Counter(map(len, hard.pools.values())) == {100: 59}
    assert round(sum(len(query.relevant or ()) for query in hard.queries) / 59, 1) == 12.5


@pytest.mark.parametrize(
    ("entries", "error"),
    [
        ([ONE, "{"], "line 2: expected a JSON object"),
        ([ONE, "[]"], r"line 2: expected a JSON object, got \[\]"),
        ([{**ONE, "images": [1]}], "line 1: expected an object as 'images'"),
        ([{**ONE, "images": {}}], "line 1: a species has no images"),
        ([{**ONE, "images": {"a.jpg": 2}}], "line 1: expected image paths with 0 or 1, got 'a.jpg': 2"),
        ([{**ONE, "images": {"a b.jpg": 1}}], "got 'a b.jpg': 1"),
        ([{**ONE, "answer": "black"}], "expected a list as 'answer'"),
        ([{**ONE, "question": " "}], "'question' is empty"),
        ([{**ONE, "sn": ["a", "b"]}], "expected as many names in 'sn' as species, 1, got 2"),
        (['{"question": "a?", "answer": ["b"], "images": {"a.jpg": 0, "a.jpg": 1}}'], "a key is repeated"),
        ([{**TWO, "images": {"entity_1": {"a.jpg": 1}}}], "expected images of entity_1 and entity_2, got entity_1"),
        ([TWO, ONE], "line 2: expected 2 species as above, got 1"),
    ],
)
def test_invalid_questions_are_refused_with_their_line(tmp_path: Path, entries: Any, error: str) -> None:
    with pytest.raises(BadInput, match=error):
        read_benchmark(write(tmp_path / "x.jsonl", lines(*entries)))


def test_other_json_lines_are_jobs_and_these_sets_have_no_splits(tmp_path: Path) -> None:
    assert read_benchmark(write(tmp_path / "jobs.jsonl", lines({"query_id": "1", "text": "a"}))) is None
    with pytest.raises(UsageError, match="is one split"):
        read_benchmark(write(tmp_path / "x.jsonl", lines(ONE)), split="test")


COCO = {
    "images": [{"id": n, "file_name": f"{n}.jpg"} for n in (1, 2, 3)],
    "annotations": [{"id": 10 * n + i, "image_id": n, "caption": f"photo {n}"} for n in (1, 2, 3) for i in (1, 0)],
}


def test_the_hardest_captions_of_coco_are_those_of_the_lowest_mean_ndcg(tmp_path: Path) -> None:
    file = write(tmp_path / "captions_val2017.json", COCO)
    ranks = {  # caption -> rank of its photo, by two runs
        10: (1, 3),  # 1.00 + 0.50
        20: (2, 2),  # 0.63 + 0.63
        30: (1, 1),
    }
    runs = []
    for i in (0, 1):
        rows = []
        for caption, of in ranks.items():
            others = [f"{n}.jpg" for n in (1, 2, 3) if n != caption // 10]
            photos = [*others[: of[i] - 1], f"{caption // 10}.jpg", *others[of[i] - 1 :]]
            rows += [f"{caption} Q0 {photo} {r} {1 / r} x" for r, photo in enumerate(photos, 1)]
        runs.append(write(tmp_path / f"{i}.trec", "\n".join(rows)))
    one = read(write(tmp_path / "one.json", hardest(file)))
    assert (one.name, [query.query_id for query in one.queries]) == ("COCO", ["10", "20", "30"])
    hard = read(write(tmp_path / "hard.json", hardest(file, runs, n=2)))
    assert (hard.name, len(hard.collection)) == ("COCO-Hard", 3)  # all photos stay
    assert [(query.query_id, query.relevant) for query in hard.queries] == [("10", ("1.jpg",)), ("20", ("2.jpg",))]
    assert [each["id"] for each in hardest(file, runs, n=1)["annotations"]] == [20]  # type: ignore[attr-defined]
    command = [sys.executable, "-m", "data.benchmarks.retrieval.coco_hard", str(file)]
    done = subprocess.run([*command, *map(str, runs)], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["info"]["description"] == "COCO-Hard"
    wrong = write(tmp_path / "wrong.trec", "7 Q0 1.jpg 1 1 x\n")
    done = subprocess.run([*command, str(wrong)], capture_output=True, text=True)
    assert done.returncode == 1 and "wrong.trec ranks none of the captions" in done.stderr


def clips(*names: str, split: str) -> dict[str, Any]:
    videos = [
        {"video_id": n, "id": i, "split": split, "url": "u", "start time": 0.0, "end time": 12.0}
        for i, n in enumerate(names)
    ]
    sentences = [
        {"sen_id": 2 * i + j, "video_id": n, "caption": f"{n} {j}"} for i, n in enumerate(names) for j in (0, 1)
    ]
    return {"info": {}, "videos": videos, "sentences": sentences}


@pytest.fixture
def msr_vtt(tmp_path: Path) -> Path:
    """Three clips in the two published files; the first two are of one video."""
    write(tmp_path / "train_val_videodatainfo.json", clips("video0", "video1", split="train"))
    write(tmp_path / "test_videodatainfo.json", clips("video7010", split="test"))
    for clip, n in (("video0", 14), ("video1", 10), ("video7010", 4)):
        for frame in range(1, n + 1):
            write(tmp_path / "frames" / clip / f"{frame:03d}.jpg", "")
    return tmp_path


def test_a_caption_finds_ten_frames_of_its_own_clip(msr_vtt: Path) -> None:
    found = read(msr_vtt / "test_videodatainfo.json")  # the other file is found beside it
    assert found.name == "MSR-VTT"
    assert {query.query_id for query in found.queries} >= {"video0-0", "video0-1", "video1-2", "video7010-0"}
    frames = {query.query_id: query.relevant or () for query in found.queries}
    assert [len(frames[query]) for query in ("video0-0", "video1-2", "video7010-0")] == [10, 10, 4]
    assert frames["video0-0"] == frames["video0-1"]  # one draw for all captions of a clip
    assert all(image.startswith("video0/") for image in frames["video0-0"])  # nothing of the other clip of its video
    assert len(found.collection) == 24 and read(msr_vtt / "train_val_videodatainfo.json").collection == found.collection
    assert found.image_folder().path == msr_vtt / "frames"
    only = read(msr_vtt / "train_val_videodatainfo.json", split="test")
    assert {query.query_id for query in only.queries} == {"video7010-0", "video7010-1"}


def test_wrong_files_of_msr_vtt_are_refused(msr_vtt: Path) -> None:
    file = msr_vtt / "one.json"
    own = clips("video0", split="train")
    cases = (
        ({**own, "videos": own["videos"] * 2}, "lists the clip video0 twice"),
        ({**own, "sentences": own["sentences"] * 2}, "two captions with the sen_id 0"),
        ({**own, "sentences": []}, "no caption of the clip video0"),
        ({**own, "videos": []}, "no clips"),
        (clips("video0", "video5", split="train"), "No frames of the clip video5"),
        (clips("video5", split="train"), "expected a folder of that name"),
    )
    for content, error in cases:
        with pytest.raises(BadInput, match=error):
            read_benchmark(write(file, content))
    with pytest.raises(BadInput, match=r"No frames of the clip video0 in .*empty"):
        read_benchmark(write(file, own), images=msr_vtt / "empty")
    write(msr_vtt / "test_videodatainfo.json", "[]")
    with pytest.raises(BadInput, match="expected lists of videos"):
        read_benchmark(msr_vtt / "train_val_videodatainfo.json")
