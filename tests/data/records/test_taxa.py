"""Ids of taxa: one rule for builds, in-memory knowledge bases and trained encoders."""

import pytest

from data.records import taxon_id
from tests.toy.encoders import toy_encoders
from tests.toy.store import MemoryStore, Sketch


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("Cardinalis cardinalis", "cardinalis-cardinalis"),
        ("Avis sine-pyxide", "avis-sine-pyxide"),
        ("Gyps  rüppelli (Brehm)", "gyps-ruppelli-brehm"),
    ],
)
def test_ids_are_slugs(name: str, id: str) -> None:
    assert taxon_id(name) == id


def test_a_memory_store_has_the_ids_of_a_build() -> None:
    assert MemoryStore({"Gyps rüppelli": Sketch()}, toy_encoders()).taxon_ids == ("gyps-ruppelli",)
