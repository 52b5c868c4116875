"""Tables of a knowledge base: their consistency, and their restriction to fewer species."""

from typing import Any

import numpy as np
import pytest

from data.contracts import VectorTable
from data.errors import StoreError
from recognize.scoring.knowledge import Knowledge
from recognize.scoring.subset import with_species

AXES = np.eye(4, dtype=np.float32)


def table(*owners: int) -> VectorTable:
    n = len(owners)
    return VectorTable(ids=tuple("abcd"[:n]), owners=np.array(owners, dtype=np.intp), vectors=AXES[:n])


def knowledge(**changed: Any) -> Knowledge:
    whole: dict[str, Any] = {
        "n_species": 3,
        "names": ("clip",),
        "chunks": (table(0, 1, 1),),
        "anchors": table(0, 2),
        "trained": np.array([0, 2]),
        "prototypes": AXES[:2],
    }
    return Knowledge(**(whole | changed))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"names": ("clip", "siglip")}, "text vectors of 2 encoders, got 1"),
        ({"anchors": table(0, 2, 1)}, "owners of a table are not ascending"),
        ({"anchors": table(0, 3)}, r"owners outside 0\.\.2"),
        ({"anchors": table(-1, 2)}, r"owners outside 0\.\.2"),
        ({"trained": np.array([2, 0])}, "do not fit 2 species in order"),
        ({"trained": np.array([0])}, "2 prototypes do not fit 1 species"),
        ({"names": ("clip", "siglip"), "chunks": (table(0, 1), table(0, 1, 1))}, "belong to different chunks"),
    ],
)
def test_inconsistent_tables_are_refused(changed: dict[str, Any], message: str) -> None:
    assert knowledge().n_species == 3
    with pytest.raises(StoreError, match=message):
        knowledge(**changed)


def test_a_large_knowledge_base_is_measured_by_its_own_rows() -> None:
    rng = np.random.default_rng(0)
    many, others = (rng.normal(size=(n, 4)).astype(np.float32) for n in (600, 300))
    ids, owners = tuple(map(str, range(600))), np.arange(600)
    anchors = VectorTable(ids=ids, owners=owners, vectors=many)
    background = {"background": others, "background_names": tuple(map(str, range(300)))}
    large = knowledge(n_species=600, anchors=anchors, trained=owners, prototypes=many, **background)
    for sample in (large.anchor_sample, large.prototype_sample):
        assert len(sample) < 300
        assert {tuple(row) for row in sample.tolist()} <= {tuple(row) for row in many.astype(float).tolist()}
    small = knowledge(**background)
    assert len(small.anchor_sample) == len(small.prototype_sample) == len(large.anchor_sample)
    assert small.anchor_sample[:2].tolist() == small.prototype_sample[:2].tolist() == AXES[:2].tolist()


@pytest.mark.parametrize(
    ("species", "trained", "prototypes"),
    [([0, 2], [2], [0]), ([1, 3], [1, 3], [3, 1]), ([0], [], []), ([0, 1, 2, 3], [1, 2, 3], [3, 0, 1])],
)
def test_vectors_of_removed_species_are_dropped_and_the_rest_keep_their_order(
    species: list[int], trained: list[int], prototypes: list[int]
) -> None:
    whole = Knowledge(
        n_species=4, names=("clip",), chunks=(table(0, 1, 2, 3),), anchors=table(0, 2, 2), images=(table(0, 2, 2),),
        trained=np.array([1, 2, 3]), prototypes=AXES[[3, 0, 1]],
    )  # fmt: skip
    kept = with_species(whole, np.array(species))
    assert (kept.n_species, kept.trained.tolist()) == (4, trained)
    assert np.array_equal(kept.prototypes, AXES[prototypes])
    assert (kept.chunks[0].ids, kept.chunks[0].owners.tolist()) == (tuple("abcd"[i] for i in species), species)
    looks = [row for row, owner in enumerate((0, 2, 2)) if owner in species]
    assert kept.anchors.ids == kept.images[0].ids == tuple("abc"[row] for row in looks)
    assert np.array_equal(kept.anchors.vectors, AXES[looks])
