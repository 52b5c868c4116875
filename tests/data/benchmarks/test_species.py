"""Species benchmarks, read from tiny copies of their layouts on disk."""

import json
from pathlib import Path
from typing import Any

import pytest

from data.benchmarks.species import read_class_folders, read_inaturalist
from data.benchmarks.visipedia import read_cub
from data.errors import BadInput
from data.records import Box


def write(path: Any, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def cub(tmp_path: Path) -> Any:
    root = tmp_path / "CUB_200_2011"
    write(root / "classes.txt", "1 001.Black_footed_Albatross\n2 009.Brewer_Blackbird\n")
    write(root / "images.txt", "1 001.Black_footed_Albatross/A_0001.jpg\n2 009.Brewer_Blackbird/B_0007.jpg\n")
    write(root / "image_class_labels.txt", "1 1\n2 2\n")
    write(root / "train_test_split.txt", "1 0\n2 1\n")
    write(root / "bounding_boxes.txt", "1 60.0 27.0 325.0 304.0\n2 1.0 2.0 3.0 4.5\n")
    return root


def test_cub_photos_have_class_split_and_box(cub: Any) -> None:
    """CUB writes `60 27 325 304`: left, top, width and height."""
    albatross, blackbird = read_cub(cub)
    assert albatross.path == cub / "images" / "001.Black_footed_Albatross" / "A_0001.jpg"
    assert (albatross.label, albatross.split, albatross.box) == (
        "001.Black_footed_Albatross",
        "test",
        Box(left=60.0, top=27.0, right=385.0, bottom=331.0),
    )
    assert (blackbird.label, blackbird.split) == ("009.Brewer_Blackbird", "train")


def test_cub_without_boxes_has_none(cub: Any) -> None:
    (cub / "bounding_boxes.txt").unlink()
    assert [photo.box for photo in read_cub(cub)] == [None, None]


@pytest.mark.parametrize(
    ("table", "text", "message"),
    [
        ("images.txt", "1 a b\n", "line 1: expected 2 columns, got 3"),
        ("image_class_labels.txt", "1 1\n", "image 2"),
        ("train_test_split.txt", "1 0\n", "image 2"),
        ("image_class_labels.txt", "1 1\n2 9\n", "image 2"),
        ("bounding_boxes.txt", "1 a 2 3 4\n", "image 1: expected four numbers, got a 2 3 4"),
    ],
)
def test_a_damaged_cub_table_is_named(cub: Any, table: str, text: str, message: str) -> None:
    (cub / table).write_text(text)
    with pytest.raises(BadInput, match=message):
        read_cub(cub)


def test_a_binary_cub_table_is_named(cub: Any) -> None:
    (cub / "classes.txt").write_bytes(b"1 \xff\n")
    with pytest.raises(BadInput, match=r"classes\.txt is not UTF-8"):
        read_cub(cub)


def test_a_missing_cub_table_is_named(cub: Any) -> None:
    (cub / "classes.txt").unlink()
    with pytest.raises(BadInput, match=r"classes\.txt"):
        read_cub(cub)


@pytest.fixture
def inaturalist(tmp_path: Path) -> Any:
    def category(number: Any, name: Any, kind: Any) -> Any:
        return {"id": number, "name": name, "class": kind, "common_name": "x", "supercategory": "Birds"}

    listed = {
        "images": [
            {"id": 5, "file_name": "val/03111_a/1.jpg"},
            {"id": 6, "file_name": "val/00001_b/2.jpg"},
            {"id": 7, "file_name": "val/03112_c/3.jpg"},
        ],
        "annotations": [
            {"image_id": 7, "category_id": 3112},
            {"image_id": 6, "category_id": 1},
            {"image_id": 5, "category_id": 3111},
        ],
        "categories": [
            category(3111, "Accipiter badius", "Aves"),
            category(1, "Lumbricus terrestris", "Clitellata"),
            category(3112, "Accipiter cooperii", "Aves"),
        ],
    }
    write(tmp_path / "val.json", json.dumps(listed))
    return tmp_path / "val.json"


def test_the_birds_of_an_inaturalist_list_have_binomials(inaturalist: Any) -> None:
    first, second = read_inaturalist(inaturalist)
    assert first.path == inaturalist.parent / "val" / "03111_a" / "1.jpg"
    assert (first.label, first.split) == ("Accipiter badius", "test")
    assert second.label == "Accipiter cooperii"


def test_inaturalist_photos_can_be_in_another_folder(inaturalist: Any, tmp_path: Path) -> None:
    photo = read_inaturalist(inaturalist, root=tmp_path / "photos")[0]
    assert photo.path == tmp_path / "photos" / "val" / "03111_a" / "1.jpg"


@pytest.mark.parametrize("text", ["", "[]", '{"images": [{"id": 1}], "annotations": [], "categories": []}'])
def test_an_invalid_inaturalist_list_is_refused(tmp_path: Path, text: str) -> None:
    write(tmp_path / "val.json", text)
    with pytest.raises(BadInput, match=r"val\.json: expected an iNaturalist list"):
        read_inaturalist(tmp_path / "val.json")


@pytest.mark.parametrize("change", [{"file_name": None}, {"file_name": 3}])
def test_an_inaturalist_image_with_invalid_fields_is_refused(inaturalist: Path, change: dict[str, Any]) -> None:
    listed = json.loads(inaturalist.read_text())
    listed["images"][0].update(change)
    inaturalist.write_text(json.dumps(listed))
    with pytest.raises(BadInput, match="expected an iNaturalist list"):
        read_inaturalist(inaturalist)


def test_a_missing_inaturalist_list_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"Cannot read .*val\.json"):
        read_inaturalist(tmp_path / "val.json")


def test_class_folder_names_are_labels_and_other_files_are_skipped(tmp_path: Path) -> None:
    write(tmp_path / "Bubo bubo" / "a.JPG")
    write(tmp_path / "Bubo bubo" / "notes.txt")
    write(tmp_path / "Anas crecca" / "deeper" / "b.png")
    assert [(photo.label, photo.path.name, photo.split) for photo in read_class_folders(tmp_path)] == [
        ("Anas crecca", "b.png", None),
        ("Bubo bubo", "a.JPG", None),
    ]


def test_folders_named_train_and_test_are_splits(tmp_path: Path) -> None:
    write(tmp_path / "train" / "Bubo bubo" / "a.jpg")
    write(tmp_path / "val" / "Bubo bubo" / "b.jpg")
    assert [(photo.split, photo.path.name) for photo in read_class_folders(tmp_path)] == [
        ("train", "a.jpg"),
        ("test", "b.jpg"),
    ]


def test_an_empty_or_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="found no photo"):
        read_class_folders(tmp_path)
    with pytest.raises(BadInput, match="does not exist, expected a folder"):
        read_class_folders(tmp_path / "nowhere")
