"""Photos set aside for published figures: `python -m training.starter.aside --data ../shared/birds`.

No training, recipe, weight or threshold may depend on them: they are read once, when a recipe is final. Hashes of names
choose them, so nobody can. Five species in a hundred are *new*: all their photos are set aside. Of the other species,
one photo in ten beyond the first three (the anchors of the protocol) is set aside.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import click

from recognize.evaluation.collection import ANCHOR_SOURCES, MAX_ANCHORS, Collection, Photo, read_collection

NEW_SPECIES = 13  # of 256
KNOWN_PHOTOS = 26  # of 256
DIGEST = "8df04fdeaa79f9fea089170408f960338838a2938700131a281456e0fd88b90e"
"""`Aside.digest` of the second state of the bird data, set before the first training run on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """Paths of photos set aside, sorted."""

    new: tuple[str, ...]
    """All photos of species that no model may see."""
    known: tuple[str, ...]
    """Some photos of other species."""

    @property
    def digest(self) -> str:
        """SHA-256 of both lists of paths."""
        return hashlib.sha256("\n".join((*self.new, "", *self.known)).encode()).hexdigest()


def is_new(species: str) -> bool:
    """Return whether all photos of a species are set aside."""
    return _byte_of(species) < NEW_SPECIES


def set_aside(collection: Collection) -> Aside:
    """Return the photos of a collection that are set aside; photos need no description of their species."""
    by_species: dict[str, list[Photo]] = defaultdict(list)
    for photo in collection.photos:
        by_species[photo.species].append(photo)
    rank = {source: i for i, source in enumerate(ANCHOR_SOURCES)}
    known: list[str] = []
    for species, photos in by_species.items():
        if not is_new(species):
            order = sorted(photos, key=lambda photo: (rank.get(photo.source, len(rank)), photo.path))
            known += [photo.path for photo in order[MAX_ANCHORS:] if _byte_of(photo.path) < KNOWN_PHOTOS]
    new = [photo.path for species, photos in by_species.items() if is_new(species) for photo in photos]
    return Aside(new=tuple(sorted(new)), known=tuple(sorted(known)))


def _byte_of(name: str) -> int:
    return hashlib.sha256(f"aside {name}".encode()).digest()[0]


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True, help="Folder of photos.csv.")
def main(data: Path) -> None:
    """Print the numbers of photos set aside, and their digest."""
    aside = set_aside(read_collection(data))
    click.echo(f"{len(aside.new):,} photos of new species, {len(aside.known):,} of known ones; digest {aside.digest}")


if __name__ == "__main__":
    main()
