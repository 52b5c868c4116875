import io
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from data.errors import BadInput, UsageError
from data.images.decode import read_image
from papers.datasets.benchmark import Benchmark
from papers.datasets.inquire import query_id_of, read_rerank
from papers.datasets.published import read_benchmark
from tests.conftest import CommandLine, Outcome

Papers = Callable[..., Outcome]


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def read(path: Path, **more: Any) -> Benchmark:
    found = read_benchmark(path, **more)
    assert found is not None
    return found


def lines(*entries: Any) -> str:
    return "".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in entries)


def karpathy(split: str, n: int, **more: str) -> dict[str, Any]:
    sentences = [{"raw": f"caption {n} {i}", "sentid": 10 * n + i} for i in (0, 1)]
    return {"filename": f"{n}.jpg", "split": split, "sentences": sentences} | more


CIRR = {
    "pairid": 7, "reference": "dev-1-img0", "target_hard": "dev-2-img1", "caption": "make it  red",
    "img_set": {"id": 3, "members": ["dev-1-img0", "dev-2-img1", "dev-3-img0"]},
}  # fmt: skip
CIRCO = {
    "reference_img_id": 12, "relative_caption": "has two birds", "gt_img_ids": [34, 56], "id": 0,
    "semantic_aspects": ["cardinality"],
}  # fmt: skip
CHAT = {"img": "unlabeled2017/000000000005.jpg", "dialog": ["a heron", "is it big? yes", "is it wet? no"]}
TURNS = [{"question": 0, "answer": 1}, {"question": 1, "answer": 0}]
VISDIAL = {"split": "val2018", "data": {
    "questions": ["is it big", "is it wet"], "answers": ["no", "yes"],
    "dialogs": [{"image_id": 5, "caption": "a heron", "dialog": TURNS}],
}}  # fmt: skip
GOOSE, HERON = "1_Aves_Branta_leucopsis", "2_Aves_Ardea_cinerea"
ONE = {
    "images": {f"{GOOSE}/a.jpg": 0, f"{GOOSE}/b.jpg": 1}, "answer": ["black", "black (with white)"],
    "question": "What colour  are its feet?", "sn": "Branta leucopsis",
}  # fmt: skip
TWO = {
    "images": {"entity_1": {f"{GOOSE}/a.jpg": 1}, "entity_2": {f"{HERON}/c.jpg": 0, f"{HERON}/d.jpg": 1}},
    "answer": ["The heron."], "question": "Which one has the longer bill?",
    "sn": ["Branta leucopsis", "Ardea cinerea"],
}  # fmt: skip


def test_captions_of_the_test_split_are_queries_in_each_form_of_coco(tmp_path: Path) -> None:
    images = [karpathy("train", 1), karpathy("test", 2), karpathy("val", 3)]
    file = write(tmp_path / "dataset_flickr30k.json", {"images": images})
    found = read(file)
    assert found.name == "Flickr30K" and found.collection == {"2.jpg": "2.jpg"}
    assert [(q.query_id, q.text, q.relevant) for q in found.queries] == [
        ("20", "caption 2 0", ("2.jpg",)), ("21", "caption 2 1", ("2.jpg",)),
    ]  # fmt: skip
    assert [q.query_id for q in read(file, split="validation").queries] == ["30", "31"]
    split = read(write(tmp_path / "dataset_coco.json", {"images": [karpathy("test", 2, filepath="val2014")]}))
    assert (split.name, split.collection) == ("COCO", {"2.jpg": "val2014/2.jpg"})


def test_composed_queries_have_a_reference_a_change_and_their_collection(tmp_path: Path) -> None:
    split = {"dev-2-img1": "./dev/dev-2-img1.png", "dev-1-img0": "./dev/dev-1-img0.png"}
    write(tmp_path / "image_splits" / "split.rc2.val.json", split)
    cirr = read(write(tmp_path / "captions" / "cap.rc2.val.json", [CIRR]))
    (query,) = cirr.queries
    assert (query.reference_image, query.modification) == ("dev/dev-1-img0.png", "make it red")
    assert query.relevant == ("dev-2-img1",) and set(cirr.collection) == set(split)
    assert cirr.subsets["7"] == ("dev-2-img1", "dev-3-img0") and cirr.left_out["7"] == "dev-1-img0"
    infos = {"images": [{"id": n, "file_name": f"{n:012d}.jpg"} for n in (12, 34)]}
    write(tmp_path / "COCO2017_unlabeled" / "annotations" / "image_info_unlabeled2017.json", infos)
    circo = read(write(tmp_path / "annotations" / "val.json", [CIRCO]))
    (query,) = circo.queries
    assert (query.reference_image, query.relevant) == ("unlabeled2017/000000000012.jpg", ("34", "56"))
    assert circo.collection["34"] == "unlabeled2017/000000000034.jpg" and circo.aspects == {"0": ("cardinality",)}


def test_each_round_of_a_dialogue_is_a_query(tmp_path: Path) -> None:
    write(tmp_path / "ChatIR_Protocol" / "Search_Space_val_50k.json", [CHAT["img"], "unlabeled2017/6.jpg"])
    chat = read(write(tmp_path / "dialogues" / "VisDial_v1.0_queries_val.json", [CHAT]))
    assert [q.query_id for q in chat.queries] == ["000000000005-0", "000000000005-1", "000000000005-2"]
    assert [len(q.dialogue or ()) for q in chat.queries] == [1, 2, 3] and len(chat.collection) == 2
    own = read(write(tmp_path / "visdial_1.0_val.json", VISDIAL))
    assert own.queries[2].dialogue == tuple(CHAT["dialog"])
    assert own.queries[2].relevant == ("VisualDialog_val2018/VisualDialog_val2018_000000000005.jpg",)


def test_questions_are_searched_in_the_photos_of_each_of_their_species(tmp_path: Path) -> None:
    other = {key: value for key, value in ONE.items() if key != "sn"}  # the cleaned file of VisRet may lack it
    found = read(write(tmp_path / "visual_rag.jsonl", lines(ONE, other)))
    assert (found.name, [query.query_id for query in found.queries]) == ("Visual-RAG", ["0", "1"])
    for query in found.queries:
        assert (query.text, query.entity, query.is_question) == ("What colour are its feet?", None, True)
        assert query.relevant == (f"{GOOSE}/b.jpg",)
    assert found.pools["0"] == (f"{GOOSE}/a.jpg", f"{GOOSE}/b.jpg")
    assert {question.entities for question in found.questions} == {("Branta leucopsis",)}
    assert (found.questions[0].answers, found.questions[0].queries) == (("black", "black (with white)"), ("0",))
    two = read(write(tmp_path / "me.jsonl", lines(TWO)))
    assert (two.name, two.pools["0_entity_2"]) == ("Visual-RAG-ME", (f"{HERON}/c.jpg", f"{HERON}/d.jpg"))
    assert [(q.query_id, q.entity, q.text) for q in two.queries] == [
        ("0_entity_1", "Branta leucopsis", TWO["question"]), ("0_entity_2", "Ardea cinerea", TWO["question"]),
    ]  # fmt: skip
    assert two.questions[0].queries == ("0_entity_1", "0_entity_2")


def test_invalid_files_are_refused_with_the_reason(tmp_path: Path) -> None:
    cases: list[tuple[str, Any, str]] = [
        ("x.json", [{**CIRR, "caption": " "}], "'caption' is empty"),
        ("x.json", '[{"pairid": 7, "ref', "x.json is damaged or incomplete"),
        ("x.json", {"images": [karpathy("train", 1)]}, "no photos of the split 'test'"),
        ("x.jsonl", lines(ONE, "{"), "line 2: expected a JSON object"),
        ("x.jsonl", lines({**ONE, "images": {"a.jpg": 2}}), "expected image paths with 0 or 1, got 'a.jpg': 2"),
        ("x.jsonl", '{"question": "a?", "answer": ["b"], "images": {"a.jpg": 0, "a.jpg": 1}}', "a key is repeated"),
    ]
    for name, content, error in cases:
        with pytest.raises(BadInput, match=error):
            read_benchmark(write(tmp_path / name, content))
    assert read_benchmark(write(tmp_path / "other.json", [{"query": "a"}])) is None
    assert read_benchmark(write(tmp_path / "jobs.jsonl", lines({"query_id": "1", "text": "a"}))) is None
    for name, content in (("val.json", [CIRCO]), ("v.jsonl", lines(ONE))):
        with pytest.raises(UsageError, match="is one split"):
            read_benchmark(write(tmp_path / name, content), split="test")
    with pytest.raises(BadInput, match="were not found"):
        read(write(tmp_path / "chat.json", [CHAT])).image_folder()


KNOWN = "cross orbweaver"  # a species name, and the whole text of INQUIRE's query 19
OTHER = "a purple heron dancing"
ROWS = [  # query, image, score, relevant
    (KNOWN, 11, 0.31, 1), (OTHER, 21, 0.25, 0), (KNOWN, 12, 0.35, 0),
    (OTHER, 22, 0.28, 1), (KNOWN, 13, 0.30, 1), (OTHER, 11, 0.20, 0),
]  # fmt: skip


def picture(number: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (40, 30), (number * 9 % 256, 80, 120)).save(out, "JPEG")
    return out.getvalue()


def columns(rows: Any) -> dict[str, list[Any]]:
    return {
        "image": [{"bytes": picture(i), "path": f"{i}.jpg"} for _, i, _, _ in rows],
        "query": [query for query, _, _, _ in rows],
        "relevant": [relevant for _, _, _, relevant in rows],
        "clip_score": [score for _, _, score, _ in rows],
        "inat24_image_id": [i for _, i, _, _ in rows],
        "inat24_file_name": [f"train/00001_Aves/{i}.jpg" for _, i, _, _ in rows],
        "license": ["CC0"] * len(rows),
    }


def write_parquet(path: Path, rows: Any = ROWS, drop: tuple[str, ...] = ()) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({name: cells for name, cells in columns(rows).items() if name not in drop})
    pq.write_table(table, path, row_group_size=4)


EXPECTED = {
    "19": (KNOWN, ["11", "12", "13"], ("11", "13")),
    query_id_of(OTHER): (OTHER, ["21", "22", "11"], ("22",)),
}


def relevances(jobs: Any) -> Any:
    return {job.query_id: (job.text, [i.image_id for i in job.candidates], job.relevant) for job in jobs}


def test_rows_of_inquire_become_a_job_for_each_query_and_pictures_are_written_once(tmp_path: Path) -> None:
    write_parquet(tmp_path / "data" / "test-00000-of-00002.parquet", ROWS[:3])
    write_parquet(tmp_path / "data" / "test-00001-of-00002.parquet", ROWS[3:])
    jobs = read_rerank(tmp_path)
    assert relevances(jobs) == EXPECTED
    assert [image.score for image in jobs[0].candidates] == [0.31, 0.35, 0.30]
    assert jobs[0].candidates[0].path == "train/00001_Aves/11.jpg"
    images = tmp_path / "images"
    (job, _) = read_rerank(tmp_path, images=images)
    assert [read_image(image.path).size for image in job.candidates] == [(40, 30)] * 3
    assert sorted(path.name for path in images.iterdir()) == ["11.jpg", "12.jpg", "13.jpg", "21.jpg", "22.jpg"]
    before = {path: path.stat().st_mtime_ns for path in images.iterdir()}
    read_rerank(tmp_path, images=images)
    assert {path: path.stat().st_mtime_ns for path in images.iterdir()} == before


N_IMAGES = 60
NAMES = [f"dev-{i}-img0" for i in range(N_IMAGES)]


def write_run(path: Path, lists: dict[str, list[str]]) -> None:
    rows = [f"{q} Q0 {image} {r} {1 / r} run" for q, found in lists.items() for r, image in enumerate(found, 1)]
    path.write_text("\n".join(rows) + "\n")


@pytest.fixture
def measured(cli: CommandLine, papers: Papers) -> Callable[[Path], tuple[dict[Any, Any], Outcome]]:
    """Return a function that converts a file, and returns labels -> measure -> mean of run.trec, and the table."""

    def run(file: Path) -> tuple[dict[Any, Any], Outcome]:
        papers("convert", file, "set.json", check=True)
        given = ("eval", "rerank", "run.trec", "--jobs", "set.json", "--resamples", "100")
        (found,) = json.loads(cli.call(*given, "--format", "json", check=True).stdout)["runs"]
        means = {tuple(s["labels"].items()): {m["name"]: m["macro"] for m in s["measures"]} for s in found["strata"]}
        return means, cli.call(*given, check=True)

    return run


def test_cirr_is_measured_without_the_reference_and_within_the_sets(tmp_path: Path, measured: Any) -> None:
    random, entries, lists = Random(3), [], {}
    for i in range(40):
        members = random.sample(NAMES, 6)
        entry = {"pairid": i, "reference": members[0], "target_hard": random.choice(members[1:]), "caption": "x"}
        entries.append({**entry, "img_set": {"members": members}})
        lists[str(i)] = random.sample(NAMES, 50)  # with the reference, and without some of the set
    write(tmp_path / "split.rc2.val.json", {name: f"./dev/{name}.png" for name in NAMES})
    write_run(tmp_path / "run.trec", lists)
    means, shown = measured(write(tmp_path / "cap.rc2.val.json", entries))
    for k in (1, 5, 10, 50):
        hits = [e["target_hard"] in [x for x in lists[str(e["pairid"])] if x != e["reference"]][:k] for e in entries]
        assert means[()][f"R@{k}"] == pytest.approx(np.mean(hits))
    for k in (1, 2, 3):
        hits = []
        for e in entries:
            of_set = [x for x in lists[str(e["pairid"])] if x in e["img_set"]["members"] and x != e["reference"]]
            hits.append(e["target_hard"] in of_set[:k])
        assert means[()][f"R_subset@{k}"] == pytest.approx(np.mean(hits)) and 0 < np.mean(hits) < 1
    n_missing = sum(len({*e["img_set"]["members"][1:]} - {*lists[str(e["pairid"])]}) for e in entries)
    assert f"run: {n_missing} images of the sets missing; R_subset@k counts them as not found" in shown.stderr
    head = next(line for line in shown.stdout.splitlines() if line.startswith("run"))
    assert head.split() == ["run", "R@1", "R@5", "R@10", "R@50", "R_subset@1", "R_subset@2", "R_subset@3"]


def test_visdial_counts_hits_of_earlier_rounds(tmp_path: Path, measured: Any) -> None:
    random, n, rounds, images = Random(3), 25, 4, [f"u/{i:03d}.jpg" for i in range(N_IMAGES)]
    entries = [
        {"img": images[i], "dialog": [f"caption {i}", *(f"q{r}? a{i}" for r in range(1, rounds))]} for i in range(n)
    ]
    write(tmp_path / "Search_Space_val.json", images)
    lists = {f"{i:03d}-{r}": random.sample(images, N_IMAGES) for i in range(n) for r in range(rounds)}
    write_run(tmp_path / "run.trec", lists)
    ranks = np.array([[lists[f"{i:03d}-{r}"].index(images[i]) for r in range(rounds)] for i in range(n)])
    hits = np.maximum.accumulate(ranks < 10, axis=1)
    means, _ = measured(write(tmp_path / "queries.json", entries))
    for r in range(rounds):
        of_round = means[("round", str(r)),]
        assert of_round["Hits@10"] == pytest.approx(hits[:, r].mean())
        assert of_round["R@10"] == pytest.approx((ranks < 10)[:, r].mean())


@pytest.fixture
def cirr(tmp_path: Path) -> Path:
    """CIRR as published, with six photos of one colour each."""
    colours = ("red", "blue", "yellow", "green", "black", "white")
    (tmp_path / "img_raw" / "dev").mkdir(parents=True)
    for colour in colours:
        Image.new("RGB", (40, 40), colour).save(tmp_path / "img_raw" / "dev" / f"{colour}.png")
    entry = {
        "pairid": 1, "reference": "blue", "target_hard": "red", "caption": "a crimson bird",
        "img_set": {"members": ["blue", "red", "green"]},
    }  # fmt: skip
    write(tmp_path / "captions" / "cap.rc2.val.json", [entry])
    write(tmp_path / "image_splits" / "split.rc2.val.json", {colour: f"./dev/{colour}.png" for colour in colours})
    return tmp_path


def test_a_converted_set_is_ranked_in_two_stages_and_within_its_sets(
    cli: CommandLine, papers: Papers, cirr: Path
) -> None:
    file = "captions/cap.rc2.val.json"
    papers("convert", file, "cirr.json", check=True)
    similarity = ("rerank", "cirr.json", "--method", "similarity")
    first = cli.call(*similarity, check=True)
    assert sorted(row.split()[2] for row in first.stdout.splitlines()) == ["black", "green", "red", "white", "yellow"]
    write(cirr / "three.trec", "1 Q0 blue 1 3 x\n1 Q0 white 2 2 x\n1 Q0 red 3 1 x\n")
    again = cli.call(*similarity, "--set", "first_stage=three.trec", "--format", "jsonl", check=True)
    found = [json.loads(line) for line in again.stdout.splitlines()]
    assert {row["image_id"]: row["first_stage_rank"] for row in found} == {"white": 1, "red": 2}
    subset = cli.call(*similarity, "--set", "within_subset=true", check=True)
    assert sorted(line.split()[2] for line in subset.stdout.splitlines()) == ["green", "red"]
    write(cirr / "unknown.trec", "1 Q0 pink 1 3 x\n")
    done = cli.call(*similarity, "--set", "first_stage=unknown.trec")
    assert done.exit_code == 5 and "'pink'" in done.stderr
    done = cli.call("rerank", "img_raw", "--query", "red", "--method", "similarity", "--set", "within_subset=true")
    assert done.exit_code == 2 and "within_subset" in done.stderr
    (cirr / "img_raw").rename(cirr.parent / "elsewhere")
    missing = papers("convert", file, "cirr.json", "--images", ".")
    assert missing.exit_code == 5 and "--images DIR" in missing.stderr
    papers("convert", file, "cirr.json", "--images", cirr.parent / "elsewhere" / "dev", check=True)
    assert json.loads(Path("cirr.json").read_text())["collection"]["red"].endswith("/elsewhere/dev/red.png")
