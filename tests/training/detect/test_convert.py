"""Conversion of the detector. Needs onnx."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx beside torch of the extra `models` is not installed (CI installs it)")

import onnxruntime  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from data.arrays import FloatArray  # noqa: E402
from training.detect.convert import with_scales, without_pads  # noqa: E402

RNG = np.random.default_rng(0)


def padded(value: float) -> bytes:
    """Return a model that pads, convolves, and doubles the size by a list of sizes."""
    graph = helper.make_graph(
        [
            helper.make_node("Pad", ["pixels", "sides", "value"], ["wide"]),
            helper.make_node("Conv", ["wide", "w"], ["maps"], kernel_shape=[3, 3]),
            helper.make_node("Resize", ["maps", "", "", "sizes"], ["large"], axes=[2, 3], mode="linear"),
        ],
        "padded",
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, [1, 2, 8, 8])],
        [helper.make_tensor_value_info("large", TensorProto.FLOAT, [1, 2, 18, 18])],
        [
            numpy_helper.from_array(np.array([0, 0, 0, 1, 0, 0, 2, 2], dtype=np.int64), "sides"),
            numpy_helper.from_array(np.array(value, dtype=np.float32), "value"),
            numpy_helper.from_array(RNG.normal(size=(2, 2, 3, 3)).astype(np.float32), "w"),
            numpy_helper.from_array(np.array([16, 18], dtype=np.int64), "sizes"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.graph.output[0].type.tensor_type.shape.dim[2].dim_value = 16
    model.ir_version = 8
    return bytes(model.SerializeToString())


def output(model: bytes, pixels: FloatArray) -> FloatArray:
    """Return what a model gives."""
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    found: FloatArray = session.run(None, {"pixels": pixels})[0]
    return found


def kinds(model: bytes) -> list[str]:
    """Return the kinds of the nodes of a model."""
    return [node.op_type for node in onnx.load_from_string(model).graph.node]


def test_padding_and_sizes_go_and_the_output_stays() -> None:
    model, pixels = padded(0.0), RNG.normal(size=(1, 2, 8, 8)).astype(np.float32)
    light = with_scales(without_pads(model))
    assert kinds(light) == ["Conv", "Resize"]
    assert list(onnx.load_from_string(light).graph.node[1].input)[1:] == ["", "large.factors"]
    np.testing.assert_allclose(output(light, pixels), output(model, pixels), atol=1e-6)
