"""LaSBiRD: millions of photos, a folder for each species."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Final

from data.benchmarks.species import LabelledPhoto, read_class_folders

COUNTS_FILE: Final = "species_counts.json"
"""The number of photos of each species; marks a copy of the dataset."""
N_TEST: Final = 10


def is_lasbird(folder: Path) -> bool:
    """Return whether a folder is a copy of LaSBiRD."""
    return (folder / COUNTS_FILE).is_file()


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
