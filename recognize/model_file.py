"""Opening of model files in ONNX."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime


def open_model(path: Path) -> Any:  # noqa: ANN401  # onnxruntime has no types
    """Return a session of one thread: pictures run in parallel instead, each with one order of sums."""
    return _open(path, is_exact=int8_overflows())


@cache
def int8_overflows() -> bool:
    """Return whether sums of products of int8 numbers overflow on this processor, as on those without VNNI.

    Then onnxruntime must be asked for exact sums, which would cost other processors twice the time.
    """
    n, k, m = 4, 64, 16
    numbers = {"a": np.full((n, k), 255, dtype=np.uint8), "b": np.full((k, m), 127, dtype=np.int8)}
    products = _open(Path(__file__).with_name("int8_product.onnx"), is_exact=False).run(None, numbers)[0]
    return bool((products != k * 255 * 127).any())


def _open(path: Path, *, is_exact: bool) -> Any:  # noqa: ANN401
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.x64quantprecision", str(int(is_exact)))
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
