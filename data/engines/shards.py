"""Shards of items, cut by content so that a run that resumes finds the same ones, and their results in files."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from data.engines.contract import ItemT, Recipe, ResultT, ShardTask
from data.files import sha256_hex, write_atomic
from data.version import fieldmark_version

KEPT_DAYS: Final = 14  # of runs that were interrupted and never resumed


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Some items of a task."""

    number: int
    id: str
    """Hash of the shipped items."""
    shipped: tuple[Any, ...]


def shards_of(task: ShardTask[ItemT, ResultT], items: Iterable[ItemT]) -> Iterator[Shard]:
    """Yield the items in shards of about `task.shard_size`, at most twice as many.

    An item ends its shard by its own hash, so a list without its first part has the same shards from the next cut on.
    """
    number, shipped, texts = 0, list[Any](), list[str]()
    for item in items:
        shipped.append(task.ship(item))
        texts.append(json.dumps(shipped[-1], sort_keys=True))
        is_cut = int(sha256_hex(texts[-1])[:12], 16) % task.shard_size == 0
        if is_cut or len(shipped) >= 2 * task.shard_size:
            yield Shard(number=number, id=sha256_hex("\n".join(texts)), shipped=tuple(shipped))
            number, shipped, texts = number + 1, [], []
    if shipped:
        yield Shard(number=number, id=sha256_hex("\n".join(texts)), shipped=tuple(shipped))


class ResultFiles:
    """Results of one recipe, a file a shard, until the run has taken them in.

    A file ends with its checksum: one that is damaged counts as missing. Runs of one recipe may share a folder at the
    same time: each removes the files that it has taken in, and the folder stays.
    """

    def __init__(self, root: Path, recipe: Recipe) -> None:
        # Paths in shards may be relative.
        text = json.dumps([fieldmark_version(), str(Path.cwd()), asdict(recipe)], sort_keys=True)
        self._root, self._recipe = root, sha256_hex(text)[:24]
        self._taken: set[Path] = set()
        for path in root.glob("*"):
            with suppress(OSError):  # another run may remove it meanwhile
                if time.time() - path.stat().st_mtime > KEPT_DAYS * 86_400:
                    path.unlink()

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
