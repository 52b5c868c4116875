"""Verify finds what was deleted or damaged, mends what it can, and the next build mends the rest."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import kb
import recognize
from data.contracts import Encoders
from data.errors import MissingKnowledgeBase, StoreError
from kb.chroma import Collections
from kb.layout import Layout, collection_name
from tests.pages import PageSource, made_up_taxa

N = 6


@pytest.fixture(scope="module")
def encoders() -> Encoders:
    return recognize.load_encoders("starter")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, encoders: Encoders) -> tuple[Path, str]:
    path = tmp_path_factory.mktemp("original") / "a.kb"
    kb.build(path, made_up_taxa(N), PageSource(), encoders, terms=[("Amplexus", None)])
    verification = kb.verify(path)
    assert verification.ok
    return path, verification.digest


@pytest.fixture
def copy(original: tuple[Path, str], tmp_path: Path) -> tuple[Path, str]:
    shutil.copytree(original[0], tmp_path / "copy.kb")
    return tmp_path / "copy.kb", original[1]


def _first(folder: Path, pattern: str) -> Path:
    return sorted(folder.glob(pattern))[0]


def drop_chroma(path: Path) -> None:
    shutil.rmtree(path / "chroma")


def garble_chroma(path: Path) -> None:
    (path / "chroma" / "chroma.sqlite3").write_bytes(b"no database at all" * 100)


def remove_a_row(path: Path) -> None:
    layout = Layout(path)
    collections = Collections(layout, layout.require())
    name = collection_name("anchors", layout.require().visual)
    collections.delete(name, [next(collections.read(name))[0].id])
    collections.close()


def change_a_vector(path: Path) -> None:
    layout = Layout(path)
    collections = Collections(layout, layout.require())
    name = collection_name("chunks", layout.require().text_image[0])
    row = next(collections.read(name))[0]
    turned = np.roll(row.vector, 1)
    collections.upsert(name, [type(row)(id=row.id, document=row.document, metadata=row.metadata, vector=turned)])
    collections.close()


def add_a_stranger(path: Path) -> None:
    layout = Layout(path)
    collections = Collections(layout, layout.require())
    name = collection_name("species", layout.require().sentence)
    row = next(collections.read(name))[0]
    stranger = type(row)(id="stranger", document="who?", metadata=row.metadata, vector=row.vector)
    collections.upsert(name, [stranger])
    collections.close()


def drop_cache(path: Path) -> None:
    shutil.rmtree(path / "cache")


def garble_cache(path: Path) -> None:
    matrix = _first(path / "cache", "chunks-*.npy")
    content = bytearray(matrix.read_bytes())
    content[-3] ^= 0xFF
    matrix.write_bytes(bytes(content))


MENDED_BY_VERIFY = [drop_chroma, garble_chroma, remove_a_row, change_a_vector, add_a_stranger, garble_cache]


@pytest.mark.parametrize("damage", MENDED_BY_VERIFY, ids=lambda damage: damage.__name__)
def test_verify_finds_and_mends(copy: tuple[Path, str], damage: Callable[[Path], None]) -> None:
    path, digest = copy
    damage(path)
    found = kb.verify(path)
    assert not found.ok
    assert found.mended
    assert found.digest == digest
    again = kb.verify(path)
    assert again.ok
    assert again.digest == digest


def test_a_cache_that_is_gone_is_no_finding(copy: tuple[Path, str]) -> None:
    """It is made of Chroma, and any reader makes it."""
    drop_cache(copy[0])
    assert kb.verify(copy[0]).ok


@pytest.mark.parametrize("folder", ["articles", "anchors"])
@pytest.mark.parametrize("harm", ["deleted", "garbled"])
def test_a_lost_file_is_found_and_the_next_build_gets_it_again(
    copy: tuple[Path, str], encoders: Encoders, folder: str, harm: str
) -> None:
    path, digest = copy
    victim = _first(path / folder, "??/*")
    if harm == "deleted":
        victim.unlink()
    else:
        victim.write_bytes(victim.read_bytes()[:-7])
    found = kb.verify(path)
    assert not found.ok
    assert any("missing or damaged" in problem for problem in found.problems)
    kb.build(path, made_up_taxa(N), PageSource(), encoders, terms=[("Amplexus", None)])
    again = kb.verify(path)
    assert again.ok, again.problems
    assert again.digest == digest


def test_a_damaged_ledger_is_said_to_be_damaged(copy: tuple[Path, str]) -> None:
    (copy[0] / "ledger.sqlite").write_bytes(b"SQLite format 3\x00" + b"\x13" * 9000)
    with pytest.raises(StoreError, match=r"ledger\.sqlite"):
        kb.verify(copy[0])
    with pytest.raises(StoreError, match=r"ledger\.sqlite"):
        kb.open(copy[0])


def test_no_knowledge_base_is_said_so(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(MissingKnowledgeBase, match=str(path)):
            kb.open(path)
        with pytest.raises(MissingKnowledgeBase, match=str(path)):
            kb.verify(path)


def test_an_unfinished_build_is_a_finding(copy: tuple[Path, str]) -> None:
    with sqlite3.connect(copy[0] / "ledger.sqlite") as ledger:
        ledger.execute("INSERT INTO facts VALUES ('building', 'fetch')")
    ledger.close()
    found = kb.verify(copy[0])
    assert not found.ok
    assert "did not end" in found.problems[0]
