"""Quantisation of ONNX models. Needs onnx."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx beside torch of the extra `models` is not installed (CI installs it)")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from data.arrays import FloatArray  # noqa: E402
from recognize.model_file import open_model  # noqa: E402
from training.quantise import quantise  # noqa: E402

RNG = np.random.default_rng(0)


def two_convolutions() -> bytes:
    """Return a model of two convolutions, `first` and `second`."""
    weights = [RNG.normal(size=(4, 4, 3, 3)).astype(np.float32) for _ in range(2)]
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["pixels", "w0"], ["first"], kernel_shape=[3, 3]),
            helper.make_node("Conv", ["first", "w1"], ["second"], kernel_shape=[3, 3]),
        ],
        "two",
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, [1, 4, 16, 16])],
        [helper.make_tensor_value_info("second", TensorProto.FLOAT, [1, 4, 12, 12])],
        [numpy_helper.from_array(array, f"w{i}") for i, array in enumerate(weights)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return bytes(model.SerializeToString())


def inputs(n: int) -> Iterator[FloatArray]:
    """Yield inputs in [-1, 1]."""
    for _ in range(n):
        yield RNG.uniform(-1, 1, size=(1, 4, 16, 16)).astype(np.float32)


def int8_weights(path: Path) -> int:
    """Return the number of weights of more than one dimension that are stored in int8."""
    return sum(each.data_type == TensorProto.INT8 and len(each.dims) > 1 for each in onnx.load(path).graph.initializer)


def test_a_quantised_model_gives_nearly_the_same(tmp_path: Path) -> None:
    """Within 2 % of the spread of the float32 outputs."""
    model = two_convolutions()
    quantise(model, inputs(20), tmp_path / "small.onnx", stays_float=lambda _: False)
    assert int8_weights(tmp_path / "small.onnx") == 2
    (tmp_path / "whole.onnx").write_bytes(model)
    sessions = [open_model(tmp_path / name) for name in ("whole.onnx", "small.onnx")]
    batch = next(inputs(1))
    exact, found = (session.run(None, {"pixels": batch})[0] for session in sessions)
    assert 0 < np.abs(exact - found).mean() < 0.02 * exact.std()
