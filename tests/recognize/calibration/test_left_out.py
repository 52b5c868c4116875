"""Rounds in which photos are identified without themselves, or without their species."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from data.contracts import VectorTable
from recognize.calibration.cases import LabelledVectors, known_rounds, spread, unknown_rounds
from recognize.scoring.knowledge import Knowledge
from recognize.scoring.stages import Queries

N_SPECIES = 70  # more than groups
NAMES = [f"Avis {i:03}" for i in range(N_SPECIES)]


def table(owners: Any) -> VectorTable:
    vectors = np.random.default_rng(0).normal(size=(len(owners), 4)).astype(np.float32)
    return VectorTable(ids=tuple(f"row {i}" for i in range(len(owners))), owners=np.array(owners), vectors=vectors)


@pytest.fixture
def knowledge() -> Knowledge:
    """Species with two anchors each, the first with four; every second one has a prototype."""
    owners = sorted([*range(N_SPECIES), *range(N_SPECIES), 0, 0])
    trained = np.arange(0, N_SPECIES, 2)
    prototypes = np.random.default_rng(1).normal(size=(len(trained), 4)).astype(np.float32)
    return Knowledge(
        n_species=N_SPECIES, names=("clip",), chunks=(table(range(N_SPECIES)),), anchors=table(owners),
        images=(table(owners),), trained=trained, prototypes=prototypes,
    )  # fmt: skip


@pytest.fixture
def anchors(knowledge: Knowledge) -> LabelledVectors:
    """All anchors as photos."""
    rows = np.arange(len(knowledge.anchors.owners))
    queries = Queries(text_image=(knowledge.images[0].vectors,), visual=knowledge.anchors.vectors)
    return LabelledVectors(queries=queries, species=knowledge.anchors.owners, same=tuple(np.array([i]) for i in rows))


def test_each_anchor_is_identified_once_without_itself(knowledge: Knowledge, anchors: LabelledVectors) -> None:
    seen: list[int] = []
    for photos, without in known_rounds(knowledge, anchors):
        seen += photos.tolist()
        assert len(set(anchors.species[photos])) == len(photos), "a species misses one photo at a time"
        left = set(knowledge.anchors.ids) - set(without.anchors.ids)
        assert left == {f"row {i}" for i in photos}
        assert without.anchors.ids == without.images[0].ids
        assert without.chunks == knowledge.chunks
    assert sorted(seen) == list(range(len(anchors)))
    photos = replace(anchors, same=tuple(np.empty(0, dtype=int) for _ in anchors.same))
    [(found, same)] = known_rounds(knowledge, photos)
    assert (same is knowledge, len(found)) == (True, len(anchors)), "photos that are no anchors share one round"


def test_each_photo_is_identified_once_without_its_species(knowledge: Knowledge, anchors: LabelledVectors) -> None:
    seen: list[int] = []
    for photos, without in unknown_rounds(knowledge, anchors, NAMES):
        seen += photos.tolist()
        gone = set(anchors.species[photos].tolist())
        assert not gone & {*without.anchors.owners, *without.chunks[0].owners, *without.trained}
        assert without.n_species == N_SPECIES
        trained = sorted(i for i in gone if i % 2 == 0)
        assert without.background_names == tuple(NAMES[i] for i in trained), "their prototypes move to the background"
        assert without.background.tolist() == knowledge.prototypes[[i // 2 for i in trained]].tolist()
    assert sorted(seen) == list(range(len(anchors)))


def test_a_limit_takes_photos_of_every_species() -> None:
    species = np.array([5, 5, 5, 7, 7, 9])
    assert spread(species, 3).tolist() == [0, 3, 5]
    assert spread(species, 5).tolist() == [0, 1, 3, 4, 5]
    assert spread(species, 99).tolist() == [0, 1, 2, 3, 4, 5]
