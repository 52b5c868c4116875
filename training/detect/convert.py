r"""Conversion of the detector to int8.

    python -m training.detect.convert --model ../shared/weights/nanodet.onnx --data ../shared/birds \
        --out recognize/detect/weights/nanodet.onnx

Padding becomes part of the convolutions, and these are quantised. Needs `onnx`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
from PIL import Image

from data.arrays import FloatArray
from recognize.detect.birds import pixels_of
from training.quantise import N_CALIBRATION, plain, quantise
from training.starter.protocol import StudyCollection, read_study_collection


def without_pads(model: bytes) -> bytes:
    """Return an ONNX model with each padding by zeros as part of the convolution after it."""
    import onnx
    from onnx import helper, numpy_helper

    onnx_model = onnx.load_from_string(model)
    graph = onnx_model.graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    pads = {node.output[0]: node for node in graph.node if node.op_type == "Pad"}
    for node in [each for each in graph.node if each.op_type == "Conv" and each.input[0] in pads]:
        pad = pads[node.input[0]]
        if constants[pad.input[2]] != 0:
            continue
        sides = constants[pad.input[1]].reshape(2, -1)[:, -2:].ravel().tolist()
        for attribute in [each for each in node.attribute if each.name in ("pads", "auto_pad")]:
            node.attribute.remove(attribute)
        node.attribute.append(helper.make_attribute("pads", sides))
        node.input[0] = pad.input[0]
    used = {name for node in graph.node for name in node.input}
    kept = [node for node in graph.node if node.op_type != "Pad" or node.output[0] in used]
    del graph.node[:], graph.value_info[:]
    graph.node.extend(kept)
    onnx.checker.check_model(onnx_model)
    result: bytes = onnx_model.SerializeToString()
    return result


def with_scales(model: bytes) -> bytes:
    """Return an ONNX model that enlarges and shrinks maps by factors; quantised ones cannot have sizes."""
    import onnx
    from onnx import numpy_helper

    onnx_model = onnx.shape_inference.infer_shapes(onnx.load_from_string(model), strict_mode=True)
    graph = onnx_model.graph
    shapes = {
        each.name: [d.dim_value for d in each.type.tensor_type.shape.dim] for each in (*graph.value_info, *graph.output)
    }
    for node in [each for each in graph.node if each.op_type == "Resize"]:
        before, after = shapes[node.input[0]], shapes[node.output[0]]
        factors = np.array(after, dtype=np.float32) / np.array(before, dtype=np.float32)
        graph.initializer.append(numpy_helper.from_array(factors, f"{node.output[0]}.factors"))
        for attribute in [each for each in node.attribute if each.name == "axes"]:
            node.attribute.remove(attribute)
        source = node.input[0]
        del node.input[:]
        node.input.extend([source, "", f"{node.output[0]}.factors"])
    result: bytes = onnx_model.SerializeToString()
    return result


def calibration_photos(collection: StudyCollection) -> Iterator[FloatArray]:
    """Yield some training photos as input of the detector."""
    for i in collection.calibration[:N_CALIBRATION].tolist():
        with Image.open(collection.folder / collection.photos[i].path) as image:
            yield pixels_of(image.convert("RGB"), (0, 0, *image.size))


@click.command()
@click.option(
    "--model", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=True, help="Float ONNX."
)
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True, help="Folder of photos.csv.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="File to write.")
def main(model: Path, data: Path, out: Path) -> None:
    """Write the detector in int8."""
    light = with_scales(without_pads(plain(model.read_bytes())))
    quantise(light, calibration_photos(read_study_collection(data)), out, stays_float=lambda _: False)
    click.echo(f"{model.stat().st_size / 2**20:.1f} -> {out.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
