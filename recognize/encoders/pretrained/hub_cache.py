"""Cache of the hub's client on disk, read without the client.

CACHE/models--OWNER--NAME/refs/main                   revision of the main branch
CACHE/models--OWNER--NAME/snapshots/REVISION/FILE     link to the content
CACHE/models--OWNER--NAME/blobs/HASH(.incomplete)     contents, and unfinished downloads
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A repository in the cache: its files by name, and the bytes of unfinished downloads."""

    files: Mapping[str, Path] = field(default_factory=dict)
    begun_bytes: int = 0


def read_snapshot(cache: Path, repository: str) -> Snapshot:
    """Return the files of the main revision of a repository; dangling links do not count."""
    root = cache / f"models--{repository.replace('/', '--')}"
    begun_bytes = sum(part.stat().st_size for part in root.glob("blobs/*.incomplete"))
    try:
        revision = (root / "refs" / "main").read_text(encoding="utf-8").strip()
    except OSError:
        return Snapshot(begun_bytes=begun_bytes)
    folder = root / "snapshots" / revision
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    return Snapshot(files=files, begun_bytes=begun_bytes)


def cache_folder(environment: Mapping[str, str], home: Path) -> Path:
    """Return the cache folder of the hub's client, from its environment variables.

    Example:
        >>> cache_folder({"HF_HOME": "/data/hf"}, Path("/home/ada")).as_posix()
        '/data/hf/hub'
    """
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if environment.get(name):
            return Path(environment[name]).expanduser()
    if environment.get("HF_HOME"):
        return Path(environment["HF_HOME"]).expanduser() / "hub"
    return Path(environment.get("XDG_CACHE_HOME") or home / ".cache").expanduser() / "huggingface" / "hub"
