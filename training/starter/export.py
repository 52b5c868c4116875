"""Export of the trunk to ONNX, with batch norms folded into the convolutions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from recognize.starter.tower import IMAGE_PX, N_FEATURES
from training.starter.backbone import Backbone, Block, SameConv

OPSET = 17


def write_tower(backbone: Backbone, path: Path) -> None:
    """Write the trunk in eval mode: `pixels` `(1, 3, px, px)` in, `features` `(1, 1280)` out, both float32."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes: list[object] = []
    weights: list[object] = []

    def constant(name: str, array: NDArray[np.generic]) -> str:
        weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    low, high = constant("zero", np.zeros((), np.float32)), constant("six", np.full((), 6, np.float32))

    def convolve(name: str, conv: SameConv, norm: nn.BatchNorm2d, size: int, inputs: str, *, clip: bool) -> str:
        scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
        kernel = (conv.weight * scale[:, None, None, None]).detach().numpy()
        bias = (norm.bias - norm.running_mean * scale).detach().numpy()
        pad = conv.padding_of(size)
        nodes.append(
            helper.make_node(
                "Conv",
                [inputs, constant(f"{name}.kernel", kernel), constant(f"{name}.bias", bias)],
                [name],
                kernel_shape=list(conv.kernel_size),
                strides=list(conv.stride),
                pads=[pad[0], pad[0], pad[1], pad[1]],
                group=conv.groups,
            )
        )
        if not clip:
            return name
        nodes.append(helper.make_node("Clip", [name, low, high], [f"{name}.clipped"]))
        return f"{name}.clipped"

    size = IMAGE_PX
    x = convolve("stem", backbone._conv_stem, backbone._bn0, size, "pixels", clip=True)
    size = -(-size // 2)
    for i, block in enumerate(backbone._blocks):
        if not isinstance(block, Block):
            raise TypeError(f"expected a Block, got {type(block).__name__}")
        inner = x
        if block._expand_conv is not None and block._bn0 is not None:
            inner = convolve(f"{i}.expand", block._expand_conv, block._bn0, size, inner, clip=True)
        inner = convolve(f"{i}.depthwise", block._depthwise_conv, block._bn1, size, inner, clip=True)
        size = -(-size // block._depthwise_conv.stride[0])
        inner = convolve(f"{i}.project", block._project_conv, block._bn2, size, inner, clip=False)
        if block.is_residual:
            nodes.append(helper.make_node("Add", [inner, x], [f"{i}.sum"]))
            inner = f"{i}.sum"
        x = inner
    x = convolve("head", backbone._conv_head, backbone._bn1, size, x, clip=True)
    nodes.append(helper.make_node("GlobalAveragePool", [x], ["pooled"]))
    nodes.append(helper.make_node("Flatten", ["pooled"], ["features"]))
    px = IMAGE_PX
    graph = helper.make_graph(
        nodes,
        "starter",
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, [1, 3, px, px])],
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, [1, N_FEATURES])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="fieldmark")
    model.ir_version = 8  # readable by the oldest supported onnxruntime
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())
