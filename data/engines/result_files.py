"""Results of shards on the disk of the machine that started the run, one file each, until the run has taken them in."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final

from data.engines.contract import Recipe
from data.files import sha256_hex, write_atomic
from data.version import fieldmark_version

KEPT_DAYS: Final = 14  # of runs that were interrupted and never resumed


class ResultFiles:
    """Files of one recipe, named by the content of their shards; another version of Fieldmark has others.

    A file ends with its checksum: one that is damaged counts as missing. Runs of one recipe may share a folder at the
    same time: each removes the files that it has taken in, and the folder stays.
    """

    def __init__(self, root: Path, recipe: Recipe) -> None:
        # Paths in shards may be relative.
        text = json.dumps([fieldmark_version(), str(Path.cwd()), asdict(recipe)], sort_keys=True)
        self._root, self._recipe = root, sha256_hex(text)[:24]
        self._taken: set[Path] = set()
        _drop_old(root)

    def read(self, shard_id: str) -> bytes | None:
        """Return the results of a shard, or None."""
        try:
            content = (path := self._path(shard_id)).read_bytes()
        except OSError:
            return None
        packed, digest = content[:-64], content[-64:]
        if sha256_hex(packed).encode() != digest:
            return None
        self._taken.add(path)
        return packed

    def write(self, shard_id: str, packed: bytes) -> None:
        """Store the results of a shard in one step."""
        write_atomic(path := self._path(shard_id), packed + sha256_hex(packed).encode(), is_durable=False)
        self._taken.add(path)

    def remove(self) -> None:
        """Delete the files that were read or written here: the run has taken them in."""
        for path in self._taken:
            path.unlink(missing_ok=True)

    def _path(self, shard_id: str) -> Path:
        return self._root / f"{self._recipe}-{shard_id}"


def _drop_old(root: Path) -> None:
    for path in root.glob("*"):
        with suppress(OSError):  # another run may remove it meanwhile
            if time.time() - path.stat().st_mtime > KEPT_DAYS * 86_400:
                path.unlink()
