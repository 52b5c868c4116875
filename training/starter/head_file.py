"""File of trained heads that `recognize.starter.encoders` reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray


def quantise(matrix: FloatArray) -> tuple[NDArray[np.int8], FloatArray]:
    """Return 8-bit codes and a scale for each row; `codes * scales[:, None]` is the matrix to 0.4 %."""
    scales = np.maximum(np.abs(matrix).max(axis=1), 1e-12).astype(np.float32) / np.float32(127)
    return np.rint(matrix / scales[:, None]).astype(np.int8), scales


def write_heads(path: Path, arrays: Mapping[str, FloatArray], words: Sequence[str], species: Sequence[str]) -> None:
    """Write trained weights: word table and prototypes in 8 bits, the others in 16."""
    stored: dict[str, NDArray[np.generic]] = {
        "words": np.frombuffer("\n".join(words).encode(), dtype=np.uint8),
        "species": np.frombuffer("\n".join(species).encode(), dtype=np.uint8),
    }
    for name, array in arrays.items():
        if name in ("table", "prototypes"):
            stored[name], stored[f"{name}_scales"] = quantise(array)
        else:
            stored[name] = array.astype(np.float16)
    with path.open("wb") as file:
        np.savez(file, **stored)  # type: ignore[arg-type]  # the stub wants allow_pickle's type for every name
