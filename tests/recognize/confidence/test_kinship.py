from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from data.arrays import as_unit_rows
from data.contracts import VectorTable
from data.records import Box, Detection
from recognize.confidence.evidence import LEAST_PHOTOS, Familiarity, Kinship
from recognize.detect.birds import seen_kind
from recognize.scoring.knowledge import Knowledge
from recognize.scoring.stages import Ranking

OWL = {"genus": "Bubo", "family": "Strigidae", "order": "Strigiformes"}
OTHER_OWL = OWL | {"genus": "Strix"}
CROW = {"genus": "Corvus", "family": "Corvidae", "order": "Passeriformes"}
NOTHING = VectorTable(ids=(), owners=np.empty(0, dtype=np.intp), vectors=np.empty((0, 2), dtype=np.float32))


def at(*degrees: float) -> Any:
    radians = np.radians(degrees)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


def owls(background: Any, *names: str, anchors: VectorTable = NOTHING) -> Knowledge:
    return Knowledge(
        n_species=2, names=(), chunks=(), anchors=anchors, trained=np.array([0, 1]), prototypes=at(0, 30),
        background=background, background_names=names,
    )  # fmt: skip


def kinship(knowledge: Knowledge, degrees: float, *lineages: Any) -> list[float]:
    ranking = Ranking(species=np.array([0, 1]), scores=np.array([1.0, 0.0]))
    found = Kinship(knowledge, lambda some: [lineages[i] for i in some]).of([ranking], at(degrees))
    values: list[float] = found[0].round(6).tolist()
    return values


def test_a_picture_that_looks_like_other_birds_is_no_kin_of_an_order_that_all_species_share() -> None:
    knowledge = owls(at(180, 200), "Corvus corax", "Pica pica")
    assert kinship(knowledge, 190, OWL, OTHER_OWL) == [0.0, 0.0, 0.0]
    assert kinship(knowledge, 0, OWL, OTHER_OWL)[1:] == [1.0, 1.0]


def test_it_is_the_softmax_mass_of_the_taxon_among_all_looks() -> None:
    knowledge = owls(at(90), "Bubo bubo")
    logits = 25 * np.cos(np.radians([45, 15, 45]))
    masses = np.exp(logits) / np.exp(logits).sum()
    found = kinship(knowledge, 45, OWL, CROW)
    assert found == pytest.approx([masses[0] + masses[2]] * 3, abs=1e-6)


def test_species_without_a_prototype_count_by_their_anchors() -> None:
    anchors = VectorTable(ids=("a",), owners=np.array([0]), vectors=at(0))
    knowledge = Knowledge(
        n_species=2, names=(), chunks=(), anchors=anchors, trained=np.array([1]), prototypes=at(30),
        background=at(180), background_names=("Corvus corax",),
    )  # fmt: skip
    mass = 1 / (1 + np.exp(25 * (np.cos(np.radians(30)) - 1)))
    assert kinship(knowledge, 0, OWL, CROW)[2] == pytest.approx(mass, abs=1e-4)


def test_without_a_background_nothing_speaks_for_a_taxon_that_all_species_share() -> None:
    """Most of the best fifty of a songbird are songbirds, in a knowledge base of all birds too."""
    nothing = np.empty((0, 2), dtype=np.float32)
    assert kinship(owls(nothing), 0, OWL, OTHER_OWL) == [0.0, 0.0, 0.0]
    assert kinship(owls(nothing), 0, OWL, CROW) == [1.0, 1.0, 1.0]
    three = replace(owls(nothing), n_species=3, trained=np.arange(3), prototypes=at(0, 30, 90))
    assert kinship(three, 0, OWL, OTHER_OWL, CROW) == [1.0, 1.0, 1.0], "an order that only the best species share"


def test_a_family_without_a_name_is_skipped_and_an_unnamed_taxon_has_no_kin() -> None:
    knowledge = owls(at(180), "Corvus corax")
    genus, family, order = kinship(knowledge, 0, {"genus": "Bubo", "order": "Strigiformes"}, OTHER_OWL)
    assert 0 < genus <= family == order
    assert kinship(owls(at(180), "Avis ignota"), 0, {}, {}) == [0.0, 0.0, 0.0]


BOX = Box(0, 0, 9, 9)
CENTRE = as_unit_rows(np.random.default_rng(0).normal(size=(1, 64)).astype(np.float32))[0]


def near(n: int, spread: float) -> Any:
    noise = as_unit_rows(np.random.default_rng(n).normal(size=(n, 64)).astype(np.float32))
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
    far = as_unit_rows(np.random.default_rng(2).normal(size=(20, 64)).astype(np.float32))
    vectors, known, close = near(30, 1.2), familiarity(near(60, 1.2)), familiarity(near(60, 0.2))
    assert all(known.is_strange(vector, ()) for vector in (*far, -CENTRE))
    assert np.mean([known.is_strange(vector, ()) for vector in vectors]) < 0.1
    assert np.mean([close.is_strange(vector, ()) for vector in vectors]) > 0.9


@pytest.mark.parametrize(
    ("kind", "score", "above", "expected"),
    [
        ("bird", 0.9, {"class": "Insecta"}, True),
        ("bird", 0.9, {"class": "Aves"}, False),
        ("person", 0.9, {"class": "Insecta"}, True),
        ("bird", 0.4, {"class": "Insecta"}, False),
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
