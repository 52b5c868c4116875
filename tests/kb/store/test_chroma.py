import ast
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import chromadb
import numpy as np
import pytest

from data.errors import StoreError
from kb.store.chroma import Chroma, Row, tidy
from kb.store.layout import KnowledgeBaseInfo


def test_more_rows_than_chroma_takes_at_once_are_written_in_batches(tmp_path: Path) -> None:
    info = KnowledgeBaseInfo(
        id="0", schema=1, profile="starter", source="-", languages=("en",), text_image=(), visual="a", sentence="b"
    )
    vector = np.array([1, 0], dtype=np.float32)
    with Chroma(info, tmp_path / "chroma", tmp_path) as collections:
        name = next(name for name, (kind, _) in collections.names.items() if kind == "anchors")
        rows = [Row(id=f"{i:04d}", document="", metadata={"n": i}, vector=vector) for i in range(6_000)]
        collections.upsert(name, rows)
        assert collections.count(name) == 6_000
        collections.delete(name, [row.id for row in rows[1:]])
        assert collections.texts(name, ["0000", "0001"]) == {"0000": ("", {"n": 0})}
        assert collections.vectors(name, []) == {}
        with pytest.raises(StoreError) as caught:  # Chroma's own words reach no user
            collections.upsert(name, [replace(rows[0], vector=np.ones(3, dtype=np.float32))])
        assert str(caught.value) == f"The store in {tmp_path} cannot be read or changed"


def test_every_vector_is_found_in_a_tidy_folder_and_memory_that_a_write_left_is_gone(tmp_path: Path) -> None:
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
    tidy(tmp_path)
    assert b"sk-secret" not in vector_file.read_bytes() and lengths.read_bytes() == bytes(99)
    collection = chromadb.PersistentClient(str(tmp_path)).get_collection("marks")
    found = collection.query(query_embeddings=vectors, n_results=1)
    assert found["ids"] == [[name] for name in ids]


ASK = """
import sys
from pathlib import Path
from kb.store.chroma import Chroma, Row
from kb.store.layout import KnowledgeBaseInfo
import numpy as np
own = {"profile": "p", "source": "-", "languages": (), "text_image": (), "visual": "a", "sentence": "b"}
info = KnowledgeBaseInfo(id="0", schema=2, **own)
with Chroma(info, Path(sys.argv[1]), Path(sys.argv[1])) as chroma:
    name = next(name for name, (kind, _) in chroma.names.items() if kind == "species")
    chroma.upsert(name, [Row(id="owl", document="An owl.", metadata={"n": 1}, vector=np.array([1, 0], np.float32))])
    print(chroma.nearest(name, np.array([[1, 0]], np.float32), 1))
    print(chroma._client.get_collection(name, embedding_function=None).configuration_json["hnsw"])
"""


def test_no_setting_of_the_working_directory_or_environment_reaches_chroma(tmp_path: Path) -> None:
    """Else a stranger's `.env` would send texts to his server, and an empty number ends the program."""
    (tmp_path / ".env").write_text(
        "CHROMA_API_IMPL=chromadb.api.fastapi.FastAPI\nCHROMA_SERVER_HOST=127.0.0.1\nCHROMA_SERVER_HTTP_PORT=\n"
    )
    root = str(Path(__file__).resolve().parents[3])
    environment = {**os.environ, "PYTHONPATH": root, "CHROMA_SERVER_CORS_ALLOW_ORIGINS": "x", "IS_PERSISTENT": "no"}
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(tmp_path / "own")],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    found, graph = done.stdout.splitlines()
    assert found == "[['owl']]" and (tmp_path / "own" / "chroma.sqlite3").is_file()
    graph = ast.literal_eval(graph)
    assert [graph[key] for key in ("space", "max_neighbors", "ef_construction", "ef_search")] == ["ip", 64, 400, 500]
