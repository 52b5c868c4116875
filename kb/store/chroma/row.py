"""A row of a collection, and its size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from data.arrays import FloatArray

Metadata = Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a collection; `vector` is float32 `(dim,)`, a unit vector."""

    id: str
    document: str
    metadata: Metadata
    vector: FloatArray


def size_of(row: Row) -> int:
    """Return about how many bytes a row takes: those of its vector and the letters of its texts."""
    texts = (row.id, row.document, *(value for value in row.metadata.values() if isinstance(value, str)))
    return row.vector.nbytes + sum(map(len, texts))
