import json
from pathlib import Path

import pytest

from data.errors import BadInput
from training.collection import read_collection


def write_small_collection(folder: Path) -> None:
    """Write the table of five photos of each of three species, and descriptions of the first two."""
    names = ["Corvus corax", "Pica pica", "Turdus merula"]
    rows = ["path,scientific_name,common_name,ebird_code,source"]
    for s, name in enumerate(names):
        sources = ["birds525_valid"] * 4 + ["wikipedia_lead_na" if s < 2 else "birds525_valid"]
        rows += [f"{s}-{i}.png,{name},x,y,{source}" for i, source in enumerate(sources)]
    (folder / "photos.csv").write_text("\n".join(rows), encoding="utf-8")
    texts = [{"scientific_name": name, "source": "x", "sentences": ["Black."]} for name in names[:2]]
    (folder / "descriptions.jsonl").write_text("\n".join(map(json.dumps, texts)), encoding="utf-8")


def test_lead_images_are_the_first_anchors_and_half_of_the_rest_is_hidden(tmp_path: Path) -> None:
    write_small_collection(tmp_path)
    collection = read_collection(tmp_path)

    def paths(photos: list[int]) -> list[str]:
        return [collection.photos[i].path for i in photos]

    assert collection.vocabulary == ("Corvus corax", "Pica pica")
    assert set(collection.labels[10:]) == {-1}
    three = ["0-4.png", "0-0.png", "0-1.png", "1-4.png", "1-0.png", "1-1.png"]
    assert paths(list(collection.anchors("three"))) == three
    assert paths(list(collection.anchors("wiki"))) == ["0-4.png", "1-4.png"]
    assert paths(list(collection.left_over)) == ["0-2.png", "0-3.png", "1-2.png", "1-3.png"]
    assert len(collection.hidden) == 2 and set(collection.hidden) < set(collection.left_over)


def test_a_file_in_another_format_is_refused(tmp_path: Path) -> None:
    for name, content in (
        ("photos.csv", b"path,source\na.jpg,x\n"),
        ("photos.csv", b"path,scientific_name,source\n\xff,a,x\n"),
        ("descriptions.jsonl", b"no JSON\n"),
        ("descriptions.jsonl", b"{}\n"),
    ):
        write_small_collection(tmp_path)
        (tmp_path / name).write_bytes(content)
        with pytest.raises(BadInput, match=f"{name} is not a file of a photo collection"):
            read_collection(tmp_path)
