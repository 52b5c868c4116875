"""Readers of Flickr30K, COCO, CIRR, CIRCO and VisDial on small files of the published form, made here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from data.benchmarks.retrieval.published import read_benchmark
from data.errors import BadInput, UsageError


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def karpathy(split: str, n: int, **more: str) -> dict[str, Any]:
    sentences = [{"raw": f"caption {n} {i}", "sentid": 10 * n + i, "tokens": []} for i in (0, 1)]
    return {"filename": f"{n}.jpg", "split": split, "sentences": sentences, "imgid": n} | more


CIRR = {
    "pairid": 7, "reference": "dev-1-img0", "target_hard": "dev-2-img1", "target_soft": {"dev-2-img1": 1.0},
    "caption": "make it  red", "img_set": {"id": 3, "members": ["dev-1-img0", "dev-2-img1", "dev-3-img0"]},
}  # fmt: skip
CIRCO = {
    "reference_img_id": 12, "target_img_id": 34, "relative_caption": "has two birds", "shared_concept": "a bird",
    "gt_img_ids": [34, 56], "id": 0, "semantic_aspects": ["cardinality"],
}  # fmt: skip
CHAT = {"img": "unlabeled2017/000000000005.jpg", "dialog": ["a heron", "is it big? yes", "is it wet? no"]}
VISDIAL = {
    "version": "1.0",
    "split": "val2018",
    "data": {
        "questions": ["is it big", "is it wet"],
        "answers": ["no", "yes"],
        "dialogs": [
            {
                "image_id": 5,
                "caption": "a heron",
                "dialog": [{"question": 0, "answer": 1}, {"question": 1, "answer": 0}],
            }
        ],
    },
}


def test_captions_of_the_test_split_are_queries(tmp_path: Path) -> None:
    images = [karpathy("train", 1), karpathy("test", 2), karpathy("val", 3)]
    file = write(tmp_path / "dataset_flickr30k.json", {"images": images, "dataset": "flickr30k"})
    found: Any = read_benchmark(file)
    assert found.name == "Flickr30K" and dict(found.collection) == {"2.jpg": "2.jpg"}
    assert [(q.query_id, q.text, q.relevant) for q in found.queries] == [
        ("20", "caption 2 0", ("2.jpg",)),
        ("21", "caption 2 1", ("2.jpg",)),
    ]
    other: Any = read_benchmark(file, split="validation")
    assert [q.query_id for q in other.queries] == ["30", "31"]


def test_coco_is_read_in_three_forms(tmp_path: Path) -> None:
    file = write(tmp_path / "dataset_coco.json", {"images": [karpathy("test", 2, filepath="val2014")]})
    split: Any = read_benchmark(file)
    assert (split.name, dict(split.collection)) == ("COCO", {"2.jpg": "val2014/2.jpg"})
    own = {"images": [{"id": 2, "file_name": "2.jpg"}], "annotations": [{"image_id": 2, "id": 9, "caption": "a heron"}]}
    captions: Any = read_benchmark(write(tmp_path / "captions_val2017.json", own))
    assert (captions.name, captions.queries[0].query_id, captions.queries[0].text) == ("COCO", "9", "a heron")
    table = 'raw,sentids,split,filename\n"[""a, b"", ""c""]","[4, 5]",test,COCO_1.jpg\n"[""x""]",[6],train,COCO_2.jpg\n'
    rows: Any = read_benchmark(write(tmp_path / "coco.csv", table))
    assert [(q.query_id, q.text, q.relevant) for q in rows.queries] == [
        ("4", "a, b", ("COCO_1.jpg",)),
        ("5", "c", ("COCO_1.jpg",)),
    ]


def test_cirr_has_sets_and_leaves_out_the_reference(tmp_path: Path) -> None:
    split = {name: f"./dev/{name}.png" for name in CIRR["img_set"]["members"]}  # type: ignore[index]
    write(tmp_path / "image_splits" / "split.rc2.val.json", split)
    found: Any = read_benchmark(write(tmp_path / "captions" / "cap.rc2.val.json", [CIRR]))
    (query,) = found.queries
    assert (query.reference_image, query.modification) == ("dev/dev-1-img0.png", "make it red")
    assert query.relevant == ("dev-2-img1",)
    assert found.subsets == {"7": ("dev-2-img1", "dev-3-img0")} and found.left_out == {"7": "dev-1-img0"}
    (tmp_path / "img_raw" / "dev").mkdir(parents=True)
    (tmp_path / "img_raw" / "dev" / "dev-1-img0.png").write_bytes(b"")
    assert found.image_folder().file("dev/a.png") == str(tmp_path / "img_raw" / "dev" / "a.png")
    assert found.image_folder(tmp_path / "img_raw" / "dev").file("dev/a.png") == str(tmp_path / "img_raw/dev/a.png")
    test = {key: value for key, value in CIRR.items() if not key.startswith("target")}
    hidden: Any = read_benchmark(write(tmp_path / "captions" / "cap.rc2.test1.json", [test]))
    assert hidden.queries[0].relevant is None


@pytest.mark.parametrize(
    ("folder", "has_list"),
    [("COCO2017_unlabeled", True), ("COCO2017_unlabeled", False), ("", False), ("annotations", False)],
)
def test_circo_has_several_right_answers(tmp_path: Path, folder: str, has_list: bool) -> None:
    images = tmp_path / folder
    if has_list:
        listed = {"images": [{"id": n, "file_name": f"{n:012d}.jpg"} for n in (12, 34, 56)]}
        write(images / "annotations" / "image_info_unlabeled2017.json", listed)
    else:
        for n in (12, 34, 56):
            write(images / "unlabeled2017" / f"{n:012d}.jpg", "")
    found: Any = read_benchmark(write(tmp_path / "annotations" / "val.json", [CIRCO]))
    (query,) = found.queries
    assert (query.query_id, query.modification, query.relevant) == ("0", "has two birds", ("34", "56"))
    assert query.reference_image == found.collection["12"] == "unlabeled2017/000000000012.jpg"
    assert list(found.collection) == ["12", "34", "56"]
    if not has_list:
        assert Path(found.image_folder().file(found.collection["12"])).is_file()


def test_the_paths_that_circo_was_looked_for_are_named(tmp_path: Path) -> None:
    found: Any = read_benchmark(write(tmp_path / "annotations" / "val.json", [CIRCO]))
    with pytest.raises(BadInput) as caught:
        found.image_folder()
    photo = "unlabeled2017/000000000012.jpg"
    assert f"photos such as COCO2017_unlabeled/{photo} or {photo} in {tmp_path / 'annotations'}" in str(caught.value)


def test_each_round_of_a_dialogue_is_a_query(tmp_path: Path) -> None:
    write(tmp_path / "ChatIR_Protocol" / "Search_Space_val_50k.json", [CHAT["img"], "unlabeled2017/6.jpg"])
    chat: Any = read_benchmark(write(tmp_path / "dialogues" / "VisDial_v1.0_queries_val.json", [CHAT]))
    assert [q.query_id for q in chat.queries] == ["000000000005-0", "000000000005-1", "000000000005-2"]
    assert [len(q.dialogue) for q in chat.queries] == [1, 2, 3] and len(chat.collection) == 2
    own: Any = read_benchmark(write(tmp_path / "visdial_1.0_val.json", VISDIAL))
    assert own.queries[2].dialogue == tuple(CHAT["dialog"])
    assert own.queries[2].relevant == ("VisualDialog_val2018/VisualDialog_val2018_000000000005.jpg",)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ([{**CIRR, "caption": " "}], "'caption' is empty"),
        ([CIRR, CIRR], "two queries with the pairid 7"),
        ([{**CIRCO, "gt_img_ids": 3}], "query 0: expected a list as 'gt_img_ids'"),
        ([{**CIRR, "img_set": 3}], "x.json, query 7: expected an object as 'img_set', got 3"),
        ('[{"pairid": 7, "ref', "x.json is damaged or incomplete"),
        ([{**CHAT, "dialog": []}], "expected texts as 'dialog'"),
        ([CHAT, CHAT], "two dialogues"),
        ({"images": [karpathy("train", 1)]}, "no photos of the split 'test'"),
        ({"images": [karpathy("test", 1), karpathy("test", 1)]}, "lists 1.jpg twice"),
    ],
)
def test_invalid_files_are_refused_with_the_reason(tmp_path: Path, content: Any, error: str) -> None:
    with pytest.raises(BadInput, match=error):
        read_benchmark(write(tmp_path / "x.json", content))


def test_other_files_are_none_and_splits_are_for_files_that_have_some(tmp_path: Path) -> None:
    assert read_benchmark(write(tmp_path / "other.json", [{"query": "a"}])) is None
    with pytest.raises(UsageError, match="is one split"):
        read_benchmark(write(tmp_path / "val.json", [CIRCO]), split="test")
    with pytest.raises(BadInput, match="were not found"):
        read_benchmark(write(tmp_path / "chat.json", [CHAT])).image_folder()  # type: ignore[union-attr]
