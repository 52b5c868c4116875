"""The shipped calibration file."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from data.starter.knowledge import read_species
from recognize.confidence.calibration import RANKS, read_calibration
from recognize.scoring.fusion import WEIGHTS
from recognize.starter.encoders import load_starter

SHIPPED = Path(str(files("data"))) / "starter" / "calibration.json"


@pytest.fixture(scope="module")
def shipped() -> Any:
    return read_calibration(SHIPPED)


@pytest.mark.parametrize("mode", ["several", "single"])
def test_the_shipped_calibration_fits_the_starter_knowledge(shipped: Any, mode: str) -> None:
    """If spaces, vocabulary or weights change, the calibration must be fitted again."""
    encoders = load_starter()
    taxon_ids = [species.taxon.taxon_id for species in read_species()]
    assert not shipped.misfit(
        profile="starter", preset="default", spaces=encoders.spaces, taxon_ids=taxon_ids, mode=mode,
        weights=WEIGHTS["starter"][mode],
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["several", "single"])
def test_more_probability_mass_gives_more_confidence(shipped: Any, mode: str) -> None:
    fitted = shipped.parameters[mode]
    assert all(getattr(fitted, rank)["mass"] > 0 for rank in RANKS)
    assert fitted.unknown["mass"] < 0
    assert 0.5 < fitted.temperature < 2
