import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from data.arrays import FloatArray
from data.errors import KnowledgeBaseLocked, StoreError
from kb.store.ledger import Entry, Ledger


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with closing(Ledger(tmp_path / "ledger.sqlite", create=True)) as ledger, ledger.transaction():
        ledger.set_fact("building", "1")
        ledger.add_subjects([("a", "taxon", "Owl", "{}"), ("b", "taxon", "Wren", "{}")])
        ledger.publish([Entry(key, "taxon", key, "A bird.", "{}", {}) for key in ("a", "b")])
    return tmp_path / "ledger.sqlite"


def execute(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        for statement in statements:
            db.execute(statement)


def test_ledgers_that_are_old_lost_or_just_begun_are_refused(path: Path, tmp_path: Path) -> None:
    """One transaction creates all tables; before it the file exists but is empty, as is a lost one for a writer."""
    execute(path, "PRAGMA user_version = 1")
    with pytest.raises(StoreError, match=r"another version of Fieldmark \(ledger 1, expected 5\)") as caught:
        Ledger(path, read_only=True)
    assert "kb export BUNDLE" in (caught.value.hint or "") and "kb import BUNDLE" in (caught.value.hint or "")
    new = tmp_path / "new.sqlite"
    for why in ("is missing", "is empty"):
        with pytest.raises(StoreError, match=why):
            Ledger(new)
        new.touch()
    with pytest.raises(KnowledgeBaseLocked, match="has just started") as locked:
        Ledger(new, read_only=True)
    assert "remove" not in (locked.value.hint or "")


def test_a_changed_row_is_damage_when_it_is_read(path: Path) -> None:
    execute(path, "UPDATE subjects SET name = 'Crow' WHERE subject_id = 'b'")
    with closing(Ledger(path, read_only=True)) as ledger:
        assert ledger.fact("building") == "1"
        with pytest.raises(StoreError, match=r"a row of subjects has changed \('b'\)") as caught:
            ledger.subject_names("taxon")
    assert f"remove {path}*" in (caught.value.hint or "")


@pytest.mark.parametrize("kind", ["table", "index"])
def test_a_row_that_a_page_lost_is_damage(path: Path, kind: str) -> None:
    """The number of cells of a page, which no checksum of a row covers."""
    execute(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    with closing(sqlite3.connect(path)) as db:
        query = "SELECT rootpage FROM sqlite_master WHERE tbl_name = 'entries' AND type = ?"
        [(page,)] = db.execute(query, (kind,)).fetchall()
        [(page_bytes,)] = db.execute("PRAGMA page_size").fetchall()
    content = bytearray(path.read_bytes())
    n_cells = (page - 1) * page_bytes + 4
    assert content[n_cells] == 2
    content[n_cells] = 1
    path.write_bytes(bytes(content))
    with closing(Ledger(path, read_only=True)) as ledger:
        with pytest.raises(StoreError, match="is damaged"):
            ledger.entry_ids("taxon")
        with pytest.raises(StoreError, match="is damaged"):
            ledger.check()


def vector(number: float) -> FloatArray:
    return np.array([number, 1], dtype=np.float32)


def numbers(held: dict[str, FloatArray]) -> dict[str, float]:
    return {item: float(found[0]) for item, found in held.items()}


def test_vectors_join_and_replace_those_of_their_subject(path: Path) -> None:
    with closing(Ledger(path)) as ledger:
        held = ledger.encoded
        held.put("anchors", [("b", "b1", vector(1)), ("a", "a1", vector(2)), ("b", "b2", vector(3))])
        held.put("anchors", [("b", "b2", vector(4)), ("b", "b3", vector(5))])
        assert numbers(held.of_subject("anchors", "b")) == {"b1": 1, "b2": 4, "b3": 5}
        assert held.of_subject("chunks", "b") == {}
        assert held.subjects() == {"a", "b"}
        held.drop(["a"])
        assert held.subjects() == {"b"}
        ledger.check()


def test_a_ledger_gives_the_room_of_deleted_vectors_back(path: Path) -> None:
    with closing(Ledger(path)) as ledger:
        before = path.stat().st_size
        ledger.encoded.put("chunks", [(f"{n}", "c", np.ones(4_000, dtype=np.float32)) for n in range(200)])
        ledger.checkpoint()
        assert path.stat().st_size > before + 3_000_000
        ledger.encoded.drop([f"{n}" for n in range(200)])
        ledger.shrink()
        ledger.checkpoint()
        assert path.stat().st_size < before + 100_000
