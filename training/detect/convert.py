"""Conversion of the detector to half its size.

    python -m training.detect.convert --model ../shared/weights/nanodet.onnx --out recognize/detect/weights/nanodet.onnx

The weights were float16 before somebody widened them, so they are stored as float16 again and widened when the model is
opened. The outputs stay the same to the last bit. Needs `onnx`.
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np


def halved(content: bytes) -> bytes:
    """Return an ONNX model with its float32 weights stored as float16, each followed by a cast.

    Raises:
        ValueError: if a weight is not a float16 number.
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    model = onnx.load_from_string(content)
    graph = model.graph
    casts = []
    for tensor in graph.initializer:
        if tensor.data_type != TensorProto.FLOAT:
            continue
        wide = numpy_helper.to_array(tensor)
        with np.errstate(over="ignore"):
            narrow = wide.astype(np.float16)
        if not np.array_equal(narrow.astype(np.float32), wide):
            raise ValueError(f"expected float16 numbers in {tensor.name}")
        casts.append(helper.make_node("Cast", [f"{tensor.name}.half"], [tensor.name], to=TensorProto.FLOAT))
        tensor.CopyFrom(numpy_helper.from_array(narrow, f"{tensor.name}.half"))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    result: bytes = model.SerializeToString()
    return result


def differing_outputs(first: bytes, second: bytes, *, n: int = 4) -> float:
    """Return the largest difference between the outputs of two models for `n` random inputs."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    providers = ["CPUExecutionProvider"]
    models = [onnxruntime.InferenceSession(each, options, providers=providers) for each in (first, second)]
    name, shape = models[0].get_inputs()[0].name, models[0].get_inputs()[0].shape
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(n):
        pixels = rng.normal(size=shape).astype(np.float32)
        for a, b in zip(*(model.run(None, {name: pixels}) for model in models), strict=True):
            worst = max(worst, float(np.abs(a - b).max()))
    return worst


@click.command()
@click.option(
    "--model", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=True, help="float32 ONNX."
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="File to write.")
def main(model: Path, out: Path) -> None:
    """Write the detector, and say how far its outputs are from those of the float32 file."""
    wide = model.read_bytes()
    narrow = halved(wide)
    out.write_bytes(narrow)
    click.echo(
        f"{len(wide) / 2**20:.1f} -> {len(narrow) / 2**20:.1f} MiB; largest difference of an output: "
        f"{differing_outputs(wide, narrow):g}"
    )


if __name__ == "__main__":
    main()
