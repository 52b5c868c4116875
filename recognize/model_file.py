"""Opening of model files in ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnxruntime


def open_model(path: Path) -> Any:  # noqa: ANN401  # onnxruntime has no types
    """Return a session of one thread: pictures run in parallel instead, each with one order of sums."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # On processors without VNNI instructions, sums of int8 models would overflow without this.
    options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
