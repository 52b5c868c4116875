"""Shards of items: cut by content, so that a run that resumes in the middle finds the same shards again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from data.engines.contract import ItemT, ResultT, ShardTask
from data.files import sha256_hex


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
