"""A retrieval data set: its queries, and the collection that they are searched in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from data.errors import BadInput
from data.records import Job

DataSet = Literal["Flickr30K", "COCO", "CIRR", "CIRCO", "VisDial"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A data set as published. Paths are relative to a folder of images that `image_folder` finds."""

    name: DataSet
    file: Path
    """The file of queries."""
    queries: tuple[Job, ...]
    """Queries without candidates; without `relevant` where the answers are not published."""
    collection: Mapping[str, str] = field(default_factory=dict)
    """Image id -> path; empty where the data set does not list its images here."""
    subsets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Query -> the few images that R_subset@k ranks (CIRR)."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Query -> image that its ranking must not contain: the reference image (CIRR)."""

    def image_folder(self, given: Path | None = None) -> Path:
        """Return the folder of the images: `given`, else one at or near the file of queries.

        Raises:
            BadInput: if the first image of the collection is in none of them.
        """
        if not self.collection:
            raise BadInput(f"{self.file}: the images of {self.name} are not listed next to it.")
        first = next(iter(self.collection.values()))
        near = [self.file.parent, self.file.parent.parent] if given is None else [given]
        below = [child for folder in near if folder.is_dir() for child in sorted(folder.iterdir()) if child.is_dir()]
        for folder in (*near, *below):
            if (folder / first).is_file():
                return folder
        raise BadInput(
            f"The images of {self.name} were not found: no {first} in {near[0]} or near it.",
            hint="--set images=FOLDER gives the folder of the images.",
        )
