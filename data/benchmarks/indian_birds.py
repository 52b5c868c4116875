"""Indian Birds: 25 species, a folder each below `Birds_25/train` and `Birds_25/valid`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from data.benchmarks.class_names import species_of_class
from data.benchmarks.species import LabelledPhoto, read_class_folders

FOLDER: Final = "Birds_25"


def is_indian_birds(folder: Path) -> bool:
    """Return whether a folder is Indian Birds as unpacked, or its only folder."""
    return folder.name == FOLDER or (folder / FOLDER).is_dir()


def read_indian_birds(folder: Path | str) -> list[LabelledPhoto]:
    """Return the photos of Indian Birds, sorted by path; labels are English names with hyphens.

    `valid` is the test split. VR-RAG tests on 21 of the 25 species; its list names the 25 (`indian_test.pkl`).

    Raises:
        BadInput: if there is no photo.
    """
    return [replace(photo, label=species_of_class(photo.label)) for photo in read_class_folders(folder)]
