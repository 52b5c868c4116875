"""Tables of labelled photos."""

from pathlib import Path

import pytest

from data.errors import BadInput
from data.labelled_photos import LabelledPhoto, read_photo_table


def test_a_table_names_the_photos_their_splits_and_sets_of_anchors(tmp_path: Path) -> None:
    (tmp_path / "photos.csv").write_text("path,label,split,anchors\na.jpg,Merlin,train,wiki own\n\nb.jpg,Wren,,\n")
    photos, anchors = read_photo_table(tmp_path / "photos.csv")
    merlin = LabelledPhoto(path=tmp_path / "a.jpg", label="Merlin", split="train")
    assert photos == [merlin, LabelledPhoto(path=tmp_path / "b.jpg", label="Wren", split=None)]
    assert anchors == {"wiki": [merlin], "own": [merlin]}


def test_a_bad_table_is_refused_with_its_line(tmp_path: Path) -> None:
    for text, message in (
        ("path,code\na.jpg,x\n", "expected a table with the columns path and"),
        ("path,label,split\n\na.jpg,Wren,other\n", "line 3: expected a path, a name"),
        ('path,label\na.jpg,"' + "x" * 140_000, "field larger than field limit"),
    ):
        (tmp_path / "photos.csv").write_text(text)
        with pytest.raises(BadInput, match=message):
            read_photo_table(tmp_path / "photos.csv")
