"""Values that travel between machines: JSON values and arrays in bytes, without pickle, and files by their paths."""

from __future__ import annotations

import io
import json
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.errors import MissingRequirement
from data.files import file_state


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


def shipped_path(path: str | Path) -> list[Any]:
    """Return path, size and modification time of a file; without the last two for a missing file."""
    return [str(path), *(file_state(Path(path)) or ())]


def path_on_node(shipped: list[Any]) -> str:
    """Return the path of a file that the machine which started the run sees with the same size.

    Times are not compared, since file systems round them.

    Raises:
        MissingRequirement: if this machine does not see it, or sees another file.
    """
    path, *state = shipped
    here = file_state(Path(path))
    if state and (here is None or here[0] != state[0]):
        problem = "does not exist" if here is None else "is another file"
        raise MissingRequirement(
            f"{path} {problem} on node {socket.gethostname()}.",
            hint="All nodes need the same files at the same paths, for example on a shared file system.",
        )
    return str(path)
