"""Photos unlike anything in a knowledge base."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from data.arrays import as_unit_rows
from data.contracts import VectorTable
from data.records import Box, Detection
from recognize.confidence.familiarity import LEAST_PHOTOS, Familiarity
from recognize.detect.no_bird import seen_kind
from recognize.scoring.knowledge import Knowledge

BOX = Box(0, 0, 9, 9)
RNG = np.random.default_rng(0)
CENTRE = as_unit_rows(RNG.normal(size=(1, 64)).astype(np.float32))[0]


@pytest.fixture(autouse=True)
def same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test the same random numbers, whatever ran before it."""
    monkeypatch.setitem(globals(), "RNG", np.random.default_rng(1))


def near(n: int, spread: float) -> Any:
    """Return unit vectors about the centre."""
    noise = as_unit_rows(RNG.normal(size=(n, 64)).astype(np.float32))
    return as_unit_rows((CENTRE + spread * noise).astype(np.float32))


def familiarity(anchors: Any, lineages: Mapping[int, Mapping[str, str]] | None = None) -> Familiarity:
    n = max(1, len(anchors))
    table = VectorTable(ids=tuple(map(str, range(len(anchors)))), owners=np.arange(len(anchors)), vectors=anchors)
    found = lineages or {}
    return Familiarity(
        Knowledge(n_species=n, names=(), chunks=(), anchors=table),
        lambda species: [found.get(int(i), {"class": "Insecta"}) for i in species],
    )


def test_photos_like_the_reference_photos_are_familiar_and_others_strange_on_their_scale() -> None:
    """Photos are less alike than drawings."""
    far = as_unit_rows(RNG.normal(size=(20, 64)).astype(np.float32))
    vectors, known, close = near(30, 1.2), familiarity(near(60, 1.2)), familiarity(near(60, 0.2))
    assert all(known.is_strange(vector, ()) for vector in (*far, -CENTRE))
    assert np.mean([known.is_strange(vector, ()) for vector in vectors]) < 0.1
    assert np.mean([close.is_strange(vector, ()) for vector in vectors]) > 0.9


@pytest.mark.parametrize(
    ("kind", "score", "above", "expected"),
    [
        ("bird", 0.9, {"class": "Insecta"}, True),
        ("bird", 0.9, {"class": "Aves"}, False),
        ("cat", 0.9, {"class": "Mammalia"}, False),
        ("person", 0.9, {"class": "Insecta"}, True),
        ("bird", 0.4, {"class": "Insecta"}, False),
        ("potted plant", 0.9, {"class": "Insecta"}, False),
        ("bird", 0.9, {}, False),
    ],
)
def test_an_animal_of_a_class_that_is_not_held_makes_a_doubtful_photo_strange(
    kind: str, score: float, above: dict[str, str], expected: bool
) -> None:
    seen = (Detection(box=BOX, kind=kind, score=score),)
    few = familiarity(near(LEAST_PHOTOS - 1, 0.5), dict.fromkeys(range(9), above))
    assert few.is_strange(CENTRE, seen) == expected, "too few reference photos to judge by"
    many = familiarity(near(40, 0.5), dict.fromkeys(range(40), above))
    assert not many.is_strange(many._knowledge.anchors.vectors[0], seen), "it is a reference photo"
    assert np.mean([many.is_strange(vector, seen) for vector in near(200, 0.55)]) > 0.5 * expected
    assert np.mean([many.is_strange(vector, ()) for vector in near(50, 0.5)]) < 0.1


def test_a_knowledge_base_without_photos_is_judged_by_a_sure_detection_alone() -> None:
    empty = familiarity(np.empty((0, 64), dtype=np.float32))
    assert not empty.is_strange(CENTRE, ())
    assert empty.is_strange(CENTRE, (Detection(box=BOX, kind="dog", score=0.8),))
    unsure, sure = Detection(box=BOX, kind="dog", score=0.4), Detection(box=BOX, kind="bird", score=0.8)
    assert seen_kind([unsure, sure]) == "bird"
    assert seen_kind([unsure]) is seen_kind([]) is None
