from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from data.contracts import VectorTable
from recognize.answers import RANKS
from recognize.confidence.calibration import Parameters, chances_by, logistic
from recognize.confidence.evidence import FEATURES
from recognize.confidence.fit import N_FOLDS, calibration_error, fit_parameters, folds_of, measure_quality
from recognize.confidence.labelled import Cases, LabelledVectors, known_rounds, spread, unknown_rounds
from recognize.scoring.knowledge import Knowledge, Queries

MASS, LEVEL = FEATURES.index("mass_species"), FEATURES.index("level")


def cases(n: int, *, seed: int = 0, sharpness: float = 1.0) -> Cases:
    """Photos of n / 4 species.

    `mass_species` is the logit of being right, times `sharpness`; `level` is lower without the species.
    """
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n) * 1.5 + 1
    is_right = rng.random(n) < logistic(truth)
    held, not_held = np.zeros((n, len(FEATURES))), np.zeros((n, len(FEATURES)))
    held[:, 0] = not_held[:, 0] = 1
    for rank in RANKS:
        held[:, FEATURES.index(f"mass_{rank}")] = truth * sharpness
        not_held[:, FEATURES.index(f"mass_{rank}")] = rng.normal(size=n) * sharpness
    held[:, LEVEL], not_held[:, LEVEL] = rng.normal(size=n) + 1, rng.normal(size=n) - 1
    return Cases(
        species=np.arange(n) // 4, held=held, not_held=not_held, is_right=dict.fromkeys(RANKS, is_right),
    )  # fmt: skip


def shipped(scale: float = 1.0) -> Parameters:
    held: Any = {rank: {"bias": 0.0, f"mass_{rank}": scale} for rank in RANKS}
    return Parameters(temperature=1.0, held=held, unknown={"bias": -1.0, "level": -0.2})


def fit(found: Cases, base: Parameters | None) -> Parameters:
    return fit_parameters(found, base, temperature=1.0, weights=None)


@pytest.mark.parametrize("base", [None, shipped()])
def test_the_chances_of_an_unknown_species_and_of_its_higher_ranks_are_fitted(base: Parameters | None) -> None:
    found, others = cases(400), cases(4_000, seed=1)
    fitted = fit(found, base)
    chances = np.concatenate([chances_by(fitted.unknown, rows) for rows in (others.held, others.not_held)])
    is_unknown = np.repeat([False, True], len(others))
    assert calibration_error(chances, is_unknown, np.ones(len(chances))) < 0.06, "at even odds"
    assert ((chances > 0.5) == is_unknown).mean() > 0.8
    assert set(fitted.held) == set(RANKS)


def test_a_species_is_never_in_both_parts_of_a_fold() -> None:
    species = cases(120).species
    folds = folds_of(species)
    assert len(folds) == N_FOLDS
    assert sorted(photo for _, left in folds for photo in left) == list(range(120))
    for fitted, left in folds:
        assert not set(species[fitted]) & set(species[left])


def test_the_quality_is_measured_on_photos_outside_the_fit() -> None:
    """Labels without any relation to the photos: a fit on its own photos would look better than chance."""
    found = cases(200)
    noise = np.random.default_rng(5).random(200) < 0.5
    random = Cases(
        species=found.species, held=found.held, not_held=found.held, is_right=dict.fromkeys(RANKS, noise),
    )  # fmt: skip
    quality = measure_quality(random, None, temperature=1.0, weights=None)
    assert quality.calibrated.found_unknown == pytest.approx(quality.calibrated.false_unknown, abs=0.01)
    assert quality.estimated is None


def test_the_quality_compares_with_the_shipped_calibration() -> None:
    quality = measure_quality(cases(400, sharpness=3), shipped(), temperature=1.0, weights=None)
    assert quality.estimated is not None
    assert quality.calibrated.calibration_error < quality.estimated.calibration_error / 2
    assert (quality.n_photos, quality.n_species) == (400, 100)
    assert quality.calibrated.found_unknown > quality.estimated.found_unknown


def test_the_calibration_error_by_hand() -> None:
    """Two bins of thirty photos: .2 against .4, and .9 against .9."""
    sure = np.repeat([0.2, 0.9], 30)
    is_right = np.concatenate([np.arange(30) < 12, np.arange(30) < 27])
    assert calibration_error(sure, is_right, np.ones(60)) == pytest.approx(0.1)
    assert calibration_error(sure[:29], is_right[:29], np.ones(29)) == pytest.approx(abs(0.2 - 12 / 29)), "one bin"


N_SPECIES = 70  # more than groups
NAMES = [f"Avis {i:03}" for i in range(N_SPECIES)]


def table(owners: Any) -> VectorTable:
    vectors = np.random.default_rng(0).normal(size=(len(owners), 4)).astype(np.float32)
    return VectorTable(ids=tuple(f"row {i}" for i in range(len(owners))), owners=np.array(owners), vectors=vectors)


@pytest.fixture
def knowledge() -> Knowledge:
    owners = sorted([*range(N_SPECIES), *range(N_SPECIES), 0, 0])
    trained = np.arange(0, N_SPECIES, 2)
    prototypes = np.random.default_rng(1).normal(size=(len(trained), 4)).astype(np.float32)
    return Knowledge(
        n_species=N_SPECIES, names=("clip",), chunks=(table(range(N_SPECIES)),), anchors=table(owners),
        images=(table(owners),), trained=trained, prototypes=prototypes,
    )  # fmt: skip


@pytest.fixture
def anchors(knowledge: Knowledge) -> LabelledVectors:
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
