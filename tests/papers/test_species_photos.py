import csv
import io
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from data.errors import BadInput
from papers.datasets.species_photos import read_species
from tests.conftest import Outcome


def write(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def found(path: Path, root: Path | None = None) -> tuple[str, list[tuple[str, str, str | None]]]:
    """Return the name of a data set, and path below its folder, label and split of each photo."""
    name, photos = read_species(path, root=root)
    base = root or (path if path.is_dir() else path.parent)
    return name, [(str(each.path.relative_to(base)), each.label, each.split) for each in photos]


def cub(root: Path) -> Path:
    write(root / "classes.txt", "1 001.Black_footed_Albatross\n2 009.Brewer_Blackbird\n")
    write(root / "images.txt", "1 001.Black_footed_Albatross/A_0001.jpg\n2 009.Brewer_Blackbird/B_0007.jpg\n")
    write(root / "image_class_labels.txt", "1 1\n2 2\n")
    write(root / "train_test_split.txt", "1 0\n2 1\n")
    return root


def nabirds(root: Path, name: str = "Horned Grebe (Breeding)") -> Path:
    write(root / "classes.txt", f"0 Birds\n22 Grebes\n817 {name}\n860 Gray Jay\n")
    write(root / "hierarchy.txt", "22 0\n817 22\n860 0\n")
    write(root / "images.txt", "0000139e-21dc 0817/1.jpg\n0000d9fc-4e02 0860/2.jpg\n")
    write(root / "image_class_labels.txt", "0000139e-21dc 817\n0000d9fc-4e02 860\n")
    write(root / "train_test_split.txt", "0000139e-21dc 0\n0000d9fc-4e02 1\n")
    return root


def birdsnap(root: Path, name: str = "Cooper's Hawk", photos: str = "download/images") -> Path:
    write(root / "species.txt", f"id\tcommon\tscientific\tdir\n1\t{name}\tx\tx\n2\tBlue Jay\tx\tBlue_Jay\n")
    images = ("Blue_Jay/1.jpg\t2", "Coopers_Hawk/2.jpg\t1", "Coopers_Hawk/gone.jpg\t1")
    write(root / "images.txt", "path\tspecies_id\n" + "\n".join(images) + "\n")
    write(root / "test_images.txt", "path\nCoopers_Hawk/2.jpg\n")
    for each in ("Blue_Jay/1.jpg", "Coopers_Hawk/2.jpg"):
        write(root / photos / each)
    return root


def inaturalist(file: Path) -> Path:
    listed = {
        "images": [{"id": 5, "file_name": "val/a/1.jpg"}, {"id": 6, "file_name": "val/b/2.jpg"}],
        "annotations": [{"image_id": 6, "category_id": 1}, {"image_id": 5, "category_id": 3111}],
        "categories": [
            {"id": 3111, "name": "Accipiter badius", "class": "Aves"},
            {"id": 1, "name": "Lumbricus terrestris", "class": "Clitellata"},
        ],
    }
    write(file, json.dumps(listed))
    return file


def test_each_form_is_recognised_with_labels_and_splits(tmp_path: Path) -> None:
    assert found(cub(tmp_path / "CUB_200_2011")) == ("CUB-200-2011", [
        ("images/001.Black_footed_Albatross/A_0001.jpg", "001.Black_footed_Albatross", "test"),
        ("images/009.Brewer_Blackbird/B_0007.jpg", "009.Brewer_Blackbird", "train"),
    ])  # fmt: skip
    assert found(nabirds(tmp_path / "nabirds")) == ("NABirds", [
        ("images/0817/1.jpg", "Horned Grebe", "test"), ("images/0860/2.jpg", "Perisoreus canadensis", "train"),
    ])  # fmt: skip
    for folder in ("download/images", "images"):  # photos that are gone are left out
        assert found(birdsnap(tmp_path / folder / "birdsnap", photos=folder)) == ("Birdsnap", [
            (f"{folder}/Blue_Jay/1.jpg", "Blue Jay", "train"),
            (f"{folder}/Coopers_Hawk/2.jpg", "Cooper's Hawk", "test"),
        ])  # fmt: skip
    assert found(inaturalist(tmp_path / "val.json")) == (
        "iNaturalist", [("val/a/1.jpg", "Accipiter badius", "test")],
    )  # fmt: skip
    assert found(tmp_path / "val.json", tmp_path / "x")[1][0][0] == "val/a/1.jpg"
    assert found(inaturalist(tmp_path / "train_mini.json"))[1][0][2] == "train"
    for place in ("train/House-Crow/1.jpg", "valid/Hoopoe/7.jpg"):
        write(tmp_path / "archive" / "Birds_25" / place)
    for root, above in ((tmp_path / "archive", "Birds_25/"), (tmp_path / "archive" / "Birds_25", "")):
        assert found(root) == ("Indian Birds", [
            (f"{above}train/House-Crow/1.jpg", "House-Crow", "train"),
            (f"{above}valid/Hoopoe/7.jpg", "Upupa epops", "test"),
        ])  # fmt: skip
    write(tmp_path / "own" / "Anas crecca" / "b.png")
    assert found(tmp_path / "own") == ("class folders", [("Anas crecca/b.png", "Anas crecca", None)])


def test_a_list_of_vr_rag_is_read_in_any_pickle_and_never_executed(tmp_path: Path) -> None:
    class Dangerous:
        def __reduce__(self) -> Any:
            return (io.open, (str(tmp_path / "written"), "w"))

    names = ["Pterois radiata/Ptrad_u2.jpg", "Abert's Towhee/1.jpg", "Thayers_Gull/2.jpg"]
    file = tmp_path / "fish_test.pkl"
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        file.write_bytes(pickle.dumps(names, protocol=protocol))
        assert found(file, tmp_path / "test") == ("VR-RAG list", [
            (names[0], "Pterois radiata", "test"), (names[1], "Abert's Towhee", "test"),
            (names[2], "Larus glaucoides", "test"),
        ])  # fmt: skip
    cases = {
        pickle.dumps(["Abra/1.jpg", Dangerous()]): r"a pickled list of texts alone, got .*REDUCE",
        b"no pickle": "is not a pickled list",
        pickle.dumps(["Abra.jpg"]): "expected entries such as 'Blue Jay/1.jpg', got 'Abra.jpg'",
        pickle.dumps(["../../etc/passwd"]): "expected entries",
        pickle.dumps([]): "lists no photo",
    }
    for content, message in cases.items():
        file.write_bytes(content)
        with pytest.raises(BadInput, match=message):
            read_species(file)
    assert not (tmp_path / "written").exists()


def test_a_table_of_two_splits_is_written(papers: Callable[..., Outcome], tmp_path: Path) -> None:
    birdsnap(tmp_path / "birdsnap", "Northern Cardinal")
    papers("convert", "birdsnap", "birds.csv", check=True)
    with Path("birds.csv").open() as file:
        rows = [(Path(row["path"]).is_file(), row["label"], row["split"]) for row in csv.DictReader(file)]
    assert rows == [(True, "Blue Jay", "train"), (True, "Northern Cardinal", "test")]
