"""Files on the nodes of a cluster: the same paths as on the machine that started the run."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from data.errors import MissingRequirement
from data.files import file_state


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
