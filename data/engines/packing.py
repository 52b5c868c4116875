"""JSON values and arrays in bytes, without pickle."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pack(values: object, arrays: Sequence[NDArray[Any]]) -> bytes:
    """Return JSON values and arrays in bytes; `unpack` returns equal ones."""
    out = io.BytesIO()
    text = json.dumps(values).encode()  # ASCII, so that file names of other encodings keep their bytes
    np.savez(out, *arrays, values=np.frombuffer(text, dtype=np.uint8))
    return out.getvalue()


def unpack(packed: bytes) -> tuple[Any, list[NDArray[Any]]]:
    """Return the JSON values and the arrays of `pack`."""
    with np.load(io.BytesIO(packed), allow_pickle=False) as file:
        arrays = [file[f"arr_{number}"] for number in range(len(file.files) - 1)]
        return json.loads(file["values"].tobytes()), arrays
