from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch of the extra `models` is not installed (CI installs it)")
pytest.importorskip("onnx", reason="onnx beside torch of the extra `models` is not installed (CI installs it)")

from data.arrays import as_unit_rows  # noqa: E402
from recognize.tower import IMAGE_PX, Tower  # noqa: E402
from training.starter.backbone import N_FEATURES, SCALES, Backbone  # noqa: E402
from training.starter.export import write_tower  # noqa: E402


def random_trunk(variant: str) -> Backbone:
    """Return a trunk in eval mode with batch norms that are not the identity."""
    trunk = Backbone(variant).eval()
    for module in trunk.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.uniform_(-0.1, 0.1)
            module.running_var.uniform_(0.5, 1.5)
            torch.nn.init.uniform_(module.weight, 1.0, 2.0)
            torch.nn.init.uniform_(module.bias, -0.1, 0.3)
    return trunk


def test_the_onnx_tower_gives_the_unit_rows_of_its_trunks(tmp_path: Path) -> None:
    """In their order, to 1e-5."""
    torch.manual_seed(0)
    trunks = {name: random_trunk(name) for name in SCALES}
    write_tower(trunks, tmp_path / "tower.onnx")
    pixels = torch.rand(1, 3, IMAGE_PX, IMAGE_PX) * 2 - 1
    with torch.inference_mode():
        by_torch = np.concatenate([as_unit_rows(trunk(pixels).numpy())[0] for trunk in trunks.values()])
    first, second, third = np.split(by_torch, 3)
    assert min(first.std(), np.abs(first - second).max(), np.abs(second - third).max()) > 1e-3
    tower = Tower(tmp_path / "tower.onnx")
    assert tower.n_features == 3 * N_FEATURES
    assert tower.features_of_pixels(pixels[0].numpy()) == pytest.approx(by_torch, abs=1e-5)
