"""NABirds, Birdsnap, Indian Birds, LaSBiRD and the lists of VR-RAG, read from tiny copies of their forms."""

import io
import pickle
from pathlib import Path
from typing import Any

import pytest

from data.benchmarks.birdsnap import is_birdsnap, read_birdsnap
from data.benchmarks.indian_birds import is_indian_birds, read_indian_birds
from data.benchmarks.lasbird import is_lasbird, read_lasbird
from data.benchmarks.visipedia import read_nabirds
from data.benchmarks.vr_rag import read_test_list
from data.errors import BadInput
from data.records import Box


def write(path: Any, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


# --- NABirds ---

FIRST, SECOND = "0000139e-21dc-4d0c-bfe1-4cae3c85c829", "0000d9fc-4e02-4c06-a0af-a55cfb16b12b"


@pytest.fixture
def nabirds(tmp_path: Path) -> Path:
    root = tmp_path / "nabirds"
    write(root / "classes.txt", "0 Birds\n22 Grebes\n817 Horned Grebe (Breeding)\n860 Gray Jay\n")
    write(root / "hierarchy.txt", "22 0\n817 22\n860 0\n")
    write(root / "images.txt", f"{FIRST} 0817/1.jpg\n{SECOND} 0860/2.jpg\n")
    write(root / "image_class_labels.txt", f"{FIRST} 817\n{SECOND} 860\n")
    write(root / "train_test_split.txt", f"{FIRST} 0\n{SECOND} 1\n")
    write(root / "bounding_boxes.txt", f"{FIRST} 83 59 128 228\n{SECOND} 1 2 3 4\n")
    return root


def test_nabirds_labels_are_species_without_sex_age_and_plumage(nabirds: Path) -> None:
    grebe, jay = read_nabirds(nabirds)
    assert grebe.path == nabirds / "images" / "0817" / "1.jpg"
    assert (grebe.label, grebe.split, grebe.box) == ("Horned Grebe", "test", Box(83.0, 59.0, 211.0, 287.0))
    assert (jay.label, jay.split) == ("Perisoreus canadensis", "train")  # the Canada Jay of today


def test_a_damaged_table_of_nabirds_is_named(nabirds: Path) -> None:
    write(nabirds / "classes.txt", "817\n")
    with pytest.raises(BadInput, match=r"classes\.txt: line 1: expected 2 columns, got 1"):
        read_nabirds(nabirds)


SPLIT_SINCE = {
    "Barn Owl": "Tyto furcata", "Herring Gull": "Larus smithsonianus", "Mew Gull": "Larus brachyrhynchus",
    "Northern Goshawk": "Astur atricapillus", "Whimbrel": "Numenius hudsonicus", "Yellow Warbler": "Setophaga aestiva",
}  # fmt: skip


@pytest.mark.parametrize(("name", "species"), SPLIT_SINCE.items())
def test_names_of_split_species_mean_those_of_north_america(
    nabirds: Path, birdsnap: Path, tmp_path: Path, name: str, species: str
) -> None:
    write(nabirds / "classes.txt", f"0 Birds\n817 {name} (Adult)\n860 Gray Jay\n")
    assert read_nabirds(nabirds)[0].label == species
    write(birdsnap / "species.txt", f"id\tcommon\n1\tCooper's Hawk\n2\t{name}\n")
    assert read_birdsnap(birdsnap)[0].label == species
    labels = {}
    for stem in ("birdsnap", "nabirds", "inat"):
        (tmp_path / f"{stem}_test.pkl").write_bytes(pickle.dumps([f"{name.replace(' ', '_')}/1.jpg", f"{name}/1.jpg"]))
        labels[stem] = [photo.label for photo in read_test_list(tmp_path / f"{stem}_test.pkl")]
    assert labels["birdsnap"] == labels["nabirds"] == [species, species]
    assert labels["inat"][1] == name  # photos from all of the world


# --- Birdsnap ---

IMAGES = (
    "url\tmd5\tpath\tspecies_id\tbb_x1\tbb_y1\tbb_x2\tbb_y2\tback_x\tback_y\n"
    "http://flickr.example/1\tff\tBlue_Jay/1.jpg\t2\t10\t20\t30\t50\t1\t1\n"
    "http://flickr.example/2\tff\tCoopers_Hawk/2.jpg\t1\t1\t2\t3\t4\t\t\n"
    "http://flickr.example/3\tff\tCoopers_Hawk/3.jpg\t1\t\t\t\t\t\t\n"
    "http://flickr.example/4\tff\tCoopers_Hawk/gone.jpg\t1\t1\t2\t3\t4\t\t\n"
)


@pytest.fixture
def birdsnap(tmp_path: Path) -> Path:
    root = tmp_path / "birdsnap"
    write(
        root / "species.txt",
        "id\tcommon\tscientific\tdir\n1\tCooper's Hawk\tAccipiter cooperii\tCoopers_Hawk\n"
        "2\tBlue Jay\tCyanocitta cristata\tBlue_Jay\n",
    )
    write(root / "images.txt", IMAGES)
    write(root / "test_images.txt", "path\nCoopers_Hawk/2.jpg\n")
    for name in ("Blue_Jay/1.jpg", "Coopers_Hawk/2.jpg", "Coopers_Hawk/3.jpg"):
        write(root / "download" / "images" / name)
    return root


def test_birdsnap_photos_that_were_downloaded_have_name_split_and_box(birdsnap: Path) -> None:
    assert is_birdsnap(birdsnap)
    jay, tested, plain = read_birdsnap(birdsnap)
    assert jay.path == birdsnap / "download" / "images" / "Blue_Jay" / "1.jpg"
    assert (jay.label, jay.split, jay.box) == ("Blue Jay", "train", Box(10.0, 20.0, 30.0, 50.0))
    assert (tested.label, tested.split) == ("Cooper's Hawk", "test")
    assert (plain.split, plain.box) == ("train", None)


def test_birdsnap_photos_may_lie_beside_the_tables(birdsnap: Path) -> None:
    (birdsnap / "download" / "images").rename(birdsnap / "images")
    assert read_birdsnap(birdsnap)[0].path == birdsnap / "images" / "Blue_Jay" / "1.jpg"


@pytest.mark.parametrize(
    ("table", "text", "message"),
    [
        ("species.txt", "id\tcommon\n1\tCooper's Hawk\n", r"images\.txt: line 2: no species has the id '2'"),
        ("species.txt", "id\tname\n1\tHawk\n", r"species\.txt: line 2: expected a value in the column 'common'"),
        ("images.txt", IMAGES.replace("\t10\t", "\tten\t"), "line 2: expected four numbers, got ten 20 30 50"),
        ("images.txt", IMAGES.replace(".jpg", ".png"), "none of the photos"),
    ],
)
def test_a_damaged_birdsnap_is_refused(birdsnap: Path, table: str, text: str, message: str) -> None:
    write(birdsnap / table, text)
    with pytest.raises(BadInput, match=message):
        read_birdsnap(birdsnap)


# --- Indian Birds ---


@pytest.mark.parametrize("inside", [True, False])
def test_indian_birds_has_two_splits_in_one_folder(tmp_path: Path, inside: bool) -> None:
    root = tmp_path / "archive" / "Birds_25"
    write(root / "train" / "House-Crow" / "House-Crow_1.jpg")
    write(root / "valid" / "Hoopoe" / "Hoopoe_7.jpg")
    folder = root if inside else root.parent
    assert is_indian_birds(folder) and not is_indian_birds(tmp_path)
    assert [(photo.label, photo.split) for photo in read_indian_birds(folder)] == [
        ("House-Crow", "train"),
        ("Upupa epops", "test"),
    ]


# --- LaSBiRD ---


def test_lasbird_tests_on_ten_photos_of_each_species_or_on_one(tmp_path: Path) -> None:
    write(tmp_path / "species_counts.json", "{}")
    for species, n in (("Blue Jay", 25), ("Snowy Owl", 10), ("Ostrich", 4)):
        for i in range(n):
            write(tmp_path / species / f"{i:02}.jpg")
    assert is_lasbird(tmp_path)
    photos = read_lasbird(tmp_path)
    n_test = {
        species: sum(photo.label == species and photo.split == "test" for photo in photos)
        for species in ("Blue Jay", "Snowy Owl", "Ostrich")
    }
    assert (n_test, len(photos)) == ({"Blue Jay": 10, "Snowy Owl": 10, "Ostrich": 1}, 39)
    assert {photo.split for photo in photos} == {"train", "test"}


# --- lists of VR-RAG ---


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_list_of_vr_rag_is_read_in_any_pickle(tmp_path: Path, protocol: int) -> None:
    names = ["Pterois radiata/Ptrad_u2.jpg", "Abert's Towhee/1.jpg", "Thayers_Gull/2.jpg"]
    (tmp_path / "fish_test.pkl").write_bytes(pickle.dumps(names, protocol=protocol))
    fish, towhee, gull = read_test_list(tmp_path / "fish_test.pkl", root=tmp_path / "test")
    assert (fish.label, fish.split) == ("Pterois radiata", "test")
    assert fish.path == tmp_path / "test" / "Pterois radiata" / "Ptrad_u2.jpg"
    assert (towhee.label, gull.label) == ("Abert's Towhee", "Larus glaucoides")
    assert read_test_list(tmp_path / "fish_test.pkl")[0].path == tmp_path / "Pterois radiata" / "Ptrad_u2.jpg"


class Dangerous:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (io.open, (str(self.path), "w"))


def test_a_pickle_is_never_executed(tmp_path: Path) -> None:
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(["Abra/1.jpg", Dangerous(tmp_path / "written")]))
    with pytest.raises(BadInput, match=r"a pickled list of texts alone, got .*REDUCE"):
        read_test_list(tmp_path / "a.pkl")
    assert not (tmp_path / "written").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no pickle", "is not a pickled list"),
        (pickle.dumps(["Abra.jpg"]), "expected entries such as 'Blue Jay/1.jpg', got 'Abra.jpg'"),
        (pickle.dumps(["../../etc/passwd"]), "expected entries"),
        (pickle.dumps([]), "lists no photo"),
        (pickle.dumps([1, 2]), "a pickled list of texts alone, got BININT1"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.pkl").write_bytes(content)
    with pytest.raises(BadInput, match=message):
        read_test_list(tmp_path / "a.pkl")
