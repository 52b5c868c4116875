"""Chroma finds the nearest species and takes any number of rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from data.starter.knowledge import read_species
from kb.store.chroma import Collections, Row
from kb.store.layout import KnowledgeBaseInfo, Layout
from recognize.encoders.profiles import load_encoders


def test_the_30_nearest_of_all_shipped_species_are_exact(tmp_path: Path) -> None:
    """With a narrower graph about 1 % of queries miss their best match, and different ones after each build."""
    encoder = load_encoders("starter").sentence
    texts = [" ".join((species.taxon.common_name, *species.text)) for species in read_species()]
    vectors = encoder.encode_texts(texts)
    queries = encoder.encode_texts([" ".join(text.split()[-5:]) for text in texts])
    info = KnowledgeBaseInfo(
        id="0", schema=1, profile="starter", source="-", languages=("en",), text_image=(), visual="a", sentence="b"
    )
    least = np.sort(queries @ vectors.T, axis=1)[:, -30:]
    with Collections(Layout(tmp_path / "a.kb"), info) as collections:
        name = next(name for name, (kind, _) in collections.names.items() if kind == "species")
        collections.upsert(
            name, [Row(id=f"{i:04d}", document="", metadata={"n": i}, vector=row) for i, row in enumerate(vectors)]
        )
        found = [[score for _, score in collections.query(name, query, 30)] for query in queries]
    np.testing.assert_allclose(np.array(found), least[:, ::-1], atol=1e-5)


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
