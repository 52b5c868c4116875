"""Share of unknown species estimated from photos: most probable share, spread sample, and use in a run."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.optimize import minimize_scalar

from recognize import Recognizer
from recognize.confidence.calibration import Calibration, Parameters, vocabulary_hash
from recognize.confidence.chances import N_SAMPLED, STRENGTH, estimate_prior, sample_of
from recognize.photos import encode_in_batches
from recognize.scoring.fusion import WEIGHTS
from recognize.settings import UNKNOWN_PRIOR
from tests.recognize.birds_in_memory import bird


def best_share(even: Any) -> float:
    """Return the share of the highest posterior density, by an optimiser."""

    def loss(share: float) -> float:
        likely = np.log(share * even + (1 - share) * (1 - even)).sum()
        prior = STRENGTH * (UNKNOWN_PRIOR * np.log(share) + (1 - UNKNOWN_PRIOR) * np.log(1 - share))
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
    assert sample_of(4 * N_SAMPLED) == list(range(0, 4 * N_SAMPLED, 4))
    assert len(set(sample_of(N_SAMPLED + 1))) == N_SAMPLED


@pytest.fixture(scope="module")
def calibration(store: Any, encoders: Any) -> Calibration:
    """Unknown where the best anchor is not very similar."""
    made = Parameters(
        temperature=1.0, held={"species": {"bias": 2.0}}, unknown={"bias": 38.0, "best_visual": -40.0},
        weights=WEIGHTS["paper"]["several"],
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
    one = next(recognizer.identify(photos[:1]))
    stream = next(recognizer.identify(iter(photos)))
    assert one.unknown_prior == stream.unknown_prior == UNKNOWN_PRIOR
    groups = [photos[:2], photos[2:6], photos[6:]]
    of_groups = recognizer.estimate_unknown_prior(groups)
    assert of_groups == recognizer.estimate_unknown_prior([each[0] for each in groups]), "an encounter counts once"


def test_a_run_encodes_no_photo_twice(
    store: Any, encoders: Any, calibration: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recognize.confidence.chances.N_SAMPLED", 8)
    paths = [tmp_path / f"{i}.png" for i in range(16)]
    for i, path in enumerate(paths):
        bird(("crimson", "royalblue", "lime")[i % 3], x=i % 7).save(path)
    paths[1].write_bytes(b"no picture")
    encoded: list[str] = []

    def counting(encoders: Any, images: Any, **more: Any) -> Any:
        for batch, queries, seconds in encode_in_batches(encoders, images, **more):
            encoded.extend(decoded.name for decoded in batch)
            yield batch, queries, seconds

    monkeypatch.setattr("recognize.photo_task.encode_in_batches", counting)
    rows = list(Recognizer(store, encoders, calibration=calibration, batch_size=8).identify(paths))
    assert sorted(encoded) == sorted(map(str, paths))
    assert [row.image for row in rows] == list(map(str, paths))
    assert [row.status for row in rows].index("error") == 1
    plain = Recognizer(store, encoders, calibration=calibration, unknown_prior=rows[0].unknown_prior)
    assert [row.answer for row in plain.identify(paths)] == [row.answer for row in rows]


def test_photos_without_a_bird_do_not_count(store: Any, encoders: Any, calibration: Any) -> None:
    nothing = SimpleNamespace(name="nothing", detect=lambda images: [() for _ in images])
    recognizer = Recognizer(store, replace(encoders, detector=nothing), calibration=calibration)
    photos, blank = pictures(), [Image.new("RGB", (96, 96), "magenta")] * 6
    prior = recognizer.estimate_unknown_prior([*photos, *blank])
    assert prior == recognizer.estimate_unknown_prior(photos)
    assert [row.status for row in recognizer.identify([*photos, *blank])][-6:] == ["no_bird"] * 6
    assert [row.status for row in recognizer.identify([b"", b"none"])] == ["error", "error"], "without any to judge by"
