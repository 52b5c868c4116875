"""Vectors in the ledger: kept per subject and collection, and never silently missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from data.arrays import FloatArray
from data.errors import StoreError
from kb.store.ledger import Ledger


def vector(number: float) -> FloatArray:
    return np.array([number, 1], dtype=np.float32)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    ledger = Ledger(tmp_path / "ledger.sqlite", create=True)
    ledger.vectors.put("anchors", [("b", "b1", vector(1)), ("a", "a1", vector(2)), ("b", "b2", vector(3))])
    yield ledger
    ledger.close()


def numbers(held: dict[str, FloatArray]) -> dict[str, float]:
    return {item: float(found[0]) for item, found in held.items()}


def test_later_vectors_join_and_replace_those_of_the_same_subject(ledger: Ledger) -> None:
    ledger.vectors.put("anchors", [("b", "b2", vector(4)), ("b", "b3", vector(5))])
    assert numbers(ledger.vectors.of_subject("anchors", "b")) == {"b1": 1, "b2": 4, "b3": 5}
    assert ledger.vectors.of_subject("chunks", "b") == {}


def test_a_collection_is_read_by_subject(ledger: Ledger) -> None:
    found = {subject: numbers(held) for subject, held in ledger.vectors.each_subject("anchors")}
    assert list(found.items()) == [("a", {"a1": 2}), ("b", {"b1": 1, "b2": 3})]
    [(subject, items, matrix)] = ledger.vectors.matrices("anchors", [("b", ["b2", "b1"])])
    assert (subject, items, matrix.tolist()) == ("b", ["b2", "b1"], [[3, 1], [1, 1]])


def test_only_the_vectors_of_named_items_are_kept(ledger: Ledger) -> None:
    ledger.vectors.keep("anchors", "b", ["b2"])
    ledger.vectors.keep("anchors", "a", [])
    assert numbers(ledger.vectors.of_subject("anchors", "b")) == {"b2": 3}
    assert [subject for subject, _ in ledger.vectors.each_subject("anchors")] == ["b"]
    ledger.check()


@pytest.mark.parametrize(("subject", "item"), [("b", "b3"), ("aa", "b1"), ("c", "c1")])
def test_a_missing_vector_is_damage(ledger: Ledger, subject: str, item: str) -> None:
    with pytest.raises(StoreError, match=f"the vector of {item} of {subject} in anchors is missing"):
        ledger.vectors.of_items("anchors", subject, [item])
    with pytest.raises(StoreError, match=f"the vector of {item} of {subject} in anchors is missing"):
        list(ledger.vectors.matrices("anchors", [(subject, [item])]))
