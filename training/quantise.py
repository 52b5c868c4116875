"""Quantisation of the models that ship: int8 convolutions, half the time and a quarter of the size of float32."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from data.arrays import FloatArray

N_CALIBRATION = 100
"""Photos whose activations set the ranges."""


def quantise(model: bytes, inputs: Iterable[FloatArray], out: Path, *, stays_float: Callable[[str], bool]) -> None:
    """Write an ONNX model with weights and activations of its convolutions in int8, one scale a channel of weights.

    Args:
        model: a float32 model of one input, whose convolutions are named by what they put out.
        inputs: batches that set the range of each activation, from the least to the greatest.
        out: file to write.
        stays_float: whether the convolution of a name stays float32.
    """
    import onnx
    from onnxruntime import quantization

    graph = onnx.load_from_string(model)
    for node in graph.graph.node:
        node.name = node.output[0]

    class Reader(quantization.CalibrationDataReader):  # type: ignore[misc]  # onnxruntime has no types
        def __init__(self) -> None:
            self._inputs: Iterator[FloatArray] = iter(inputs)

        def get_next(self) -> dict[str, FloatArray] | None:
            batch = next(self._inputs, None)
            return None if batch is None else {graph.graph.input[0].name: batch}

    quantization.quantize_static(
        graph,
        str(out),
        Reader(),
        quant_format=quantization.QuantFormat.QDQ,
        op_types_to_quantize=["Conv", "Clip"],
        per_channel=True,
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8,
        calibrate_method=quantization.CalibrationMethod.MinMax,
        nodes_to_exclude=[node.name for node in graph.graph.node if stays_float(node.name)],
    )


def plain(model: bytes) -> bytes:
    """Return an ONNX model as onnxruntime simplifies it for any processor: constants folded, needless nodes gone."""
    import tempfile

    import onnxruntime

    with tempfile.TemporaryDirectory() as folder:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = str(Path(folder) / "plain.onnx")
        onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        return (Path(folder) / "plain.onnx").read_bytes()
