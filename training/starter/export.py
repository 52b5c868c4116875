"""Export of trunks to one ONNX model, with batch norms folded into the convolutions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from recognize.tower import IMAGE_PX
from training.starter.backbone import N_FEATURES, Backbone, Block, SameConv

OPSET = 17


class _Graph:
    """Nodes and weights of a model under construction."""

    def __init__(self) -> None:
        self.nodes: list[object] = []
        self.weights: list[object] = []

    def constant(self, name: str, array: NDArray[np.generic]) -> str:
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, kind: str, inputs: list[str], output: str, **attributes: object) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def convolve(self, name: str, conv: SameConv, norm: nn.BatchNorm2d, size: int, inputs: str, *, clip: bool) -> str:
        """Add a convolution with its batch norm to maps `size` pixels wide, with `clip` ReLU6."""
        scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
        kernel = (conv.weight * scale[:, None, None, None]).detach().numpy()
        bias = (norm.bias - norm.running_mean * scale).detach().numpy()
        pad = conv.padding_of(size)
        out = self.node(
            "Conv",
            [inputs, self.constant(f"{name}.kernel", kernel), self.constant(f"{name}.bias", bias)],
            name,
            kernel_shape=list(conv.kernel_size),
            strides=list(conv.stride),
            pads=[pad[0], pad[0], pad[1], pad[1]],
            group=conv.groups,
        )
        return self.node("Clip", [out, "zero", "six"], f"{name}.clipped") if clip else out

    def trunk(self, prefix: str, backbone: Backbone) -> str:
        """Add a trunk; return the name of its features, a unit row."""
        size = IMAGE_PX
        x = self.convolve(f"{prefix}.stem", backbone._conv_stem, backbone._bn0, size, "pixels", clip=True)
        size = -(-size // 2)
        for i, block in enumerate(backbone._blocks):
            if not isinstance(block, Block):
                raise TypeError(f"expected a Block, got {type(block).__name__}")
            name, inner = f"{prefix}.{i}", x
            if block._expand_conv is not None and block._bn0 is not None:
                inner = self.convolve(f"{name}.expand", block._expand_conv, block._bn0, size, inner, clip=True)
            inner = self.convolve(f"{name}.depthwise", block._depthwise_conv, block._bn1, size, inner, clip=True)
            size = -(-size // block._depthwise_conv.stride[0])
            inner = self.convolve(f"{name}.project", block._project_conv, block._bn2, size, inner, clip=False)
            x = self.node("Add", [inner, x], f"{name}.sum") if block.is_residual else inner
        x = self.convolve(f"{prefix}.head", backbone._conv_head, backbone._bn1, size, x, clip=True)
        x = self.node("Flatten", [self.node("GlobalAveragePool", [x], f"{prefix}.pooled")], f"{prefix}.flat")
        return self.node("LpNormalization", [x], f"{prefix}.unit", axis=1, p=2)


def write_tower(trunks: Mapping[str, Backbone], path: Path) -> None:
    """Write trunks in eval mode as one model, float32.

    Input `pixels`, `(1, 3, px, px)`; output `features`, `(1, 1280 * n)`: the unit rows of all trunks, in their order.
    """
    import onnx
    from onnx import TensorProto, helper

    graph = _Graph()
    graph.constant("zero", np.zeros((), np.float32))
    graph.constant("six", np.full((), 6, np.float32))
    rows = [graph.trunk(name, trunk) for name, trunk in trunks.items()]
    graph.node("Concat", rows, "features", axis=1)
    px = IMAGE_PX
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "starter",
            [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, [1, 3, px, px])],
            [helper.make_tensor_value_info("features", TensorProto.FLOAT, [1, N_FEATURES * len(trunks)])],
            graph.weights,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="fieldmark",
    )
    model.ir_version = 8  # readable by the oldest supported onnxruntime
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())
