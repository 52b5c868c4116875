"""`kb rerank` and `kb eval rerank` on the retrieval data sets of CoTRR, against references in NumPy."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.conftest import CommandLine

N_IMAGES = 60
NAMES = [f"dev-{i}-img0" for i in range(N_IMAGES)]


def write_run(path: Path, lists: dict[str, list[str]]) -> None:
    lines = [f"{q} Q0 {image} {r} {1 / r} run" for q, found in lists.items() for r, image in enumerate(found, 1)]
    path.write_text("\n".join(lines) + "\n")


def measured(cli: CommandLine, jobs: str) -> dict[str, Any]:
    done = cli.call("eval", "rerank", "run.trec", "--jobs", jobs, "--format", "json", "--resamples", "100", check=True)
    (run,) = json.loads(done.stdout)["runs"]
    return {tuple(s["labels"].items()): {m["name"]: m["macro"] for m in s["measures"]} for s in run["strata"]}


@pytest.fixture
def random() -> Random:
    return Random(3)


def test_cirr_is_measured_without_the_reference_and_within_the_sets(
    cli: CommandLine, tmp_path: Path, random: Random
) -> None:
    entries, lists = [], {}
    for i in range(40):
        members = random.sample(NAMES, 6)
        target = random.choice(members[1:])
        entries.append(
            {
                "pairid": i,
                "reference": members[0],
                "target_hard": target,
                "caption": "x",
                "img_set": {"members": members},
            }
        )
        lists[str(i)] = random.sample(NAMES, 50)  # with the reference, and without some of the set
    (tmp_path / "cap.rc2.val.json").write_text(json.dumps(entries))
    (tmp_path / "split.rc2.val.json").write_text(json.dumps({name: f"./dev/{name}.png" for name in NAMES}))
    write_run(tmp_path / "run.trec", lists)
    found = measured(cli, "cap.rc2.val.json")[()]
    for k in (1, 5, 10, 50):
        hits = [e["target_hard"] in [x for x in lists[str(e["pairid"])] if x != e["reference"]][:k] for e in entries]
        assert found[f"R@{k}"] == pytest.approx(np.mean(hits))
    for k in (1, 2, 3):
        hits = []
        for e in entries:
            of_set = [x for x in lists[str(e["pairid"])] if x in e["img_set"]["members"] and x != e["reference"]]
            hits.append(e["target_hard"] in of_set[:k])
        assert found[f"R_subset@{k}"] == pytest.approx(np.mean(hits)) and 0 < np.mean(hits) < 1
    n_missing = sum(len({*e["img_set"]["members"][1:]} - {*lists[str(e["pairid"])]}) for e in entries)
    done = cli.call("eval", "rerank", "run.trec", "--jobs", "cap.rc2.val.json", check=True)
    assert f"run: {n_missing} images of the sets missing; R_subset@k counts them as not found" in done.stderr
    shown = done.stdout
    head = next(line for line in shown.splitlines() if line.startswith("run"))
    assert head.split() == ["run", "R@1", "R@5", "R@10", "R@50", "R_subset@1", "R_subset@2", "R_subset@3"]


def test_circo_is_measured_by_its_map(cli: CommandLine, tmp_path: Path, random: Random) -> None:
    entries, lists = [], {}
    for i in range(30):
        right = random.sample(range(N_IMAGES), random.randint(1, 8))
        aspects = ["addition", "negation"][: 1 + i % 2]
        entry = {"id": i, "reference_img_id": 99, "relative_caption": "x", "gt_img_ids": right}
        entries.append({**entry, "semantic_aspects": aspects})
        lists[str(i)] = [str(image) for image in random.sample(range(N_IMAGES), 50)]
    (tmp_path / "val.json").write_text(json.dumps(entries))
    write_run(tmp_path / "run.trec", lists)
    strata = measured(cli, "val.json")
    found, of_aspect = strata[()], strata[("aspect", "negation"),]
    for k in (5, 10, 25, 50):
        values: list[float] = []
        for e in entries:
            labels = np.isin(np.array(lists[str(e["id"])], dtype=int), e["gt_img_ids"])
            precisions = np.cumsum(labels) * labels / np.arange(1, 51)
            values.append(precisions[:k].sum() / min(len(e["gt_img_ids"]), k))
        assert found[f"mAP@{k}"] == pytest.approx(np.mean(values))
        assert of_aspect[f"mAP@{k}"] == pytest.approx(np.mean(values[1::2]))
    shown = cli.call("eval", "rerank", "run.trec", "--jobs", "val.json", check=True).stdout
    assert re.search(r"by aspect.*\nrun +aspect +n +mAP@5 .*\n.*\nrun +addition +30 .*\nrun +negation +15 ", shown)
    alone = cli.call("eval", "rerank", "--jobs", "val.json")
    assert alone.exit_code == 2 and "CIRCO has no first stage" in alone.stderr


def test_captions_are_measured_by_recall(cli: CommandLine, tmp_path: Path, random: Random) -> None:
    images = [
        {
            "filename": f"{i}.jpg",
            "split": "test",
            "sentences": [{"raw": "a", "sentid": 2 * i}, {"raw": "b", "sentid": 2 * i + 1}],
        }
        for i in range(N_IMAGES)
    ]
    (tmp_path / "dataset_flickr30k.json").write_text(json.dumps({"images": images}))
    lists = {str(i): random.sample([f"{n}.jpg" for n in range(N_IMAGES)], 20) for i in range(2 * N_IMAGES)}
    write_run(tmp_path / "run.trec", lists)
    found = measured(cli, "dataset_flickr30k.json")[()]
    for k in (1, 5, 10):
        assert found[f"R@{k}"] == pytest.approx(np.mean([f"{int(q) // 2}.jpg" in of[:k] for q, of in lists.items()]))


def test_visdial_counts_hits_of_earlier_rounds(cli: CommandLine, tmp_path: Path, random: Random) -> None:
    n, rounds, images = 25, 4, [f"u/{i:03d}.jpg" for i in range(N_IMAGES)]
    entries = [
        {"img": images[i], "dialog": [f"caption {i}", *(f"q{r}? a{i}" for r in range(1, rounds))]} for i in range(n)
    ]
    (tmp_path / "queries.json").write_text(json.dumps(entries))
    (tmp_path / "Search_Space_val.json").write_text(json.dumps(images))
    lists = {f"{i:03d}-{r}": random.sample(images, N_IMAGES) for i in range(n) for r in range(rounds)}
    write_run(tmp_path / "run.trec", lists)
    ranks = np.array([[lists[f"{i:03d}-{r}"].index(images[i]) for r in range(rounds)] for i in range(n)])
    hits = np.maximum.accumulate(ranks < 10, axis=1)
    found = measured(cli, "queries.json")
    for r in range(rounds):
        of_round = found[("round", str(r)),]
        assert of_round["Hits@10"] == pytest.approx(hits[:, r].mean())
        assert of_round["R@10"] == pytest.approx((ranks < 10)[:, r].mean())
    shown = cli.call("eval", "rerank", "run.trec", "--jobs", "queries.json", check=True).stdout
    assert re.search(rf"by round.*\nrun +round +n +Hits@10 +R@10\n.*\nrun +0 +{n} +[\d.]+ ± [\d.]+ +[\d.]+ ±", shown)


def test_images_of_another_name_are_refused(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "queries.json").write_text(json.dumps([{"img": "u/1.jpg", "dialog": ["a"]}]))
    write_run(tmp_path / "run.trec", {"1-0": ["1"]})
    done = cli.call("eval", "rerank", "run.trec", "--jobs", "queries.json")
    assert done.exit_code == 5 and "not an image of the data set" in done.stderr and "'u/1.jpg'" in done.stderr


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
    for name, content in (
        ("captions/cap.rc2.val.json", [entry]),
        ("image_splits/split.rc2.val.json", {colour: f"./dev/{colour}.png" for colour in colours}),
    ):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(json.dumps(content))
    return tmp_path


def test_a_data_set_is_ranked_in_two_stages(cli: CommandLine, cirr: Path) -> None:
    similarity = ("rerank", "captions/cap.rc2.val.json", "--method", "similarity")
    first = cli.call(*similarity, "--output", "first", check=True)
    rows = (cirr / "first.trec").read_text().splitlines()
    assert sorted(row.split()[2] for row in rows) == ["black", "green", "red", "white", "yellow"], first.stderr
    (cirr / "three.trec").write_text("1 Q0 blue 1 3 x\n1 Q0 white 2 2 x\n1 Q0 red 3 1 x\n")
    again = cli.call(*similarity, "--set", "first_stage=three.trec", "--format", "jsonl", check=True)
    found = [json.loads(line) for line in again.stdout.splitlines()]
    assert {row["image_id"]: row["first_stage_rank"] for row in found} == {"white": 1, "red": 2}
    subset = cli.call(*similarity, "--set", "within_subset=true", check=True)
    assert sorted(line.split()[2] for line in subset.stdout.splitlines()) == ["green", "red"]
    (cirr / "sets.trec").write_text(subset.stdout)
    measure = ("eval", "rerank", "sets.trec", "--jobs", "captions/cap.rc2.val.json", "--resamples", "100")
    assert "sets ranks the sets of CIRR alone" in cli.call(*measure, check=True).stderr
    (cirr / "sets.trec").write_text(first.stdout or (cirr / "first.trec").read_text())
    assert "CIRR" not in cli.call(*measure, check=True).stderr


def test_the_folder_of_images_can_be_given(cli: CommandLine, cirr: Path) -> None:
    (cirr / "img_raw").rename(cirr.parent / "elsewhere")
    similarity = ("rerank", "captions/cap.rc2.val.json", "--method", "similarity")
    missing = cli.call(*similarity)
    assert missing.exit_code == 5 and "--set images=FOLDER" in missing.stderr
    for folder in (cirr.parent / "elsewhere", cirr.parent / "elsewhere" / "dev"):  # as published, or the photos alone
        cli.call(*similarity, "--set", f"rerank.images={folder}", check=True)


def test_the_photos_of_circo_are_its_collection_wherever_they_are(cli: CommandLine, tmp_path: Path) -> None:
    entry = {"id": 0, "reference_img_id": 12, "relative_caption": "is red", "gt_img_ids": [34]}
    (tmp_path / "val.json").write_text(json.dumps([entry]))
    (tmp_path / "photos").mkdir()
    similarity = ("rerank", "val.json", "--method", "similarity", "--set", "images=photos")
    missing = cli.call(*similarity)
    assert missing.exit_code == 5 and "or unlabeled2017/000000000012.jpg in photos" in missing.stderr
    for n in (12, 34):
        Image.new("RGB", (40, 40), "red").save(tmp_path / "photos" / f"{n:012d}.jpg")
    for _ in ("the photos directly", "in the published folder"):
        rows = cli.call(*similarity, check=True).stdout.splitlines()
        assert sorted(row.split()[2] for row in rows) == ["12", "34"]
        (tmp_path / "photos").rename(tmp_path / "unlabeled2017")
        (tmp_path / "photos").mkdir()
        (tmp_path / "unlabeled2017").rename(tmp_path / "photos" / "unlabeled2017")


def test_settings_of_data_sets_are_refused_for_other_jobs(cli: CommandLine, cirr: Path) -> None:
    for setting in ("within_subset=true", "images=img_raw"):
        done = cli.call("rerank", "img_raw", "--query", "red", "--method", "similarity", "--set", setting)
        assert done.exit_code == 2 and setting.partition("=")[0] in done.stderr


def test_a_first_stage_must_fit_the_job(cli: CommandLine, cirr: Path) -> None:
    similarity = ("rerank", "captions/cap.rc2.val.json", "--method", "similarity")
    (cirr / "other.trec").write_text("77 Q0 red 1 3 x\n")
    (cirr / "unknown.trec").write_text("1 Q0 pink 1 3 x\n")
    for name, message in (("other", "none of the queries"), ("unknown", "'pink'")):
        done = cli.call(*similarity, "--set", f"first_stage={name}.trec")
        assert done.exit_code == 5 and message in done.stderr


def test_visual_rag_me_is_ranked_in_the_photos_of_each_species_and_measured_as_in_visret(
    cli: CommandLine, tmp_path: Path
) -> None:
    images = {
        entity: {f"{i}_Aves_{entity}_{i}/{colour}.png": int(colour == right) for colour in ("red", "blue", "green")}
        for i, (entity, right) in enumerate((("entity_1", "blue"), ("entity_2", "red")))
    }
    for path in (path for of in images.values() for path in of):
        (tmp_path / "photos" / path).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (40, 40), Path(path).stem).save(tmp_path / "photos" / path)
    entry = {"question": "Which one is blue, a or b?", "answer": ["a"], "images": images, "sn": ["A a", "B b"]}
    (tmp_path / "me.jsonl").write_text(json.dumps(entry) + "\n")
    ranked = cli.call("rerank", "me.jsonl", "--method", "similarity", "--output", "run", check=True)
    rows = [line.split() for line in (tmp_path / "run.trec").read_text().splitlines()]
    assert {row[2] for row in rows if row[0] == "0_entity_2"} == set(images["entity_2"]), ranked.stderr
    order = {query: [row[2] for row in rows if row[0] == query] for query in ("0_entity_1", "0_entity_2")}
    ranks = [order[f"0_{entity}"].index(next(p for p, y in of.items() if y)) + 1 for entity, of in images.items()]
    discounts = [1 / np.log2(rank + 1) for rank in (1, 2, 3)]
    shown = cli.call("eval", "rerank", "run.jsonl", "--jobs", "me.jsonl", "--format", "json", check=True)
    (run,) = json.loads(shown.stdout)["runs"]
    found = {measure["name"]: measure["macro"] for measure in run["strata"][0]["measures"]}
    own = [1.0 if rank == 1 else sum(discounts[1:]) / 2 for rank in ranks]
    assert found["ndcg_visret@10"] == pytest.approx(np.mean(own))
    assert found["hit@1"] == pytest.approx(np.mean([rank == 1 for rank in ranks]))
    table = cli.call("eval", "rerank", "run.jsonl", "--jobs", "me.jsonl", check=True)
    assert "ndcg_visret@30" in table.stdout and "candidates missing" not in table.stderr
    other = next(iter(images["entity_2"]))
    (tmp_path / "wrong.trec").write_text(f"0_entity_1 Q0 {other} 1 1 x\n")
    done = cli.call("eval", "rerank", "wrong.trec", "--jobs", "me.jsonl")
    assert done.exit_code == 5 and "is not an image of the query" in done.stderr


def test_frames_of_msr_vtt_can_lie_elsewhere(cli: CommandLine, tmp_path: Path) -> None:
    content = {
        "videos": [{"video_id": f"video{i}", "split": "test"} for i in (0, 1)],
        "sentences": [{"sen_id": i, "video_id": f"video{i}", "caption": "a red bird"} for i in (0, 1)],
    }
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "all.json").write_text(json.dumps(content))
    for clip, colour in (("video0", "red"), ("video1", "blue")):
        (tmp_path / "far" / "off" / clip).mkdir(parents=True)
        for frame in range(3):
            Image.new("RGB", (40, 40), colour).save(tmp_path / "far" / "off" / clip / f"{frame}.jpg")
    missing = cli.call("rerank", "sets/all.json", "--method", "similarity")
    assert missing.exit_code == 5 and "ffmpeg" in missing.stderr
    cli.call(
        "rerank", "sets/all.json", "--method", "similarity", "--set", "images=far/off", "--output", "r", check=True
    )
    shown = cli.call("eval", "rerank", "r.trec", "--jobs", "sets/all.json", "--images", "far/off", "--format", "json")
    (run,) = json.loads(shown.stdout)["runs"]
    assert run["by_query"]["video0-0"]["R@20"] == 1.0
