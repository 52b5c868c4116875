"""A made-up collection of twenty species, with noise for photos and models with known answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from data.arrays import FloatArray, as_unit_rows
from training.starter.protocol import StudyCollection, fold_of, read_study_collection
from training.starter.study import Model, Study

GENERA = ("Setophaga", "Cardellina", "Parus", "Turdus")
NAMES = tuple(
    sorted(f"{genus} {epithet}us" for genus in GENERA for epithet in ("alb", "nigr", "rubr", "virid", "flav"))
)
PER_SPECIES = 7
DIM = len(NAMES)


@dataclass(frozen=True)
class KnownHeads:
    """Stand-in for trained heads: the features of a photo are its vector, a text is the number of its species."""

    species: tuple[str, ...]
    prototypes: FloatArray
    text_table: FloatArray

    def encode_looks(self, features: FloatArray) -> FloatArray:
        return as_unit_rows(features)

    def encode_photos(self, features: FloatArray) -> FloatArray:
        return as_unit_rows(features)

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
    rng = np.random.default_rng(1)
    rows = np.eye(DIM)[collection.labels] + noise * rng.normal(size=(len(collection.photos), DIM))
    return rows.astype(np.float32)


def study_of(collection: StudyCollection, features: FloatArray) -> Study:
    """Return a study: the shipped model has all species, each fold the species of the other folds; texts are noisy."""
    directions = np.eye(DIM, dtype=np.float32)
    texts = as_unit_rows(directions + 0.35 * np.random.default_rng(2).normal(size=(DIM, DIM)).astype(np.float32))

    def model(names: tuple[str, ...]) -> Model:
        heads = KnownHeads(names, directions[[NAMES.index(name) for name in names]], texts)
        return Model(collection, heads, features)  # type: ignore[arg-type]

    folds = tuple(model(tuple(name for name in NAMES if fold_of(name) != fold)) for fold in range(5))
    return Study(collection, model(NAMES), folds)


def two_views() -> FloatArray:
    """Return two views of 24 photos, twelve per species, around two directions: `(2, 24, 40)`."""
    rng = np.random.default_rng(1)
    centres = np.repeat(rng.normal(size=(2, 40)), 12, axis=0)
    return (centres + 0.5 * rng.normal(size=(2, 24, 40))).astype(np.float32)


LABELS = np.repeat([0, 1], 12)
