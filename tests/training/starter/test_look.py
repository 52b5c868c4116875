"""The metric learned for photos, and its prototypes. Needs torch."""

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch of the extra `models` is not installed (CI installs it)")

from data.arrays import as_unit_rows  # noqa: E402
from tests.training.starter.world import LABELS, two_views  # noqa: E402
from training.starter.look import fit_discriminants, train_look  # noqa: E402

VOCABULARY = ("Aus aus", "Bus bus")


@pytest.fixture(scope="module")
def features() -> Any:
    return two_views()


def test_the_nearest_prototype_of_a_training_photo_is_its_species(features: Any) -> None:
    look = train_look(features, ["Aus aus"] * 12 + ["Bus bus"] * 12, np.arange(24), dim=4, epochs=5)
    assert look.species == VOCABULARY
    assert (look.encode(features[0]) @ look.prototypes.T).argmax(axis=1).tolist() == LABELS.tolist()


def test_discriminants_separate_the_species(features: Any) -> None:
    mean, matrix = fit_discriminants(features, LABELS, 1)
    line = ((as_unit_rows(features[0]) - mean) @ matrix).ravel()
    within = max(line[:12].std(), line[12:].std())
    assert abs(line[:12].mean() - line[12:].mean()) > 4 * within
