from pathlib import Path

import chromadb
import numpy as np

from kb.store.chroma import Collections, Row
from kb.store.chroma.folder import blank_unset_memory
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
        collections.delete(name, [row.id for row in rows[1:]])
        assert collections.texts(name, ["0000", "0001"]) == {"0000": ("", {"n": 0})}
        assert collections.vectors(name, []) == {}


def test_every_vector_is_found_after_blanking_and_memory_that_a_write_left_is_gone(tmp_path: Path) -> None:
    client = chromadb.PersistentClient(str(tmp_path))
    collection = client.create_collection("marks", metadata={"hnsw:sync_threshold": 3, "hnsw:batch_size": 3})
    ids = [str(number) for number in range(9)]
    vectors = [[float(number), 1.0] for number in range(9)]
    collection.add(ids=ids, embeddings=vectors)
    client.clear_system_cache()
    [vector_file] = tmp_path.glob("*/data_level0.bin")
    lengths = vector_file.with_name("length.bin")
    content = vector_file.read_bytes()
    vector_file.write_bytes(content[:-40] + b"sk-secret" + content[-31:])
    lengths.write_bytes(b"sk-secret" * 11)
    blank_unset_memory(tmp_path)
    assert b"sk-secret" not in vector_file.read_bytes() and lengths.read_bytes() == bytes(99)
    collection = chromadb.PersistentClient(str(tmp_path)).get_collection("marks")
    found = collection.query(query_embeddings=vectors, n_results=1)
    assert found["ids"] == [[name] for name in ids]
