"""Index files of Chroma hold no memory of the process."""

from pathlib import Path

import chromadb

import kb
from data.records import Term
from kb.sources.starter import StarterSource
from kb.store.chroma.folder import blank_unset_memory
from kb.store.verify import verify
from tests.toy.encoders import toy_encoders

ROOM = 100
"""Slots that Chroma sets aside for the vectors of a small collection."""


def test_memory_that_chroma_never_sets_is_blank_after_each_write(tmp_path: Path) -> None:
    source, path = StarterSource(with_vectors=False), tmp_path / "a.kb"
    for taxa in (source.drawn_taxa()[:2], source.drawn_taxa()[2:4]):
        kb.build(path, taxa, source, toy_encoders(), terms=[Term(term_id="term:cere", name="cere", definition="Skin.")])
        folders = [file.parent for file in (path / "chroma").glob("*/header.bin")]
        assert folders
        for folder in folders:
            slots = (folder / "data_level0.bin").read_bytes()
            assert not slots[len(slots) // 4 :].strip(b"\0"), "a small collection fills less than a quarter"
            assert slots[: len(slots) // ROOM].strip(b"\0"), "its first vector stays"
            assert not (folder / "length.bin").read_bytes().strip(b"\0")
        assert verify(path).ok


def test_every_vector_is_found_after_blanking_and_memory_that_a_write_left_is_gone(tmp_path: Path) -> None:
    client = chromadb.PersistentClient(str(tmp_path))
    collection = client.create_collection("marks", metadata={"hnsw:sync_threshold": 3, "hnsw:batch_size": 3})
    ids = [str(number) for number in range(9)]
    vectors = [[float(number), 1.0] for number in range(9)]
    collection.add(ids=ids, embeddings=vectors)
    client.clear_system_cache()
    [vector_file] = tmp_path.glob("*/data_level0.bin")
    content = vector_file.read_bytes()
    vector_file.write_bytes(content[:-40] + b"sk-secret" + content[-31:])
    blank_unset_memory(tmp_path)
    assert b"sk-secret" not in vector_file.read_bytes()
    collection = chromadb.PersistentClient(str(tmp_path)).get_collection("marks")
    found = collection.query(query_embeddings=vectors, n_results=1)
    assert found["ids"] == [[name] for name in ids]


def test_a_key_in_the_file_of_lengths_is_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    folder.mkdir()
    folder.joinpath("header.bin").write_bytes(bytes(100))
    folder.joinpath("data_level0.bin").write_bytes(b"")
    folder.joinpath("length.bin").write_bytes(b"sk-secret" * 11)
    blank_unset_memory(tmp_path)
    assert folder.joinpath("length.bin").read_bytes() == bytes(99)
