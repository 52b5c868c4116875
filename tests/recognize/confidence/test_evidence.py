from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from data.arrays import as_unit_rows
from data.contracts import VectorTable
from data.records import Box, Detection
from recognize.confidence.evidence import (
    FEATURES,
    LEAST_PHOTOS,
    SHARPNESS,
    Familiarity,
    find_evidence,
    mode_of,
)
from recognize.detect.birds import seen_kind
from recognize.scoring.knowledge import Knowledge, Queries
from recognize.scoring.ranking import Ranking

LINEAGES = [
    {"genus": "Setophaga", "family": "Parulidae", "order": "Passeriformes"},
    {"genus": "Setophaga", "family": "Parulidae", "order": "Passeriformes"},
    {"genus": "Cardellina", "family": "Parulidae", "order": "Passeriformes"},
    {"genus": "Corvus", "family": "Corvidae", "order": "Passeriformes"},
    {"genus": "Bubo", "family": "Strigidae", "order": "Strigiformes"},
]
NOTHING = VectorTable(ids=(), owners=np.empty(0, dtype=np.intp), vectors=np.empty((0, 2), dtype=np.float32))


def at(degrees: float) -> Any:
    return np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))], dtype=np.float32)


def table(owners: Any, vectors: Any) -> VectorTable:
    return VectorTable(ids=tuple(map(str, range(len(owners)))), owners=np.array(owners), vectors=np.array(vectors))


# Species 0 has a prototype at 0 and no anchors; 1 a prototype at 90 and anchors at 80 and 100; 2 one anchor at 60;
# 3 and 4 only a text. The model also knows a warbler at 30 and another bird at 200.
WORLD = Knowledge(
    n_species=5, names=("toy",), chunks=(table([0, 3, 4], [at(0), at(120), at(180)]),),
    anchors=table([1, 1, 2], [at(80), at(100), at(60)]), images=(table([1, 1, 2], [at(80), at(100), at(60)]),),
    trained=np.array([0, 1]), prototypes=np.array([at(0), at(90)]),
    background=np.array([at(200), at(30)]), background_names=("Corvus corax", "Setophaga citrina"),
)  # fmt: skip


def found(degrees: float, species: Any, scores: Any, knowledge: Knowledge = WORLD, **stages: Any) -> dict[str, float]:
    ranking = Ranking(species=np.array(species), scores=np.array(scores, dtype=float), stages=stages)
    queries = Queries(text_image=(at(degrees)[None],), visual=at(degrees)[None])
    evidence = find_evidence([ranking], queries, knowledge, lambda some: [LINEAGES[i] for i in some], temperature=2.0)
    return dict(zip(FEATURES, evidence.rows[0].tolist(), strict=True))


def cos(degrees: float) -> Any:
    return pytest.approx(np.cos(np.radians(degrees)), abs=1e-6)


def logit(mass: float) -> Any:
    return pytest.approx(np.log(mass / (1 - mass)))


def test_masses_are_sums_over_the_species_of_each_rank() -> None:
    given = found(0, [0, 2, 1, 3, 4], [4.0, 2.0, 1.0, 0.0, -1.0])
    shares = np.exp(np.array([2.0, 1.0, 0.5, 0.0, -0.5]))
    level, shares = np.log(shares.sum()), shares / (shares.sum() + 1)  # and an average species, with a score of 0
    assert given["mass_species"] == logit(shares[0])
    assert given["mass_genus"] == logit(shares[0] + shares[2])
    assert given["mass_family"] == logit(shares[:3].sum())
    assert given["mass_order"] == logit(shares[:4].sum())
    assert given["level"] == pytest.approx(level)


def test_a_species_alone_has_little_mass_unless_it_fits() -> None:
    """There is an average species too: without it the only species would have all the mass for any photo."""
    ranking = Ranking(species=np.array([3, 4]), scores=np.zeros(2))
    queries = Queries(text_image=(at(0)[None],), visual=at(0)[None])
    rows = find_evidence([ranking], queries, WORLD, lambda some: [{} for _ in some], temperature=1.0).rows
    assert rows[0, 1:5] == pytest.approx(np.log(0.5)), "the logit of a third: without lineage each stands alone"
    assert [found(0, [0], [score])["mass_species"] for score in (8.0, -2.0)] == pytest.approx([4.0, -1.0])


def test_cosines_of_the_first_species_and_of_the_best() -> None:
    """Anchors at 80 and 100 have the centroid 90."""
    given = found(70, [1, 0], [1.0, 0.0], text=np.array([np.nan, 0.25]))
    assert (given["prototype"], given["visual"], given["text"]) == (cos(20), cos(20), 0.0)
    assert (given["best_prototype"], given["best_visual"], given["best_text"]) == (cos(20), cos(10), 0.25)
    assert (given["has_prototype"], given["has_visual"], given["has_text"]) == (1, 1, 0)
    assert given["log_anchors"] == pytest.approx(np.log(3))
    assert given["log_species"] == pytest.approx(np.log(5))
    bare = found(0, [3], [1.0], text=np.array([0.5]))
    names = ("prototype", "visual", "text", "has_prototype", "has_visual", "has_text", "log_anchors")
    assert [bare[name] for name in names] == [0, 0, 0.5, 0, 0, 1, 0], "a first species with a text alone"


def test_the_background_is_compared_with_prototypes_and_with_anchors_of_other_species() -> None:
    """At 50 the best of the knowledge base is the anchor at 60, not the prototype at 90; the warbler is at 30."""
    given = found(50, [0], [1.0])
    assert given["best_look"] == cos(10)
    assert given["crowd"] == pytest.approx(np.cos(np.radians([150, 20, 50, 40, 10])).mean(), abs=1e-6)
    assert given["background_margin"] == pytest.approx(np.cos(np.radians(20)) - np.cos(np.radians(10)), abs=1e-6)
    powers = {angle: np.exp(SHARPNESS * np.cos(np.radians(angle))) for angle in (150, 20, 50, 40, 10)}
    inside, outside = powers[50] + powers[40] + powers[10], powers[150] + powers[20]
    assert given["background_mass"] == pytest.approx(np.log(outside / inside), abs=1e-4)
    assert given["background_share"] == 2 / 4


def test_without_a_background_or_with_one_of_at_most_five_percent_its_features_are_zero() -> None:
    crowd = replace(
        WORLD, n_species=45, trained=np.concatenate([WORLD.trained, np.arange(5, 45)]),
        prototypes=np.concatenate([WORLD.prototypes, np.tile(at(270), (40, 1))]),
        background=np.array([at(30)]), background_names=("Setophaga citrina",),
    )  # fmt: skip
    whole = replace(WORLD, background=np.empty((0, 2), dtype=np.float32), background_names=())
    for knowledge in (crowd, whole):
        values = [value for name, value in found(50, [0], [1.0], knowledge).items() if "background" in name]
        assert values == [0.0] * 3
    assert [mode_of(each) for each in (WORLD, crowd, whole)] == ["several", "complete", "complete"]


def test_the_likest_species_and_its_softmax_mass() -> None:
    ranking = Ranking(species=np.array([0]), scores=np.zeros(1))
    queries = Queries(text_image=(at(30)[None],), visual=at(30)[None])
    evidence = find_evidence([ranking], queries, WORLD, lambda some: [LINEAGES[i] for i in some], temperature=1.0)
    assert WORLD.background_names[evidence.likest[0]] == "Setophaga citrina"
    powers = np.exp(SHARPNESS * np.cos(np.radians([0, 170, 30, 60, 30])))
    assert evidence.likeness[0] == pytest.approx(powers[0] / powers.sum(), abs=1e-5)


def test_the_anchor_mode_depends_on_the_anchors_of_species_with_any() -> None:
    single, several = table([0, 2], [at(0), at(1)]), table([0, 0], [at(0), at(1)])
    modes = [mode_of(replace(WORLD, anchors=anchors)) for anchors in (NOTHING, single, several, WORLD.anchors)]
    assert modes == ["none", "single", "several", "several"]


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
