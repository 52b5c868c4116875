"""Memory, device and precision of this machine, for encoders."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_MEMINFO: Final = Path("/proc/meminfo")
_CGROUP: Final = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Resources of this machine; None where unknown."""

    device: str | None = None
    """Device for torch models (`cuda`, `mps`, `cpu`); None where torch is not installed."""
    device_name: str | None = None
    precision: str | None = None
    torch: str | None = None
    """Its version."""
    ram_bytes: int | None = None
    """Memory available to this process, as limited by a container."""
    ram_free_bytes: int | None = None
    gpu_bytes: int | None = None
    gpu_free_bytes: int | None = None


def this_machine() -> Machine:
    """Return the resources of this machine; imports torch if it is installed."""
    ram_bytes, ram_free_bytes = _ram()
    if find_spec("torch") is None:
        return Machine(ram_bytes=ram_bytes, ram_free_bytes=ram_free_bytes)
    from recognize.encoders.pretrained.loading import pick_device, precision_of, require

    torch = require("torch", "torch")
    device = pick_device()
    is_cuda = device == "cuda"
    free, total = torch.cuda.mem_get_info() if is_cuda else (None, None)
    return Machine(
        device=device,
        device_name=torch.cuda.get_device_name() if is_cuda else None,
        precision=str(precision_of(device)).removeprefix("torch."),
        torch=str(torch.__version__),
        ram_bytes=ram_bytes,
        ram_free_bytes=ram_free_bytes,
        gpu_bytes=total,
        gpu_free_bytes=free,
    )


def _ram() -> tuple[int | None, int | None]:
    """Return total and free bytes of memory for this process."""
    try:
        pairs = dict(line.split(":", 1) for line in _MEMINFO.read_text(encoding="ascii").splitlines())
        total, free = (int(pairs[key].split()[0]) * 1024 for key in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError, ValueError):  # no Linux
        return _physical(), None
    limit = _number(_CGROUP / "memory.max")
    if limit is None or limit >= total:
        return total, free
    used = (_number(_CGROUP / "memory.current") or 0) - _cached_bytes()
    return limit, min(free, limit - used)


def _cached_bytes() -> int:
    """Return the bytes of reclaimable file cache in the container's memory."""
    try:
        lines = (_CGROUP / "memory.stat").read_text(encoding="ascii").splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("inactive_file ")), 0)
    except (OSError, ValueError):
        return 0


def _physical() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):  # `max` is no limit
        return None
