"""Vectors in the ledger: one row for each subject and collection, with all vectors of the subject."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from data.arrays import FloatArray
from kb.store.ledger.file import LedgerFile


class Vectors:
    """The vectors of all collections; each is `(dim,)` float32."""

    def __init__(self, file: LedgerFile) -> None:
        self._file = file

    def put(self, collection: str, rows: Iterable[tuple[str, str, FloatArray]]) -> None:
        """Add or replace `(subject_id, item_id, vector)`."""
        by_subject: dict[str, dict[str, FloatArray]] = {}
        for subject, item, vector in rows:
            by_subject.setdefault(subject, {})[item] = vector
        self._file.put(
            "vectors",
            [
                _packed(subject, collection, self.of_subject(collection, subject) | vectors)
                for subject, vectors in by_subject.items()
            ],
        )

    def keep(self, collection: str, subject_id: str, items: Sequence[str]) -> None:
        """Delete the vectors of one subject except those of `items`."""
        held = self.of_subject(collection, subject_id)
        if set(held) <= set(items):
            return
        self._file.delete("vectors", "collection = ? AND subject_id = ?", [(collection, subject_id)])
        if remaining := {item: vector for item, vector in held.items() if item in items}:
            self._file.put("vectors", [_packed(subject_id, collection, remaining)])

    def of_subject(self, collection: str, subject_id: str) -> dict[str, FloatArray]:
        """Return item_id -> vector of one subject."""
        rows = self._file.select("vectors", "WHERE collection = ? AND subject_id = ?", (collection, subject_id))
        return _unpacked(rows[0]) if rows else {}

    def of_items(self, collection: str, subject_id: str, items: Sequence[str]) -> list[FloatArray]:
        """Return the vectors of these items of one subject."""
        held = self.of_subject(collection, subject_id) if items else {}
        self._require(held, collection, subject_id, items)
        return [held[item] for item in items]

    def matrices(
        self, collection: str, wanted: Iterable[tuple[str, Sequence[str]]]
    ) -> Iterator[tuple[str, Sequence[str], FloatArray]]:
        """Yield subject, items and their vectors, `(n, dim)`, of many `(subject_id, items)`, sorted by subject."""
        nothing = np.zeros((0, 0), dtype=np.float32)
        held = ((row[0], *_matrix(row)) for row in self._rows(collection))
        at, ids, matrix = next(held, ("", [], nothing))
        for subject_id, items in wanted:
            while at < subject_id:
                at, ids, matrix = next(held, (subject_id, [], nothing))
            found = ids if at == subject_id else []
            self._require(found, collection, subject_id, items)
            yield subject_id, items, matrix if items == found else matrix[[found.index(item) for item in items]]

    def each_subject(self, collection: str) -> Iterator[tuple[str, dict[str, FloatArray]]]:
        """Yield `(subject_id, item_id -> vector)` of a whole collection, sorted by subject."""
        return ((row[0], _unpacked(row)) for row in self._rows(collection))

    def _rows(self, collection: str) -> Iterator[Any]:
        return self._file.stream("vectors", "WHERE collection = ?", (collection,))

    def _require(self, held: Collection[str], collection: str, subject_id: str, items: Sequence[str]) -> None:
        if missing := [item for item in items if item not in held]:
            raise self._file.damaged(f"the vector of {missing[0]} of {subject_id} in {collection} is missing")


def _packed(subject_id: str, collection: str, vectors: Mapping[str, FloatArray]) -> tuple[str | bytes, ...]:
    rows = np.stack([np.asarray(vector, dtype="<f4") for vector in vectors.values()])
    return subject_id, collection, json.dumps(list(vectors)), rows.tobytes()


def _unpacked(row: tuple[Any, ...]) -> dict[str, FloatArray]:
    return dict(zip(*_matrix(row), strict=True))


def _matrix(row: tuple[Any, ...]) -> tuple[list[str], FloatArray]:
    """Return the items of a row and their vectors, `(n, dim)`."""
    items = json.loads(row[2])
    return items, np.frombuffer(row[3], dtype="<f4").reshape(len(items), -1)
