from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.optimize import minimize_scalar

from data.records import vocabulary_hash
from recognize import Recognizer
from recognize.answers import RANKS
from recognize.confidence import calibration as chances_module
from recognize.confidence.calibration import (
    Calibration,
    Chances,
    Parameters,
    chances_of,
    estimate_prior,
    sample_of,
)
from recognize.confidence.evidence import FEATURES, N_JUDGED
from recognize.scoring.presets import NOT_FITTED
from recognize.scoring.ranking import Ranking
from recognize.settings import UNKNOWN_PRIOR
from tests.recognize.birds_in_memory import bird
from tests.toy.encoders import Counting


def row(**features: float) -> Any:
    return np.array([[features.get(name, 1.0 if name == "bias" else 0.0) for name in FEATURES]])


def chances(rows: Any, prior: float = 0.5, **changes: Any) -> Chances:
    base: Any = {"temperature": 1.0, "held": {"species": {}}, "unknown": {}}
    return chances_of(rows, Parameters(**(base | changes)), unknown_prior=prior)[0]


def logistic(x: float) -> Any:
    return pytest.approx(1 / (1 + np.exp(-x)), abs=1e-4)


def test_a_chance_is_the_logistic_function_of_the_features() -> None:
    held = {"species": {"bias": 0.5, "mass_species": 2.0, "level": -0.25}}
    found = chances(row(mass_species=-0.4, level=3.0), held=held, unknown={"bias": -1.2})
    assert found.held["species"] == logistic(0.5 - 0.8 - 0.75)
    assert found.unknown == logistic(-1.2)


def test_a_higher_rank_is_never_less_likely() -> None:
    held = {"species": {}, "genus": {"bias": -9.0}, "order": {"bias": 2.0}}
    assert chances(row(), held=held).held == {"species": 0.5, "genus": 0.5, "family": 0.5, "order": logistic(2.0)}


def test_a_look_is_poor_below_the_threshold_of_the_calibration() -> None:
    parameters = Parameters(temperature=1.0, held={"species": {}}, unknown={"bias": 4.0}, poor_look=0.45)
    rows = np.concatenate([row(best_look=0.44), row(best_look=0.45)])
    poor, good = chances_of(rows, parameters, unknown_prior=0.5)
    assert (poor.is_poor, good.is_poor) == (True, False)
    assert replace(poor, is_poor=False) == good


def test_the_chance_of_an_answer_is_that_of_a_species_of_the_knowledge_base() -> None:
    found = Chances(held=dict(zip(RANKS, (0.5, 0.7, 0.8, 1.0), strict=True)), unknown=0.25)
    assert [found.right(rank) for rank in RANKS] == [0.375, 0.525, 0.6, 0.75]


def test_the_unknown_prior_is_applied_by_bayes_rule() -> None:
    for prior in (0.01, 0.2, 0.9):
        even = 1 / (1 + np.exp(1.2))
        expected = even * prior / (even * prior + (1 - even) * (1 - prior))
        assert chances(row(), prior, unknown={"bias": -1.2}).unknown == pytest.approx(expected, abs=1e-4), prior
    for wrong in (0, 1, -0.1, 2):
        with pytest.raises(ValueError, match="prior probability"):
            chances_module.at_prior(np.array([0.5]), wrong)
    extreme = chances(row(level=1e9), unknown={"level": 1.0}, held={"species": {"level": -1.0}})
    assert (extreme.unknown, extreme.held["species"]) == (1.0, 0.0)


def ranking(*scores: float) -> Ranking:
    return Ranking(species=np.arange(len(scores)), scores=np.array(scores), stages={})


def sure(held: float, unknown: float = 0.0, **higher: float) -> Chances:
    return Chances(held=dict.fromkeys(RANKS, held) | higher, unknown=unknown)  # type: ignore[arg-type]


def candidate_confidences(ranked: Ranking, *given: Any, lineages: Any = None, **settings: Any) -> tuple[float, ...]:
    return chances_module.candidate_confidences(
        ranked, *given, lineages or [{}] * min(len(ranked.species), N_JUDGED), **settings
    )


def test_alternatives_share_the_remainder_by_the_softmax_of_their_scores() -> None:
    scores = ranking(9.0, 2.0 * np.log(3), 0.0)
    for unknown, expected in ((0.0, (0.8, 0.15, 0.05)), (0.25, (0.6, 0.1125, 0.0375))):
        found = candidate_confidences(scores, sure(0.8, unknown), temperature=2.0, n=3)
        assert found == pytest.approx(expected, abs=1e-4), "candidates and the unknown species share the whole"
        assert candidate_confidences(scores, sure(0.8, unknown), temperature=2.0, n=2) == found[:2]
    assert candidate_confidences(ranking(1.0, 0.9), sure(0.3), temperature=1.0, n=2) == (0.3, 0.3), "none exceeds it"
    found = candidate_confidences(ranking(1.0, 0.9, 0.8, -9.0), sure(0.3), temperature=0.1, n=4)
    assert found == pytest.approx((0.3, 0.3, 0.3, 0.1), abs=1e-4), "what the second may not have goes to the next"


def test_species_beyond_the_judged_ones_get_no_share() -> None:
    for n in (1, N_JUDGED, N_JUDGED + 1, 3 * N_JUDGED):
        scores = ranking(*[1.0] * (2 * N_JUDGED))
        found = candidate_confidences(scores, sure(0.51), temperature=1.0, n=n)
        assert found == pytest.approx([0.51, *[0.01] * (N_JUDGED - 1), *[0.0] * N_JUDGED][:n], abs=1e-9), n
        assert len(found) == min(n, 2 * N_JUDGED), n


def test_the_species_of_a_genus_have_no_more_confidence_than_the_genus() -> None:
    """The second species is of the same genus, the third of the same family; the last shares nothing."""
    lineages = [{"genus": "Larus", "family": "Laridae"}] * 2 + [{"genus": "Rissa", "family": "Laridae"}, {}]
    chances = sure(0.4, 0.25, genus=0.5, family=0.7, order=0.7)
    found = candidate_confidences(ranking(4.0, 3.9, 3.8, 3.7), chances, lineages=lineages, temperature=1.0, n=4)
    assert found == pytest.approx((0.3, 0.075, 0.15, 0.225), abs=1e-4)
    assert sum(found[:2]) <= chances.right("genus")
    assert sum(found[:3]) <= chances.right("family")
    chances = sure(0.4, genus=0.6, family=0.6, order=0.6)
    found = candidate_confidences(ranking(2.0, 1.0), chances, lineages=[{"genus": "Larus"}, {}], temperature=1.0, n=2)
    assert found == (0.4, 0.4), "without another species of the genus its chance goes to no candidate"


def best_share(even: Any) -> float:
    def loss(share: float) -> float:
        likely = np.log(share * even + (1 - share) * (1 - even)).sum()
        prior = chances_module.STRENGTH * (UNKNOWN_PRIOR * np.log(share) + (1 - UNKNOWN_PRIOR) * np.log(1 - share))
        return -float(likely + prior)

    return float(minimize_scalar(loss, bounds=(1e-6, 1 - 1e-6), method="bounded", options={"xatol": 1e-9}).x)


def test_the_estimate_is_the_most_probable_share() -> None:
    for share, n in ((0.0, 128), (0.1, 10), (0.4, 2), (0.7, 128), (1.0, 10)):
        rng = np.random.default_rng(n)
        is_unknown = rng.random(n) < share
        even = 1 / (1 + np.exp(-rng.normal(np.where(is_unknown, 2.0, -2.0), 2.0)))
        assert estimate_prior(even) == pytest.approx(np.clip(best_share(even), 0.01, 0.99), abs=1e-3), share
    assert estimate_prior(np.array([0.999])) == estimate_prior(np.empty(0)) == UNKNOWN_PRIOR, "one photo tells nothing"
    assert estimate_prior(np.full(50, 0.5)) == UNKNOWN_PRIOR, "nor do photos without evidence"
    assert (estimate_prior(np.zeros(100_000)), estimate_prior(np.ones(100_000))) == (0.01, 0.99)


def test_a_sample_is_spread_over_all_photos() -> None:
    assert sample_of(3) == [0, 1, 2]
    assert sample_of(4 * chances_module.N_SAMPLED) == list(range(0, 4 * chances_module.N_SAMPLED, 4))
    assert len(set(sample_of(chances_module.N_SAMPLED + 1))) == chances_module.N_SAMPLED


@pytest.fixture(scope="module")
def calibration(store: Any, encoders: Any) -> Calibration:
    """Unknown where the best anchor is not very similar."""
    made = Parameters(
        temperature=1.0, held={"species": {"bias": 2.0}}, unknown={"bias": 38.0, "best_visual": -40.0},
        weights=NOT_FITTED["several"],
    )  # fmt: skip
    parameters = {"default": {"several": made}}
    vocabulary = vocabulary_hash(store.taxon_ids)
    return Calibration(profile="paper", spaces=encoders.spaces, vocabulary=vocabulary, parameters=parameters)


def pictures() -> Any:
    return [bird(colour, x=x) for colour in ("crimson", "royalblue", "lime", "magenta") for x in (0, 2)]


def test_photos_of_a_list_give_the_prior_of_all_its_rows(store: Any, encoders: Any, calibration: Any) -> None:
    recognizer = Recognizer(store, encoders, calibration=calibration)
    photos = pictures()
    prior = recognizer.estimate_unknown_prior(photos)
    assert prior > UNKNOWN_PRIOR
    rows = list(recognizer.identify(photos))
    assert {row.unknown_prior for row in rows} == {prior}
    fixed = list(Recognizer(store, encoders, calibration=calibration, unknown_prior=prior).identify(photos))
    assert [row.answer for row in rows] == [row.answer for row in fixed]
    for few in (photos[:1], iter(photos)):
        assert next(recognizer.identify(few)).unknown_prior == UNKNOWN_PRIOR
    groups = [photos[:2], photos[2:6], photos[6:]]
    of_groups = recognizer.estimate_unknown_prior(groups)
    assert of_groups == recognizer.estimate_unknown_prior([each[0] for each in groups]), "an encounter counts once"


def test_a_run_encodes_no_photo_twice(
    store: Any, encoders: Any, calibration: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recognize.confidence.calibration.N_SAMPLED", 8)
    counting = Counting()
    mine = replace(encoders, text_image=(counting,))
    photos = [bird(("crimson", "royalblue", "lime")[i % 3], x=i) for i in range(16)]
    rows = list(Recognizer(store, mine, calibration=calibration, batch_size=8).identify([photos[0], b"", *photos[1:]]))
    assert [row.status for row in rows].index("error") == 1
    assert counting.n_images == 16


def test_photos_without_a_bird_do_not_count(store: Any, encoders: Any, calibration: Any) -> None:
    nothing = SimpleNamespace(name="nothing", detect=lambda images: [() for _ in images])
    recognizer = Recognizer(store, replace(encoders, detector=nothing), calibration=calibration)
    photos, blank = pictures(), [Image.new("RGB", (96, 96), "magenta")] * 6
    prior = recognizer.estimate_unknown_prior([*photos, *blank])
    assert prior == recognizer.estimate_unknown_prior(photos)
    assert [row.status for row in recognizer.identify([*photos, *blank])][-6:] == ["no_bird"] * 6
    assert [row.status for row in recognizer.identify([b"", b"none"])] == ["error", "error"], "without any to judge by"
