"""Results of shards on the disk of the machine that started the run, one file each, until the run has taken them in."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import asdict
from pathlib import Path
from typing import Final

from data.engines.contract import Recipe
from data.files import sha256_hex, write_atomic
from data.version import fieldmark_version

KEPT_DAYS: Final = 14  # of runs that were interrupted and never resumed


class ResultFiles:
    """Files of one recipe, named by the content of their shards; another version of Fieldmark has others.

    A file ends with its checksum: one that is damaged counts as missing.
    """

    def __init__(self, root: Path, recipe: Recipe) -> None:
        # Paths in shards may be relative.
        text = json.dumps([fieldmark_version(), str(Path.cwd()), asdict(recipe)], sort_keys=True)
        self._folder = root / sha256_hex(text)[:24]
        _drop_old(root)

    def read(self, shard_id: str) -> bytes | None:
        """Return the results of a shard, or None."""
        try:
            content = (self._folder / shard_id).read_bytes()
        except OSError:
            return None
        packed, digest = content[:-64], content[-64:]
        return packed if sha256_hex(packed).encode() == digest else None

    def write(self, shard_id: str, packed: bytes) -> None:
        """Store the results of a shard in one step."""
        write_atomic(self._folder / shard_id, packed + sha256_hex(packed).encode(), is_durable=False)

    def remove(self) -> None:
        """Delete all files: the run has taken them in."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _drop_old(root: Path) -> None:
    for folder in root.glob("*"):
        if folder.is_dir() and time.time() - folder.stat().st_mtime > KEPT_DAYS * 86_400:
            shutil.rmtree(folder, ignore_errors=True)
