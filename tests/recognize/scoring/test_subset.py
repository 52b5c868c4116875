"""Knowledge restricted to fewer species: the vectors of the rest keep their order."""

from __future__ import annotations

import numpy as np
import pytest

from data.contracts import VectorTable
from recognize.scoring.knowledge import Knowledge
from recognize.scoring.subset import with_species

AXES = np.eye(4, dtype=np.float32)


def table(prefix: str, owners: list[int]) -> VectorTable:
    return VectorTable(
        ids=tuple(f"{prefix}{row}" for row in range(len(owners))),
        owners=np.array(owners, dtype=np.intp),
        vectors=AXES[: len(owners)],
    )


KNOWLEDGE = Knowledge(
    n_species=4,
    names=("clip",),
    chunks=(table("chunk", [0, 1, 2, 3]),),
    anchors=table("anchor", [0, 2, 2]),
    images=(table("image", [0, 2, 2]),),
    trained=np.array([1, 2, 3]),
    prototypes=AXES[[3, 0, 1]],
)


@pytest.mark.parametrize(
    ("species", "trained", "prototypes"),
    [([0, 2], [2], [0]), ([1, 3], [1, 3], [3, 1]), ([0], [], []), ([0, 1, 2, 3], [1, 2, 3], [3, 0, 1])],
)
def test_prototypes_of_removed_species_are_dropped(
    species: list[int], trained: list[int], prototypes: list[int]
) -> None:
    kept = with_species(KNOWLEDGE, np.array(species))
    assert kept.trained.tolist() == trained
    assert np.array_equal(kept.prototypes, AXES[prototypes])
    assert kept.n_species == 4


def test_chunks_and_anchors_of_removed_species_are_dropped() -> None:
    kept = with_species(KNOWLEDGE, np.array([2, 3]))
    assert (kept.chunks[0].ids, kept.chunks[0].owners.tolist()) == (("chunk2", "chunk3"), [2, 3])
    assert (kept.anchors.ids, kept.images[0].ids) == (("anchor1", "anchor2"), ("image1", "image2"))
    assert np.array_equal(kept.anchors.vectors, AXES[1:3])
