"""Postings: the rows that have a key, each with a value, in arrays that may lie in a mapped file."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Postings:
    """Key -> rows and their values; key i has the postings `starts[i]:starts[i + 1]`.

    Example:
        >>> found = Postings.of([("red", 0, 1.0), ("black", 0, 2.0), ("red", 3, 1.0)])
        >>> [part.tolist() for part in found.rows_of("red")], found.count("black")
        ([[0, 3], [1.0, 1.0]], 1)
    """

    keys: Mapping[str, int]
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    values: FloatArray

    @staticmethod
    def of(triples: Iterable[tuple[str, int, float]]) -> Postings:
        """Return the postings of `(key, row, value)`, each pair of key and row once, rows of a key in order."""
        held: dict[str, tuple[array[int], array[float]]] = {}
        for key, row, value in triples:
            rows, values = held.setdefault(key, (array("i"), array("f")))
            rows.append(row)
            values.append(value)
        starts = np.cumsum([0, *(len(rows) for rows, _ in held.values())], dtype=np.int64)
        joined = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1], dtype=np.float32)
        for start, (rows, values) in zip(starts.tolist(), held.values(), strict=False):
            part = slice(start, start + len(rows))
            joined[0][part], joined[1][part] = rows, values
        return Postings({key: i for i, key in enumerate(held)}, starts, *joined)

    def rows_of(self, key: str) -> tuple[IntArray, FloatArray]:
        """Return rows and values of a key; none for an unknown key."""
        i = self.keys.get(key)
        part = slice(0, 0) if i is None else slice(self.starts[i], self.starts[i + 1])
        return self.rows[part].astype(np.intp), self.values[part]

    def count(self, key: str) -> int:
        """Return the number of rows of a key."""
        i = self.keys.get(key)
        return 0 if i is None else int(self.starts[i + 1] - self.starts[i])
