"""Export of the trained trunk to ONNX. Needs torch and onnx."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch of the extra `models` is not installed (CI installs it)")
pytest.importorskip("onnx", reason="onnx beside torch of the extra `models` is not installed (CI installs it)")

from recognize.starter.tower import Tower  # noqa: E402
from training.starter.backbone import Backbone  # noqa: E402
from training.starter.export import write_tower  # noqa: E402


def test_the_onnx_tower_gives_the_features_of_the_trunk(tmp_path: Path) -> None:
    """In eval mode, with batch norms that are not the identity, to 1e-4."""
    torch.manual_seed(0)
    trunk = Backbone().eval()
    for module in trunk.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.uniform_(-0.1, 0.1)
            module.running_var.uniform_(0.5, 1.5)
            torch.nn.init.uniform_(module.weight, 1.0, 2.0)
            torch.nn.init.uniform_(module.bias, -0.1, 0.3)
    write_tower(trunk, tmp_path / "tower.onnx")
    pixels = torch.rand(1, 3, 260, 260) * 2 - 1
    with torch.inference_mode():
        by_torch = trunk(pixels).numpy()[0]
    assert by_torch.std() > 0.01
    assert Tower(tmp_path / "tower.onnx").features_of_pixels(pixels[0].numpy()) == pytest.approx(by_torch, abs=1e-4)
