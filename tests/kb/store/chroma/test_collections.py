"""Chroma takes any number of rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kb.store.chroma import Collections, Row
from kb.store.layout import KnowledgeBaseInfo, Layout


def test_more_rows_than_chroma_takes_at_once_are_written_in_batches(tmp_path: Path) -> None:
    info = KnowledgeBaseInfo(
        id="0", schema=1, profile="starter", source="-", languages=("en",), text_image=(), visual="a", sentence="b"
    )
    vector = np.array([1, 0], dtype=np.float32)
    with Collections(Layout(tmp_path / "a.kb"), info) as collections:
        name = next(name for name, (kind, _) in collections.names.items() if kind == "anchors")
        rows = [Row(id=f"{i:04d}", document="", metadata={"n": i}, vector=vector) for i in range(6_000)]
        collections.upsert(name, rows)
        assert collections.count(name) == 6_000
        collections.delete(name, [row.id for row in rows])
        assert collections.count(name) == 0
