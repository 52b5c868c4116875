"""Calibrated confidence of a photo, and the answer that follows from it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from data.errors import StoreError, UsageError
from data.records import Answer, Taxon
from recognize import Recognizer
from recognize.confidence.calibration import (
    FEATURES,
    RANKS,
    Calibration,
    Chances,
    Evidence,
    Parameters,
    answer_of,
    chances_of,
    find_evidence,
    read_calibration,
    vocabulary_hash,
    write_calibration,
)
from recognize.scoring.fusion import WEIGHTS
from recognize.scoring.stages import Ranking
from tests.toy.encoders import toy_encoders
from tests.toy.store import MemoryStore, Sketch


def model(**coefficients: Any) -> Any:
    return {name: float(coefficients.get(name, 0.0)) for name in FEATURES}


def parameters(**changes: Any) -> Parameters:
    same = model(mass=1.0)
    base = {"species": same, "genus": same, "family": same, "unknown": model(bias=0.0, visual=-2.0)}
    return Parameters(weights=WEIGHTS["paper"]["several"], temperature=1.0, **(base | changes))


def evidence(**changes: Any) -> Evidence:
    base = {
        "masses": {"species": 0.4, "genus": 0.7, "family": 0.9},
        "level": 3.0, "trained_mass": 0.5, "is_trained": True, "prototype": 0.3, "visual": 0.6, "text": 0.2,
        "best_prototype": 0.4, "best_visual": 0.7,
    }  # fmt: skip
    return Evidence(**(base | changes))


# --- the evidence ------------------------------------------------------------------------------------------------

FOUR = ("Setophaga", "Setophaga", "Cardellina", "Corvus")
LINEAGES = [{"genus": genus, "family": "Corvidae" if genus == "Corvus" else "Parulidae"} for genus in FOUR]


def found(species: Any, scores: Any, **stages: Any) -> Any:
    ranking = Ranking(species=np.array(species), scores=np.array(scores, dtype=float), stages=stages)
    return find_evidence(ranking, np.array([1, 3]), lambda at: [LINEAGES[i] for i in at], temperature=1.0)


def test_genus_and_family_masses_are_sums_over_their_species() -> None:
    powers = np.exp([2.0, 1.0, 0.5, 0.0])
    given = found([0, 2, 1, 3], [2.0, 1.0, 0.5, 0.0])
    shares = powers / powers.sum()
    assert given.masses["species"] == pytest.approx(shares[0])
    assert given.masses["genus"] == pytest.approx(shares[0] + shares[2])
    assert given.masses["family"] == pytest.approx(1 - shares[3])
    assert given.level == pytest.approx(np.log(powers.sum()))
    assert given.trained_mass == pytest.approx(shares[2] + shares[3])
    assert not given.is_trained


def test_a_species_of_unknown_genus_is_not_grouped() -> None:
    ranking = Ranking(species=np.array([0, 1]), scores=np.array([1.0, 1.0]))
    given = find_evidence(ranking, np.array([], dtype=int), lambda at: [{} for _ in at], temperature=1.0)
    assert given.masses == {"species": pytest.approx(0.5), "genus": pytest.approx(0.5), "family": pytest.approx(0.5)}


def test_a_missing_stage_score_counts_as_zero() -> None:
    given = found([0, 1], [1.0, 0.0], visual=np.array([np.nan, 0.5]), text=np.array([0.1, 0.2]))
    assert (given.visual, given.best_visual, given.text, given.prototype) == (0.0, 0.5, 0.1, 0.0)


# --- the chances -------------------------------------------------------------------------------------------------


def test_confidence_is_the_logistic_function_of_the_features() -> None:
    """By hand: 0.5 + 2 * logit(0.4) - 0.25 * 3."""
    species = model(bias=0.5, mass=2.0, level=-0.25)
    chances = chances_of(evidence(), parameters(species=species), unknown_prior=0.5)
    x = 0.5 + 2 * np.log(0.4 / 0.6) - 0.75
    assert chances.confidence["species"] == pytest.approx(1 / (1 + np.exp(-x)), abs=1e-4)


def test_confidence_never_falls_with_more_mass() -> None:
    chances = [
        chances_of(evidence(masses=dict.fromkeys(RANKS, mass)), parameters(), unknown_prior=0.5).confidence["species"]
        for mass in np.linspace(0, 1, 21)
    ]
    assert chances == sorted(chances)
    assert chances[0] < 0.01 < 0.99 < chances[-1]


def test_a_genus_is_never_less_likely_than_its_species() -> None:
    fitted = parameters(genus=model(bias=-9.0), family=model(bias=-9.0))
    confidence = chances_of(evidence(), fitted, unknown_prior=0.5).confidence
    assert confidence["species"] == confidence["genus"] == confidence["family"] == pytest.approx(0.4)


@pytest.mark.parametrize("share", [0.01, 0.2, 0.5, 0.9])
def test_the_unknown_prior_is_applied_by_bayes_rule(share: float) -> None:
    even = 1 / (1 + np.exp(1.2))
    expected = even * share / (even * share + (1 - even) * (1 - share))
    assert chances_of(evidence(), parameters(), unknown_prior=share).unknown == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("share", [0, 1, -0.1, 2])
def test_the_unknown_prior_must_be_between_0_and_1(share: float) -> None:
    with pytest.raises(ValueError, match="prior probability"):
        chances_of(evidence(), parameters(), unknown_prior=share)


# --- the file ----------------------------------------------------------------------------------------------------


def calibration(**changes: Any) -> Calibration:
    base = {
        "profile": "paper", "preset": "default", "spaces": ("a/1", "b/1"),
        "vocabulary": vocabulary_hash(["pica-pica", "bubo-bubo"]), "parameters": {"several": parameters()},
    }  # fmt: skip
    return Calibration(**(base | changes))


def test_a_calibration_file_keeps_content_and_id(tmp_path: Path) -> None:
    write_calibration(tmp_path / "c.json", calibration())
    again = read_calibration(tmp_path / "c.json")
    assert again == calibration()
    assert again.id == calibration().id != calibration(profile="other").id


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('"schema": 1', '"schema": 2'),
        lambda text: text.replace('"mass"', '"weight"'),
        lambda text: text.replace('"temperature": 1.0', '"temperature": 0.0'),
    ],
    ids=["cut off", "other schema", "unknown feature", "no temperature"],
)
def test_a_damaged_calibration_file_is_refused(tmp_path: Path, spoil: Any) -> None:
    path = tmp_path / "c.json"
    write_calibration(path, calibration())
    content = path.read_text()
    path.write_text(spoil(content))
    assert path.read_text() != content
    with pytest.raises(StoreError, match=r"c\.json|coefficients|temperature"):
        read_calibration(path)


ASKED = {
    "profile": "paper", "preset": "default", "spaces": ("a/1", "b/1"), "taxon_ids": ("bubo-bubo", "pica-pica"),
    "mode": "several", "weights": WEIGHTS["paper"]["several"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"profile": "starter"}, "other models"),
        ({"preset": "vr-rag-v1"}, "for the preset default"),
        ({"spaces": ("a/2", "b/1")}, "other models"),
        ({"taxon_ids": ("bubo-bubo",)}, "other species"),
        ({"taxon_ids": ("bubo-bubo", "pica-pica", "corvus-corax")}, "other species"),
        ({"mode": "single"}, "not made for single anchors"),
        ({"weights": WEIGHTS["paper"]["single"]}, "other weights"),
        ({"weights": None}, "other weights"),
    ],
)
def test_misfit_is_empty_or_names_the_difference(change: Any, why: str) -> None:
    assert calibration().misfit(**ASKED) == ""
    assert why in calibration().misfit(**(ASKED | change))


# --- the answer --------------------------------------------------------------------------------------------------

FIRST = Taxon(
    taxon_id="setophaga-pinus", scientific_name="Setophaga pinus", rank="species", common_names=("Pine Warbler",)
)
LINEAGE = {"genus": "Setophaga", "family": "Parulidae"}


def answered(
    species: Any, genus: Any, family: Any, *, unknown: float = 0.1, lineage: Any = LINEAGE, least: float = 0.5
) -> Any:
    chances = Chances(confidence={"species": species, "genus": genus, "family": family}, unknown=unknown)
    return answer_of(FIRST, chances, lineage, min_confidence=least)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((0.6, 0.8, 0.9), ("species", "Setophaga pinus", 0.6)),
        ((0.4, 0.8, 0.9), ("genus", "Setophaga", 0.8)),
        ((0.4, 0.45, 0.9), ("family", "Parulidae", 0.9)),
        ((0.4, 0.45, 0.49), ("none", "", None)),
        ((0.5, 0.5, 0.5), ("species", "Setophaga pinus", 0.5)),
    ],
)
def test_an_answer_rolls_up_to_the_first_confident_rank(
    given: tuple[float, float, float], expected: tuple[str, str, None] | tuple[str, str, float]
) -> None:
    answer = answered(*given)
    assert (answer.rank, answer.name, answer.confidence) == expected
    assert answer.p_unknown == 0.1
    assert answer.common_name == ("Pine Warbler" if answer.rank == "species" else None)


def test_a_probably_unknown_species_overrides_a_confident_name() -> None:
    answer = answered(0.9, 0.95, 0.99, unknown=0.6)
    assert answer == Answer(rank="none", name="", confidence=0.6, p_unknown=0.6)


def test_a_rank_without_a_name_is_skipped() -> None:
    assert answered(0.1, 0.8, 0.9, lineage={"family": "Parulidae"}).rank == "family"
    assert answered(0.1, 0.8, 0.9, lineage={}).rank == "none"


def test_an_uncalibrated_answer_is_the_first_species_without_confidence() -> None:
    plain = answer_of(FIRST, None, LINEAGE, min_confidence=1.0)
    assert plain == Answer(rank="species", name="Setophaga pinus", common_name="Pine Warbler", family="Parulidae")
    assert answer_of(None, None, {}, min_confidence=0.0) == Answer(rank="none", name="")


# --- in the recognizer -------------------------------------------------------------------------------------------

BIRDS = {"Rubra rubra": "crimson", "Rubra alta": "firebrick", "Caerulea caerulea": "royalblue", "Nigra nigra": "black"}


def bird(colour: Any, x: int = 0) -> Any:
    picture = Image.new("RGB", (96, 96), "white")
    ImageDraw.Draw(picture).ellipse((24 + x, 32, 72 + x, 72), fill=colour)
    return picture


@pytest.fixture(scope="module")
def encoders() -> Any:
    return toy_encoders()


def store_of(names: Any, encoders: Any) -> MemoryStore:
    sketches = {
        name: Sketch(
            pictures=[bird(BIRDS[name]), bird(BIRDS[name], 4)],
            lineage={"genus": name.split()[0], "family": "Avidae"},
        )
        for name in names
    }
    return MemoryStore(sketches, encoders)


@pytest.fixture(scope="module")
def store(encoders: Any) -> Any:
    return store_of(BIRDS, encoders)


@pytest.fixture(scope="module")
def fitting(store: Any, encoders: Any) -> Calibration:
    return Calibration(
        profile="paper", preset="default", spaces=encoders.spaces, vocabulary=vocabulary_hash(store.taxon_ids),
        parameters={"several": parameters()},
    )  # fmt: skip


def test_a_calibrated_row_has_calibration_id_and_confidence(store: Any, encoders: Any, fitting: Any) -> None:
    recognizer = Recognizer(store, encoders, calibration=fitting, min_confidence=0.0)
    row = next(recognizer.identify([bird("royalblue", 2)]))
    assert row.calibration == fitting.id == recognizer.calibration_id
    assert row.answer.name == "Caerulea caerulea"
    assert 0 < row.answer.confidence <= 1
    assert 0 < row.answer.p_unknown < 1


def test_two_similar_species_roll_up_to_their_genus(store: Any, encoders: Any, fitting: Any) -> None:
    row = next(Recognizer(store, encoders, calibration=fitting, min_confidence=0.75).identify([bird("#c81c2f", 2)]))
    assert {candidate.scientific_name for candidate in row.candidates[:2]} == {"Rubra rubra", "Rubra alta"}
    assert (row.answer.rank, row.answer.name) == ("genus", "Rubra")


def test_a_probably_unknown_species_is_answered_none(store: Any, encoders: Any, fitting: Any) -> None:
    sure = replace(fitting, parameters={"several": parameters(unknown=model(bias=9.0))})
    row = next(Recognizer(store, encoders, calibration=sure).identify([bird("royalblue")]))
    assert (row.answer.rank, row.answer.name, row.answer.confidence) == ("none", "", row.answer.p_unknown)
    assert row.answer.p_unknown > 0.9
    assert row.candidates


def test_confidence_does_not_depend_on_batch_or_order(store: Any, encoders: Any, fitting: Any) -> None:
    photos = [bird(colour, x) for colour in ("crimson", "grey", "royalblue", "black") for x in (0, 3)]

    def answers(pictures: Any, batch_size: Any) -> Any:
        recognizer = Recognizer(store, encoders, calibration=fitting, min_confidence=0.0, batch_size=batch_size)
        return [row.answer for row in recognizer.identify(pictures)]

    alone = answers(photos, 1)
    assert answers(photos, 32) == alone
    assert answers(photos[::-1], 3)[::-1] == alone


def test_confidence_does_not_depend_on_the_number_of_candidates(store: Any, encoders: Any, fitting: Any) -> None:
    rows = [
        next(Recognizer(store, encoders, calibration=fitting, k=k, min_confidence=0.0).identify([bird("crimson", 2)]))
        for k in (1, 4)
    ]
    assert rows[0].answer == rows[1].answer


@pytest.mark.parametrize(
    "settings", [{"m": 3}, {"anchor_pooling": "max"}, {"weights": WEIGHTS["paper"]["single"]}, {"preset": "vr-rag-v2"}]
)
def test_changed_settings_give_no_confidence(store: Any, encoders: Any, fitting: Any, settings: Any) -> None:
    row = next(Recognizer(store, encoders, calibration=fitting, min_confidence=1.0, **settings).identify([bird("red")]))
    assert (row.calibration, row.answer.confidence, row.answer.p_unknown) == (None, None, None)
    assert row.answer.rank == "species"


def test_a_knowledge_base_with_other_species_gives_no_confidence(encoders: Any, fitting: Any) -> None:
    fewer = store_of(list(BIRDS)[1:], encoders)
    row = next(Recognizer(fewer, encoders, calibration=fitting, min_confidence=1.0).identify([bird("red")]))
    assert (row.calibration, row.answer.rank, row.answer.confidence) == (None, "species", None)


@pytest.mark.parametrize("settings", [{"min_confidence": 1.1}, {"min_confidence": -0.1}, {"unknown_prior": 0.0}])
def test_probability_settings_outside_their_range_are_refused(
    store: Any, encoders: Any, settings: dict[str, float]
) -> None:
    with pytest.raises(UsageError, match="Expected min_confidence from 0 to 1"):
        Recognizer(store, encoders, **settings)


def test_the_calibration_file_is_plain_json(tmp_path: Path) -> None:
    write_calibration(tmp_path / "c.json", calibration())
    payload = json.loads((tmp_path / "c.json").read_text())
    assert payload["parameters"]["several"]["species"]["mass"] == 1.0
