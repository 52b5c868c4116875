"""Opening of model files."""

from typing import Any

import numpy as np
import pytest

from recognize import model_file
from recognize.model_file import int8_overflows, open_model
from recognize.starter.encoders import TOWER_FILE, Weights
from recognize.starter.tower import IMAGE_PX

TOWER = Weights().folder / TOWER_FILE


def test_features_are_those_of_exact_sums_where_int8_overflows_and_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last bit. Each picture has one thread."""
    pixels = np.random.default_rng(0).uniform(-1, 1, size=(1, 3, IMAGE_PX, IMAGE_PX)).astype(np.float32)
    found = open_model(TOWER).run(None, {"pixels": pixels})[0]
    for overflows in (False, True):
        monkeypatch.setattr(model_file, "int8_overflows", lambda overflows=overflows: overflows)
        model = open_model(TOWER)
        options = model.get_session_options()
        assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)
        assert options.get_session_config_entry("session.x64quantprecision") == str(int(overflows))
    np.testing.assert_array_equal(found, model.run(None, {"pixels": pixels})[0])


@pytest.mark.parametrize(("product", "overflows"), [(64 * 255 * 127, False), (32 * 32767, True)])
def test_a_product_that_is_too_small_is_an_overflow(
    product: int, overflows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without VNNI, each pair of products is cut to 32767."""

    class Processor:
        def run(self, outputs: None, numbers: dict[str, Any]) -> list[Any]:
            assert [numbers[name].min() for name in ("a", "b")] == [255, 127]
            return [np.full((4, 16), product)]

    monkeypatch.setattr(model_file, "_open", lambda path, *, is_exact: Processor())
    int8_overflows.cache_clear()
    assert int8_overflows() is overflows
    int8_overflows.cache_clear()
