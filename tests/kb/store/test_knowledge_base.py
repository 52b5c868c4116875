import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kb
import recognize
from data.contracts import Encoders
from data.errors import ConfigError, SpaceMismatch, StoreError
from kb.store.layout import Layout
from tests.mounts import needs_mounts
from tests.pages import PageSource, made_up_taxa


@pytest.fixture(scope="module")
def encoders() -> Encoders:
    return recognize.load_encoders("starter")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, encoders: Encoders) -> Path:
    path = tmp_path_factory.mktemp("built") / "a.kb"
    kb.build(path, made_up_taxa(5), PageSource(), encoders)
    return path


@pytest.fixture
def path(built: Path, tmp_path: Path) -> Path:
    return shutil.copytree(built, tmp_path / "a.kb")


def test_reading_a_store_does_not_import_chromadb(path: Path) -> None:
    """Opening a store and reading matrices and entries avoids the slow import of chromadb."""
    code = (
        "import sys, kb; store = kb.open(sys.argv[1]);"
        "[store.chunk_vectors(s) for s in store.info.text_image];"
        "[store.anchor_vectors(s) for s in store.info.anchor_spaces];"
        "store.species(store.taxon_ids); store.status();"
        "sys.exit('chromadb' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == 0


def test_the_copy_of_a_process_that_was_ended_goes_with_the_next_one(
    path: Path, encoders: Encoders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIELDMARK_HOME", str(tmp_path / "home"))
    code = (
        "import os, sys, kb, numpy; store = kb.open(sys.argv[1]);"
        f"store.query_species(numpy.ones({encoders.sentence.dim}), 1); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -9
    [left] = (tmp_path / "home" / "opened").glob("*/chroma.sqlite3")
    with kb.open(path) as store:
        store.query_species(encoders.sentence.encode_texts(["red"])[0], 1)
        assert not left.exists() and len([*left.parents[1].glob("*/chroma.sqlite3")]) == 1
    assert [*left.parents[1].iterdir()] == []


def test_a_reader_keeps_its_snapshot_during_a_build(
    path: Path, encoders: Encoders, caplog: pytest.LogCaptureFixture
) -> None:
    """This includes data first read after the write: entries, matrices, chunk texts and neighbours."""
    [question] = encoders.sentence.encode_texts(["red crown"])
    with kb.open(path) as reader:
        anchors = np.array(reader.anchor_vectors(encoders.visual.space).vectors)
        chunks = reader.chunk_vectors(encoders.text_image[0].space)
        texts, chunk_matrix = reader.chunk_texts(chunks.ids), np.array(chunks.vectors)
        entries, near = reader.species(reader.taxon_ids), reader.query_species(question, 9)
    with kb.open(path) as reader:
        kb.build(path, made_up_taxa(9)[1:], PageSource(revision=2, gone=["avis-001"]), encoders)
        assert np.array_equal(reader.anchor_vectors(encoders.visual.space).vectors, anchors)
        later = reader.chunk_vectors(encoders.text_image[0].space)
        assert (later.ids, later.owners.tolist()) == (chunks.ids, chunks.owners.tolist())
        assert np.array_equal(later.vectors, chunk_matrix)
        assert reader.chunk_texts(later.ids) == texts
        with pytest.raises(SpaceMismatch, match="ViT-L-14"):
            reader.chunk_vectors("ViT-L-14/openai")
        assert reader.species(reader.taxon_ids) == entries
        found = reader.query_species(question, 9)
        assert [taxon_id for taxon_id, _ in found] == [taxon_id for taxon_id, _ in near]
        assert [score for _, score in found] == pytest.approx([score for _, score in near], abs=1e-6)
    assert caplog.text == ""
    with kb.open(path) as again:
        assert again.taxon_ids == tuple(f"avis-{i:03d}" for i in (0, *range(2, 9)))
        assert again.chunk_texts(again.chunk_vectors(encoders.text_image[0].space).ids) != texts
        assert again.chunk_vectors(encoders.text_image[0].space).owners.max() == 7


def test_an_invalid_kb_toml_is_refused(path: Path) -> None:
    layout = Layout(path)
    lines = layout.toml.read_text().splitlines()
    for line, error, complaint in (
        ("colour = 'red'", ConfigError, "unknown key 'colour'"),
        ("profile = 3", ConfigError, "profile"),
        ("not toml at all", ConfigError, "not TOML"),
        ("deep = " + "[" * 5_000, ConfigError, "not TOML"),
        ("schema = 99", StoreError, "schema 99, expected 2"),
    ):
        kept = [text for text in lines if not text.startswith(line.split(" ")[0])]
        layout.toml.write_text("\n".join([*kept, line]))
        with pytest.raises(error, match=complaint):
            kb.open(path)


READ = """
import json, sys, kb, recognize
encoders = recognize.load_encoders("starter")
with kb.open(sys.argv[1]) as store:
    found = [match.taxon_id for match in kb.search(store, "a red crown", encoders.sentence, n=5)]
    vectors = [store.chunk_vectors(space).vectors.tobytes().hex() for space in store.info.text_image]
    vectors += [store.anchor_vectors(space).vectors.tobytes().hex() for space in store.info.anchor_spaces]
print(json.dumps([found, vectors]))
"""


@pytest.mark.integration
@needs_mounts
def test_a_read_only_folder_is_read_without_a_warning(path: Path) -> None:
    """Also without the cache."""
    script = f'mount --bind {path} {path} && mount -o remount,bind,ro {path} && exec "$@"'
    command = ["unshare", "-rm", "sh", "-c", script, "sh", sys.executable, "-c", READ, str(path)]
    told = set()
    for missing in ("runs", "cache"):
        shutil.rmtree(path / missing, ignore_errors=True)
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert (done.returncode, done.stderr) == (0, "")
        told.add(done.stdout)
    assert len(told) == 1 and len(told.pop()) > 1_000
