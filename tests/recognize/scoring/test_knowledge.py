"""Consistency checks on the tables of `Knowledge`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from data.contracts import VectorTable
from data.errors import StoreError
from recognize.scoring.knowledge import Knowledge

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
