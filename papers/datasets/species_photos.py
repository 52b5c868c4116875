"""Photos of species in published data sets, with the label, split and form of each.

CUB-200-2011, NABirds, Birdsnap 1.1, Indian Birds, LaSBiRD, iNaturalist 2021, and the test lists of VR-RAG's code.
"""

from __future__ import annotations

import pickletools
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from data.codec import load_json
from data.errors import BadInput
from data.files import read_lines
from data.labelled_photos import LabelledPhoto, Split, dataset_folder, read_class_folders
from data.tables import open_table
from papers.datasets.class_names import species_of_class, species_of_folder

PHOTO_FOLDERS: Final = ("download/images", "images")
"""Folders of the photos of Birdsnap: the default of its script, and beside the tables."""
TABLES: Final = ("species.txt", "images.txt", "test_images.txt")
"""Tables of Birdsnap."""
COUNTS_FILE: Final = "species_counts.json"
"""The number of photos of each species; marks a copy of LaSBiRD."""
N_TEST: Final = 10
"""Test photos of a species of LaSBiRD."""
INDIAN: Final = "Birds_25"
_VARIANT: Final = re.compile(r"\s*\([^()]*\)\s*$")
# All that a pickled list of texts needs. None of these loads a class or calls a function, and nothing is unpickled.
_OF_A_LIST: Final = frozenset((
    "PROTO", "FRAME", "EMPTY_LIST", "MARK", "MEMOIZE", "BINPUT", "LONG_BINPUT", "BINUNICODE", "SHORT_BINUNICODE",
    "APPEND", "APPENDS", "STOP",
))  # fmt: skip


def read_species(path: Path, *, root: Path | None = None) -> tuple[str, list[LabelledPhoto]]:
    """Return the name of a data set and its photos.

    Args:
        path: its folder, a list of iNaturalist (`.json`) or of VR-RAG's code (`.pkl`).
        root: base folder of the file names in a list; default: its folder.

    Raises:
        BadInput: if it is of no known form, or invalid.
    """
    if path.suffix == ".json":
        return "iNaturalist", read_inaturalist(path, root=root)
    if path.suffix == ".pkl":
        return "VR-RAG list", read_test_list(path, root=root)
    if all((path / name).is_file() for name in TABLES):
        return "Birdsnap", read_birdsnap(path)
    if (path / "hierarchy.txt").is_file():
        return "NABirds", read_nabirds(path)
    if (path / "images.txt").is_file():
        return "CUB-200-2011", read_cub(path)
    if (path / COUNTS_FILE).is_file():
        return "LaSBiRD", read_lasbird(path)
    if path.name == INDIAN or (path / INDIAN).is_dir():
        return "Indian Birds", read_indian_birds(path)
    return "class folders", read_class_folders(path)


def read_cub(folder: Path | str) -> list[LabelledPhoto]:
    """Return the photos of CUB-200-2011 in the order of `images.txt`; labels as its classes: `009.Brewer_Blackbird`.

    Args:
        folder: `CUB_200_2011`, with `images.txt`, `image_class_labels.txt`, `classes.txt`, `train_test_split.txt`,
            and `images/`.

    Raises:
        BadInput: if a table is missing or has a malformed line, with the line number.
    """
    return _read(dataset_folder(folder), layout="CUB_200_2011", label=lambda name: name)


def read_nabirds(folder: Path | str) -> list[LabelledPhoto]:
    """Return the photos of NABirds in the order of `images.txt`; labels are English names.

    The form is that of CUB-200-2011, but ids are hexadecimal, names of classes are several words, and a class is a sex,
    age or plumage of a species: the part in brackets ("Horned Grebe (Breeding)") is left out, so that the photos of a
    species have one label. Names of species that were split since mean the one of North America. The inner classes of
    `hierarchy.txt` have no photos.

    Args:
        folder: `nabirds`, as unpacked.

    Raises:
        BadInput: if a table is missing or has a malformed line, with the line number.
    """
    return _read(
        dataset_folder(folder),
        layout="nabirds",
        label=lambda name: species_of_class(_VARIANT.sub("", name), in_north_america=True),
    )


def _read(root: Path, *, layout: str, label: Callable[[str], str]) -> list[LabelledPhoto]:
    images = _table(root / "images.txt", 2, layout)
    classes = {number: label(name) for number, (name,) in _names(root / "classes.txt", layout).items()}
    class_of = {number: name for number, (name,) in _table(root / "image_class_labels.txt", 2, layout).items()}
    in_training = {number: flag == "1" for number, (flag,) in _table(root / "train_test_split.txt", 2, layout).items()}
    found = []
    for number, (name,) in images.items():
        if number not in class_of or class_of[number] not in classes or number not in in_training:
            raise BadInput(f"{root}: image {number} ({name}) has no class or no split")
        found.append(
            LabelledPhoto(
                path=root / "images" / name,
                label=classes[class_of[number]],
                split="train" if in_training[number] else "test",
            )
        )
    return found


def _names(path: Path, layout: str) -> dict[str, tuple[str, ...]]:
    """Return number -> name of a class, of one or several words."""
    return _table(path, 2, layout, last_has_blanks=True)


def _table(path: Path, n_columns: int, layout: str, *, last_has_blanks: bool = False) -> dict[str, tuple[str, ...]]:
    """Return first column -> the others of a table separated by blanks."""
    try:
        lines = read_lines(path)
    except BadInput as error:
        raise BadInput(str(error), hint=f"Expected the layout of {layout}.") from error
    rows: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(lines, 1):
        cells = line.split(maxsplit=n_columns - 1) if last_has_blanks else line.split()
        if len(cells) != n_columns:
            raise BadInput(f"{path}: line {number}: expected {n_columns} columns, got {len(cells)}")
        rows[cells[0]] = tuple(cell.strip() for cell in cells[1:])
    return rows


def read_birdsnap(folder: Path | str) -> list[LabelledPhoto]:
    """Return the photos of Birdsnap in the order of `images.txt`; labels are English names.

    Tables are separated by tabs and have a head. All photos outside `test_images.txt` are for training. Photos were
    to be downloaded from Flickr one by one and some are gone, so those without a file are left out.

    Args:
        folder: with `species.txt` (id, common, scientific, dir), `images.txt` (path, species_id
            and more), `test_images.txt` (path), and the photos.

    Raises:
        BadInput: if a table is missing or malformed, with the line number, or if there is no photo.
    """
    root = dataset_folder(folder)
    species = _rows(root / "species.txt", ("id", "common"))
    names = {row["id"]: species_of_class(row["common"], in_north_america=True) for row in species}
    in_test = {row["path"] for row in _rows(root / "test_images.txt", ("path",))}
    photos = next((root / name for name in PHOTO_FOLDERS if (root / name).is_dir()), root)
    found = []
    for number, row in enumerate(_rows(root / "images.txt", ("path", "species_id")), 2):
        if row["species_id"] not in names:
            raise BadInput(f"{root / 'images.txt'}: line {number}: no species has the id {row['species_id']!r}")
        if (photos / row["path"]).is_file():
            split: Split = "test" if row["path"] in in_test else "train"
            found.append(LabelledPhoto(path=photos / row["path"], label=names[row["species_id"]], split=split))
    if not found:
        hint = f"Expected photos in {' or '.join(PHOTO_FOLDERS)}; get_birdsnap.py of the dataset downloads them."
        raise BadInput(f"{root} has none of the photos in images.txt.", hint=hint)
    return found


def _rows(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    table = open_table(path, {name: (name,) for name in columns})
    frame = table.frame
    for column in columns:
        blank = frame.index[frame[column] == ""] if column in table.heading else [table.first_line]
        if len(blank):
            raise table.refused(f"expected a value in the column {column!r}", line=int(blank[0]))
    return [{str(name): cell for name, cell in row.items()} for row in frame.to_dict("records")]


def read_indian_birds(folder: Path | str) -> list[LabelledPhoto]:
    """Return the photos of Indian Birds, sorted by path; labels are English names with hyphens.

    `valid` is the test split. VR-RAG tests on 21 of the 25 species; its list names the 25 (`indian_test.pkl`).

    Raises:
        BadInput: if there is no photo.
    """
    return [replace(photo, label=species_of_class(photo.label)) for photo in read_class_folders(folder)]


def read_lasbird(folder: Path | str) -> list[LabelledPhoto]:
    """Return the photos of LaSBiRD, ten of each species as its test photos.

    The form is partly assumed. The dataset's card states the counts in `species_counts.json` and names of the
    eBird/Clements checklist v2024; that photos lie in a folder for each species, named after it, is our reading.

    Source:
        VR-RAG, section 6: "we sample 10 images per species, or 10% of the available images if fewer than 10 are
        present". A tenth of fewer than ten photos is none, so we take one; and we take them evenly spaced by path,
        since the paper does not say which were drawn.

    Raises:
        BadInput: if there is no photo.
    """
    by_species: dict[str, list[LabelledPhoto]] = defaultdict(list)
    for photo in read_class_folders(folder):
        by_species[photo.label].append(photo)
    found = []
    for photos in by_species.values():
        n_test = N_TEST if len(photos) >= N_TEST else 1
        in_test = {i * len(photos) // n_test for i in range(n_test)}
        found += [replace(photo, split="test" if i in in_test else "train") for i, photo in enumerate(photos)]
    return found


def read_inaturalist(annotations: Path | str, *, root: Path | str | None = None) -> list[LabelledPhoto]:
    """Return the photos of birds in an iNaturalist 2021 list, with binomials as labels.

    Args:
        annotations: `train.json`, `train_mini.json` or `val.json`: images, annotations and categories.
        root: folder of the relative `file_name` (`val/05001_Animalia_.../x.jpg`); by default the folder of the list.

    Raises:
        BadInput: if the file cannot be read, or is not such a list.
    """
    path = Path(annotations)
    split: Split = "train" if path.stem.startswith("train") else "test"
    folder = path.parent if root is None else Path(root)
    text = "\n".join(read_lines(path))
    try:
        listed = load_json(text)
        birds = {each["id"]: each["name"] for each in listed["categories"] if each["class"] == "Aves"}
        category_of = {row["image_id"]: row["category_id"] for row in listed["annotations"]}
        images = [(image, category_of[image["id"]]) for image in listed["images"]]
        return [
            LabelledPhoto(path=folder / image["file_name"], label=birds[category], split=split)
            for image, category in images
            if category in birds
        ]
    except (ValueError, TypeError, KeyError) as error:
        raise BadInput(
            f"{path}: expected an iNaturalist list with images, annotations and categories "
            f"({type(error).__name__}: {error})"
        ) from error


def read_test_list(path: Path | str, *, root: Path | str | None = None) -> list[LabelledPhoto]:
    """Return the photos of a list such as `fish_test.pkl`, all of them for testing.

    A list has entries `SPECIES/FILE`: English names for birds (`Abert's Towhee/1.jpg`, `Coopers_Hawk/0561.jpg`,
    `House-Crow/1.jpg`), binomials for fish (`Rhinogobius ogasawaraensis/Rhoga_m1.jpg`), names for creatures of games.

    Args:
        path: the list, a pickled list of texts; its operations are read one by one, without unpickling. The photos of
            `birdsnap_test.pkl` and `nabirds_test.pkl` are from North America.
        root: folder of the photos; by default the folder of the list.

    Source:
        github.com/faixan-khan/vr-rag, `data/*_test.pkl` and `inf.py`. The lists of fish and creatures of games were
        taken out of its later commits; where their photos come from is not stated.

    Raises:
        BadInput: if the file is no such list.
    """
    file = Path(path)
    folder = file.parent if root is None else Path(root)
    in_north_america = file.stem.startswith(("birdsnap", "nabirds"))
    found = []
    for entry in _texts_of(file):
        species, slash, name = entry.partition("/")
        if not (species and slash and name) or ".." in Path(entry).parts:
            raise BadInput(f"{file}: expected entries such as 'Blue Jay/1.jpg', got {entry!r}")
        label = species_of_folder(species, in_north_america=in_north_america)
        found.append(LabelledPhoto(path=folder / species / name, label=label, split="test"))
    if not found:
        raise BadInput(f"{file} lists no photo")
    return found


def _texts_of(file: Path) -> list[str]:
    try:
        content = file.read_bytes()
        operations = [(operation.name, value) for operation, value, _ in pickletools.genops(content)]
    except (OSError, ValueError) as error:
        raise BadInput(f"{file} is not a pickled list ({error})") from error
    if unexpected := sorted({name for name, _ in operations} - _OF_A_LIST):
        raise BadInput(f"{file}: expected a pickled list of texts alone, got {', '.join(unexpected)}")
    return [str(value) for name, value in operations if name.endswith("BINUNICODE")]
