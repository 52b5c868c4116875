import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from data.errors import StoreError, UsageError
from data.records import vocabulary_hash
from recognize import PRESETS, Recognizer
from recognize.answers import RANKS
from recognize.confidence import calibration as calibrations
from recognize.confidence.calibration import Calibration, Parameters, calibration_bytes, logistic, read_calibration
from recognize.confidence.fit import fit_near
from recognize.confidence.labelled import fit_temperature
from recognize.scoring.presets import NOT_FITTED, WEIGHTS
from recognize.starter.encoders import load_starter
from tests.recognize.birds_in_memory import bird
from tests.toy.store import MemoryStore, Sketch


def parameters(**changes: Any) -> Parameters:
    base: Any = {
        "temperature": 1.0, "weights": NOT_FITTED["several"],
        "held": {rank: {f"mass_{rank}": 1.0} for rank in RANKS}, "unknown": {"visual": -2.0},
    }  # fmt: skip
    return Parameters(**(base | changes))


def calibration(**changes: Any) -> Calibration:
    base = {
        "profile": "paper", "spaces": ("a/1", "b/1"),
        "vocabulary": vocabulary_hash(["pica-pica", "bubo-bubo"]), "parameters": {"default": {"several": parameters()}},
    }  # fmt: skip
    return Calibration(**(base | changes))


def test_a_calibration_file_keeps_content_and_id(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_bytes(calibration_bytes(calibration()))
    again = read_calibration(tmp_path / "c.json")
    assert again == calibration()
    assert again.id == calibration().id != calibration(profile="other").id
    payload = json.loads((tmp_path / "c.json").read_text())
    assert payload["parameters"]["default"]["several"]["held"]["species"]["mass_species"] == 1.0


def test_a_damaged_calibration_file_is_refused(tmp_path: Path) -> None:
    path, content = tmp_path / "c.json", calibration_bytes(calibration()).decode()
    spoiled = [content[: len(content) // 2]]
    changes = {'"schema": 3': '"schema": 2', '"mass_genus"': '"weight"', '"temperature": 1.0': '"temperature": 0.0'}
    spoiled += [content.replace(old, new) for old, new in changes.items()]
    for text in spoiled:
        assert text != content
        path.write_text(text)
        with pytest.raises(StoreError, match=r"c\.json|coefficients|temperature"):
            read_calibration(path)


ASKED = {
    "profile": "paper", "preset": "default", "spaces": ("a/1", "b/1"), "taxon_ids": ("bubo-bubo", "pica-pica"),
    "mode": "several", "weights": NOT_FITTED["several"],
}  # fmt: skip


def test_misfit_is_empty_or_names_the_difference() -> None:
    for change, why in (
        ({"profile": "starter"}, "other models"),
        ({"preset": "vr-rag-v1"}, "for the preset default"),
        ({"spaces": ("a/2", "b/1")}, "other models"),
        ({"taxon_ids": ("bubo-bubo",)}, "other species"),
        ({"mode": "single"}, "not made for one anchor a species"),
        ({"mode": "none"}, "not made for no anchors"),
        ({"weights": NOT_FITTED["single"]}, "other weights"),
    ):
        assert calibration().misfit(**ASKED) == "", change
        assert why in calibration().misfit(**(ASKED | change)), change
    shipped = calibration(kind="shipped")
    assert shipped.misfit(**(ASKED | {"taxon_ids": ("corvus-corax",)})) == "", "it fits any species"
    assert (shipped.id.startswith("estimated-"), "estimated" in calibration().id) == (True, False)


def test_the_shipped_calibration_fits_the_starter_in_every_preset() -> None:
    """If spaces or weights change, the calibration must be fitted again."""
    shipped, spaces = calibrations.shipped_calibration(), load_starter().spaces
    for preset, mode in product(sorted(PRESETS), ("none", "single", "several")):
        if (preset, mode) == ("anchors-only", "none"):
            continue
        weights = WEIGHTS["starter"]["several" if mode == "several" else "single"] if preset == "default" else None
        asked: Any = {"profile": "starter", "spaces": spaces, "taxon_ids": ("a",), "weights": weights}
        assert shipped.misfit(**asked, preset=preset, mode=mode) == "", (preset, mode)


BIRDS = {"Rubra rubra": "crimson", "Rubra alta": "firebrick", "Caerulea caerulea": "royalblue", "Nigra nigra": "black"}


@pytest.fixture(scope="module")
def store(encoders: Any) -> Any:
    sketches = {
        name: Sketch(
            pictures=[bird(colour, x=x) for x in (0, 4)], lineage={"genus": name.split()[0], "family": "Avidae"}
        )
        for name, colour in BIRDS.items()
    }
    return MemoryStore(sketches, encoders)


@pytest.fixture(scope="module")
def fitting(store: Any, encoders: Any) -> Calibration:
    return Calibration(
        profile="paper", spaces=encoders.spaces, vocabulary=vocabulary_hash(store.taxon_ids),
        parameters={"default": {"several": parameters()}},
    )  # fmt: skip


def test_a_calibrated_row_has_a_confidence_or_rolls_up_or_is_unknown(store: Any, encoders: Any, fitting: Any) -> None:
    recognizer = Recognizer(store, encoders, calibration=fitting, min_confidence=0.6)
    jay, alike = recognizer.identify([bird("royalblue", x=2), bird("#c81c2f", x=2)])
    assert jay.calibration == fitting.id == recognizer.calibration_id
    assert (jay.answer.name, 0.6 < jay.answer.confidence <= 1, 0 < jay.answer.p_unknown < 1) == (
        "Caerulea caerulea", True, True,
    )  # fmt: skip
    assert {candidate.scientific_name for candidate in alike.candidates[:2]} == {"Rubra rubra", "Rubra alta"}
    assert (alike.answer.rank, alike.answer.name) == ("genus", "Rubra")
    sure = replace(fitting, parameters={"default": {"several": parameters(unknown={"bias": 9.0})}})
    row = next(Recognizer(store, encoders, calibration=sure).identify([bird("royalblue")]))
    assert (row.status, len(row.candidates)) == ("unknown", 4)
    assert (row.answer.rank, row.answer.name, row.answer.confidence) == ("none", "", row.answer.p_unknown)
    assert row.answer.p_unknown > 0.9


def test_probability_settings_outside_their_range_are_refused(store: Any, encoders: Any) -> None:
    for settings in ({"min_confidence": 1.1}, {"min_confidence": -0.1}, {"unknown_prior": 0.0}):
        with pytest.raises(UsageError, match="Expected min_confidence from 0 to 1"):
            Recognizer(store, encoders, **settings)


def drawn(n: int, offset: float, scale: float, *, seed: int, spread: float = 2, mean: float = 0.5) -> Any:
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=n) * spread + mean
    return np.stack([np.ones(n), logits], axis=1), rng.random(n) < logistic(offset + scale * logits)


START, DEVIATIONS = np.array([0.0, 1.0]), np.array([1.0, 0.3])


@pytest.mark.parametrize("n", [0, 8, 500])
def test_the_fit_has_the_least_penalised_loss(n: Any) -> None:
    rows, is_true = drawn(n, 0.4, 1.3, seed=n)

    def loss(at: Any) -> Any:
        signed = np.where(is_true, -1, 1) * (rows @ at)
        return np.logaddexp(0, signed).sum() + (((at - START) / DEVIATIONS) ** 2).sum() / 2

    found = fit_near(rows, is_true, start=START, deviations=DEVIATIONS)
    assert n or found.tolist() == START.tolist(), "without photos coefficients are the expected ones"
    assert found == pytest.approx(minimize(loss, START, tol=1e-12).x, abs=1e-4)


def test_a_fit_far_from_its_start_converges() -> None:
    """Full Newton steps from here swing between two points for ever."""
    rows, is_true = drawn(600, 2, 0.3, seed=4, spread=5, mean=-1)
    found = fit_near(rows, is_true, start=START, deviations=DEVIATIONS)
    assert logistic(rows @ found).mean() == pytest.approx(is_true.mean(), abs=0.005)


def test_the_fit_recovers_the_true_temperature() -> None:
    rng, true = np.random.default_rng(2), 0.02
    scores = np.sort(rng.normal(size=(600, 8)) * 3 * true, axis=1)[:, ::-1]
    powers = np.exp((scores - scores[:, :1]) / true)
    cases: Any = [(row, rng.choice(8, p=power / power.sum()), 1.0) for row, power in zip(scores, powers, strict=True)]
    found = fit_temperature(cases)
    assert found == pytest.approx(true, rel=0.1)
    assert fit_temperature([*cases, (scores[0], None, 1.0)]) == found
