import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from data.arrays import FloatArray, IntArray, as_unit_rows
from kb.checklist.avilist import load_checklist
from training.collection import Description, Photo
from training.starter.protocol import N_FOLDS, StudyCollection, read_study_collection
from training.starter.study import Model, Study

GENERA = ("Setophaga", "Cardellina", "Parus", "Turdus")
NAMES = tuple(
    sorted(f"{genus} {epithet}us" for genus in GENERA for epithet in ("alb", "nigr", "rubr", "virid", "flav"))
)
PER_SPECIES = 7


@dataclass(frozen=True)
class KnownHeads:
    """Stand-in for trained heads: both spaces are the same, a text is the number of its species."""

    species: tuple[str, ...]
    prototypes: FloatArray
    text_table: FloatArray

    def shared(self, looks: FloatArray) -> FloatArray:
        return looks

    def encode_texts(self, texts: list[str]) -> FloatArray:
        return self.text_table[[int(text) for text in texts]]


def write_collection(folder: Path) -> StudyCollection:
    """Write seven photos per species, the first a lead image; one left-over photo is a copy of an anchor."""
    (folder / "photos").mkdir()
    rng = np.random.default_rng(0)
    rows = ["path,scientific_name,common_name,ebird_code,source"]
    for i, name in enumerate(NAMES):
        for j in range(PER_SPECIES):
            path = f"photos/{i:02d}-{j}.png"
            Image.fromarray(rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)).save(folder / path)
            rows.append(f"{path},{name},,,{'wikipedia_lead_na' if j == 0 else 'vbet' if j % 2 else 'nabirds33'}")
    (folder / "photos/00-6.png").write_bytes((folder / "photos/00-0.png").read_bytes())
    (folder / "photos.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    described = [{"scientific_name": name, "source": "x", "sentences": [str(i)]} for i, name in enumerate(NAMES)]
    (folder / "descriptions.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in described), encoding="utf-8")
    return read_study_collection(folder)


def features_of(collection: StudyCollection, *, noise: float) -> FloatArray:
    """Return features per photo: the direction of its species plus reproducible noise."""
    names = sorted({photo.species for photo in collection.photos})
    directions = np.eye(len(names))[[names.index(photo.species) for photo in collection.photos]]
    return (directions + noise * np.random.default_rng(1).normal(size=directions.shape)).astype(np.float32)


def study_of(collection: StudyCollection, features: FloatArray) -> Study:
    """Return a study whose models know the species of their training photos; texts are noisy."""
    names = sorted({photo.species for photo in collection.photos})
    directions = np.eye(len(names), dtype=np.float32)
    noise = 0.35 * np.random.default_rng(2).normal(size=directions.shape).astype(np.float32)

    def model(photos: IntArray) -> Model:
        known = tuple(sorted({collection.photos[i].species for i in photos}))
        heads = KnownHeads(known, directions[[names.index(name) for name in known]], as_unit_rows(directions + noise))
        return Model(collection, heads, as_unit_rows(features)[None])  # type: ignore[arg-type]

    folds = tuple(model(collection.unseen_training(fold)) for fold in range(N_FOLDS))
    return Study(collection, model(collection.seen_training), folds, twin=model(collection.twin_training))


FAMILIES = ("Corvidae", "Fringillidae", "Laridae", "Paridae", "Parulidae", "Picidae", "Scolopacidae", "Turdidae")


class PlainCollection(StudyCollection):
    """A collection without files: no two photos are near-duplicates."""

    @cached_property
    def hashes(self) -> NDArray[np.uint64]:
        return np.random.default_rng(0).integers(0, 2**64, len(self.photos), dtype=np.uint64)


def wide_collection() -> PlainCollection:
    """Return 160 species of eight families: of four one has two or three photos, of ten one has no description."""
    checklist = load_checklist()
    taxa = [checklist.find(family) for family in FAMILIES]
    names = sorted(each.scientific_name for taxon in taxa if taxon for each in checklist.species_of(taxon)[:20])
    photos = [
        Photo(path=f"{i:03d}-{j}.jpg", species=name, source="wikipedia_lead_na" if j == 0 else "vbet")
        for i, name in enumerate(names)
        for j in range(2 + i // 4 % 2 if i % 4 == 1 else 8)
    ]
    descriptions = [
        Description(species=name, source="x", sentences=(str(i),)) for i, name in enumerate(names) if i % 10
    ]
    return PlainCollection(Path("nowhere"), tuple(photos), tuple(descriptions))
