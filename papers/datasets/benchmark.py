"""A retrieval data set as published: its queries, and the collection that they are searched in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from data.errors import BadInput
from data.records import Job

_SUBSETS: Final = tuple(f"R_subset@{k}" for k in (1, 2, 3))
_OF_VISRET: Final = tuple(f"{name}@{k}" for name in ("ndcg_visret", "hit", "R", "nDCG") for k in (1, 10, 30))
MEASURES: Final[Mapping[str, tuple[str, ...]]] = {
    "Flickr30K": ("R@1", "R@5", "R@10"),
    "COCO": ("R@1", "R@5", "R@10"),
    "CIRR": ("R@1", "R@5", "R@10", "R@50", *_SUBSETS),
    "CIRCO": ("mAP@5", "mAP@10", "mAP@25", "mAP@50"),
    "VisDial": ("Hits@10", "R@10"),
    "MSR-VTT": tuple(f"R@{k}" for k in (20, 40, 60, 80, 100, 120)),
    **dict.fromkeys(("Visual-RAG", "Visual-RAG-ME", "INQUIRE-Rerank-Hard", "COCO-Hard"), _OF_VISRET),
}
"""Data set -> the measures of its tables; of INQUIRE-Rerank the usual ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VisualQuestion:
    """A question to be answered from photos of one or two species."""

    question_id: str
    text: str
    answers: tuple[str, ...]
    """Reference answers; any one is right."""
    queries: tuple[str, ...]
    """The retrieval query of each species."""
    entities: tuple[str, ...]
    """Scientific name of each species."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFolder:
    """A folder of images of a data set."""

    path: Path
    n_dropped: int
    """Leading folders of the published paths that it lacks."""

    def file(self, published: str) -> str:
        """Return the file of a published path."""
        return str(self.path.joinpath(*Path(published).parts[self.n_dropped :]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A data set as published. Paths are relative to a folder of images that `image_folder` finds."""

    name: str
    file: Path
    """The file of queries."""
    queries: tuple[Job, ...]
    """Queries without candidates; without `relevant` where the answers are not published."""
    collection: Mapping[str, str] = field(default_factory=dict)
    """Image id -> path; empty where the data set does not list its images here."""
    published_in: str = ""
    """Folder of the images as published, which may be missing on this disk."""
    pools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Query -> the images that it is searched in; empty: all of the collection."""
    subsets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Query -> the few images that R_subset@k ranks (CIRR)."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Query -> image that its ranking must not contain: the reference image (CIRR)."""
    questions: tuple[VisualQuestion, ...] = ()
    """Questions with answers (Visual-RAG, Visual-RAG-ME)."""
    aspects: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Query -> its semantic aspects (CIRCO)."""

    def image_folder(self, given: Path | None = None) -> ImageFolder:
        """Return the folder of the images: `given`, else one at or near the file of queries.

        It holds the published folders, or the photos of the last of them directly.

        Raises:
            BadInput: if the first image of the collection is in none of them.
        """
        near = [self.file.parent, self.file.parent.parent] if given is None else [given]
        if not self.collection:
            example = next((query.reference_image for query in self.queries if query.reference_image), "its images")
            examples = [f"{self.published_in}/{example}", example] if self.published_in else [example]
            raise BadInput(
                f"{self.file.name}: found neither a list of the images of {self.name} nor photos such as "
                f"{' or '.join(examples)} in {' or '.join(map(str, near))}.",
                hint="--images DIR gives the folder of the images.",
            )
        first = Path(next(iter(self.collection.values())))
        for n_dropped in range(len(first.parts)):
            for folder in folders_near(self.file, given):
                if folder.joinpath(*first.parts[n_dropped:]).is_file():
                    return ImageFolder(path=folder, n_dropped=n_dropped)
        raise BadInput(
            f"The images of {self.name} were not found: no {first} or {first.name} in {near[0]} or near it.",
            hint="--images DIR gives the folder of the images.",
        )


def folders_near(file: Path, given: Path | None = None) -> list[Path]:
    """Return the folders that may hold the images of a file: `given`, else its own and the one above; and theirs."""
    near = [file.parent, file.parent.parent] if given is None else [given]
    return near + [child for each in near if each.is_dir() for child in sorted(each.iterdir()) if child.is_dir()]
