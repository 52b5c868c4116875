"""Miniatures of retrieval data sets: drawings as photos, and captions, changes and dialogues about them."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Final

from papers.miniature.birds import Bird, bird, birds, jpeg, write

QUERIES: Final = {
    "A male and female cardinal sharing food": "Northern Cardinal",
    "puffins carrying food": "Atlantic Puffin",
    "blue jay eating whole peanuts": "Blue Jay",
    "flamingo standing on one leg": "American Flamingo",
    "Exactly five penguins": "King Penguin",
    "a nest with eggs displaying brood parasitism by a cowbird": "Red-winged Blackbird",
    "female or immature evening grosbeak": "American Goldfinch",
    "Green Shore Crab": "Mallard",
}
"""Query of INQUIRE -> bird whose drawings stand for the relevant photos."""
N_CANDIDATES: Final = 4
N_PHOTOS: Final = 6
"""Photos of a caption data set."""


def candidates(relevant: Bird, *, first: int) -> list[tuple[str, bytes, bool]]:
    """Return name, content and relevance of the candidates of a query: two relevant ones, not in first place."""
    others = [each for each in (*birds()[first:], *birds()[:first]) if each is not relevant]
    found = [(f"{each.species.taxon.taxon_id}-1", each.test[0], False) for each in others[: N_CANDIDATES - 2]]
    own = [
        (f"{relevant.species.taxon.taxon_id}-{n}", drawing, True) for n, drawing in enumerate(relevant.pictures[:2], 1)
    ]
    return [*found[:2], own[0], *found[2:3], own[1], *found[3:]]


def caption(of: Bird) -> str:
    """Return a caption without the name of the bird: the first sentence of its text."""
    return of.species.text[0]


def _inquire(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = []
    for number, (query, name) in enumerate(QUERIES.items()):
        for place, (image, content, relevant) in enumerate(candidates(bird(name), first=number)):
            rows.append(
                {
                    "query": query,
                    "relevant": int(relevant),
                    "clip_score": 1 - place / 100,
                    "inat24_image_id": 1000 * (number + 1) + place,
                    "inat24_file_name": f"{image}.png",
                    "image": {"bytes": content, "path": None},
                }
            )
    out = BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out)
    write(folder / "data" / "test-00000-of-00001.parquet", out.getvalue())


def _karpathy(file: Path, images: str, *, filepath: str | None) -> None:
    entries = []
    for i, each in enumerate(birds()[:N_PHOTOS]):
        entry = {"filename": f"{i:04d}.jpg", "split": "test"} | ({"filepath": filepath} if filepath else {})
        sentences = [{"raw": sentence, "sentid": 10 * i + n} for n, sentence in enumerate(each.species.text[:1])]
        entries.append(entry | {"sentences": sentences})
        write(file.parent / images / f"{i:04d}.jpg", jpeg(each.test[0]))
    write(file, json.dumps({"images": entries}))


def _flickr30k(folder: Path) -> None:
    _karpathy(folder / "dataset_flickr30k.json", "flickr30k-images", filepath=None)


def _coco(folder: Path) -> None:
    _karpathy(folder / "dataset_coco.json", "val2014", filepath="val2014")


def _cirr(folder: Path) -> None:
    names = {f"dev-{i}-0-img0": each for i, each in enumerate(birds()[:N_PHOTOS])}
    for name, each in names.items():
        write(folder / "img_raw" / "dev" / f"{name}.png", each.test[0])
    listed = list(names)
    entries = [
        {
            "pairid": i,
            "reference": listed[i],
            "target_hard": listed[i + 1],
            "caption": f"instead {caption(names[listed[i + 1]])}",
            "img_set": {"members": [listed[(i + n) % N_PHOTOS] for n in range(6)]},
        }
        for i in range(5)
    ]
    write(folder / "captions" / "cap.rc2.val.json", json.dumps(entries))
    split = {name: f"./dev/{name}.png" for name in names}
    write(folder / "image_splits" / "split.rc2.val.json", json.dumps(split))


def _circo(folder: Path) -> None:
    images = []
    for i, each in enumerate(birds()[:N_PHOTOS], 1):
        write(folder / "COCO2017_unlabeled" / "unlabeled2017" / f"{i:012d}.jpg", jpeg(each.test[0]))
        images.append({"id": i, "file_name": f"{i:012d}.jpg"})
    write(
        folder / "COCO2017_unlabeled" / "annotations" / "image_info_unlabeled2017.json", json.dumps({"images": images})
    )
    entries = [
        {
            "id": i,
            "reference_img_id": i + 1,
            "target_img_id": i + 2,
            "gt_img_ids": [i + 2, i + 3],
            "relative_caption": caption(birds()[i + 1]),
            "shared_concept": "a bird",
        }
        for i in range(4)
    ]
    write(folder / "annotations" / "val.json", json.dumps(entries))


def _visdial(folder: Path) -> None:
    entries = []
    for i, each in enumerate(birds()[:N_PHOTOS]):
        write(folder / "unlabeled2017" / f"{i:012d}.jpg", jpeg(each.test[0]))
        if i < 3:
            answer = each.species.text[1].rstrip(".").lower()
            entries.append(
                {"img": f"unlabeled2017/{i:012d}.jpg", "dialog": [caption(each), f"anything else? {answer}"]}
            )
    write(folder / "dialogues" / "VisDial_v1.0_queries_val.json", json.dumps(entries))
    space = [f"unlabeled2017/{i:012d}.jpg" for i in range(N_PHOTOS)]
    write(folder / "ChatIR_Protocol" / "Search_Space_val_50k.json", json.dumps(space))


def _file_of(each: Bird, n: int) -> str:
    """Return a path as iNaturalist has it: a folder of the lineage, and a file."""
    number = birds().index(each)
    return f"{number:05d}_Animalia_Chordata_Aves_{each.binomial.replace(' ', '_')}/{n}.jpg"


def _pool(folder: Path, of: Bird) -> dict[str, int]:
    """Write the drawings of a bird, and return path -> label; the last two count as showing the feature."""
    labels = {}
    for n, drawing in enumerate(of.pictures):
        write(folder / _file_of(of, n), jpeg(drawing))
        labels[_file_of(of, n)] = int(n >= len(of.pictures) - 2)
    return labels


def _visual_rag(folder: Path) -> None:
    lines = []
    for each in birds()[:4]:
        question = f"What colour is the bill of the {each.name} (scientific name: {each.binomial})?"
        entry = {"question": question, "answer": [caption(each)], "images": _pool(folder, each), "sn": each.binomial}
        lines.append(json.dumps(entry) + "\n")
    write(folder / "visual_rag.jsonl", "".join(lines))


def _visual_rag_me(folder: Path) -> None:
    lines = []
    for one, other in ((birds()[0], birds()[1]), (birds()[2], birds()[3])):
        question = f"Which has the longer bill, the {one.name} or the {other.name}?"
        images = {"entity_1": _pool(folder, one), "entity_2": _pool(folder, other)}
        entry = {"question": question, "answer": [one.name], "images": images, "sn": [one.binomial, other.binomial]}
        lines.append(json.dumps(entry) + "\n")
    write(folder / "visual_rag_me.jsonl", "".join(lines))


def _inquire_hard(folder: Path) -> None:
    entries = []
    for number, (query, name) in enumerate(list(QUERIES.items())[:4]):
        images = {}
        for image, content, relevant in candidates(bird(name), first=number):
            path = f"00001_Animalia_Chordata_Aves/{image}.jpg"
            write(folder / path, jpeg(content))
            images[path] = int(relevant)
        entries.append({"query": query, "images": images})
    write(folder / "inquire_rerank_hard.json", json.dumps(entries))


def _coco_hard(folder: Path) -> None:
    images, annotations = [], []
    for i, each in enumerate(birds()[:N_PHOTOS], 1):
        write(folder / "val2017" / f"{i:012d}.jpg", jpeg(each.test[0]))
        images.append({"id": i, "file_name": f"{i:012d}.jpg"})
        if i <= 4:
            annotations.append({"id": 100 + i, "image_id": i, "caption": caption(each)})
    content = {"info": {"description": "COCO-Hard"}, "images": images, "annotations": annotations}
    write(folder / "captions_hard.json", json.dumps(content))


def _msr_vtt(folder: Path) -> None:
    """Write clips of four frames, the drawings of a bird, with a caption or two, in the two published files.

    There are frames for more than two turns of twenty, so that captions are made and queries rewritten.
    """
    for name, split, chosen in (("train_val", "train", birds()[2:]), ("test", "test", birds()[:2])):
        videos: list[dict[str, object]] = []
        sentences: list[dict[str, object]] = []
        for each in chosen:
            clip = f"video{birds().index(each)}"
            videos.append({"video_id": clip, "split": split})
            for n, drawing in enumerate(each.pictures[:4], 1):
                write(folder / "frames" / clip / f"{n:03d}.jpg", jpeg(drawing))
            for text in each.species.text[: 2 if split == "test" else 1]:
                number = 10 * birds().index(each) + len(sentences)
                sentences.append({"video_id": clip, "sen_id": number, "caption": text})
        content = {"videos": videos, "sentences": sentences}
        write(folder / f"{name}_videodatainfo.json", json.dumps(content))


RETRIEVAL: Final = {
    "inquire-rerank": _inquire,
    "flickr30k": _flickr30k,
    "coco": _coco,
    "cirr": _cirr,
    "circo": _circo,
    "visdial": _visdial,
    "visual-rag": _visual_rag,
    "visual-rag-me": _visual_rag_me,
    "inquire-rerank-hard": _inquire_hard,
    "coco2017": _coco_hard,
    "msr-vtt": _msr_vtt,
}
