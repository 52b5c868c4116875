"""The metric learned for photos, and its prototypes. Needs torch."""

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch of the extra `models` is not installed (CI installs it)")

from data.arrays import as_unit_rows  # noqa: E402
from tests.training.starter.world import LABELS, two_views  # noqa: E402
from training.starter.look import SMOOTHING, TEMPERATURE, _Start, train_look  # noqa: E402

VOCABULARY = ("Aus aus", "Bus bus")


@pytest.fixture(scope="module")
def features() -> Any:
    return two_views()


def test_the_nearest_prototype_of_a_training_photo_is_its_species(features: Any) -> None:
    look = train_look(features, ["Aus aus"] * 12 + ["Bus bus"] * 12, np.arange(24), dim=4, epochs=5)
    assert look.species == VOCABULARY
    assert (look.encode(features[0]) @ look.prototypes.T).argmax(axis=1).tolist() == LABELS.tolist()


def test_the_loss_is_of_the_mean_of_both_views(features: Any) -> None:
    """Two views that point to different species are as good as one between them, whatever their lengths."""
    start = _Start.of(features, ["Aus aus"] * 12 + ["Bus bus"] * 12, np.arange(24), 4)
    rows = [torch.from_numpy(as_unit_rows(view)) - start.offset for view in features]
    vectors = [torch.nn.functional.normalize(view @ start.metric, dim=1) for view in rows]
    cosines = torch.nn.functional.normalize(vectors[0] + vectors[1], dim=1) @ start.prototypes.T
    expected = torch.nn.functional.cross_entropy(TEMPERATURE * cosines, start.targets, label_smoothing=SMOOTHING)
    assert start.loss([3 * rows[0], rows[1]], start.targets).item() == pytest.approx(expected.item(), abs=1e-5)
    assert start.loss(rows[:1], start.targets).item() != pytest.approx(expected.item(), abs=1e-3)
