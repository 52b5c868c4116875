"""The file of a ledger: other versions, and damage that checksums and indices find."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

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


def test_an_older_ledger_is_refused_with_a_remedy(path: Path) -> None:
    execute(path, "PRAGMA user_version = 1")
    with pytest.raises(StoreError, match="another version of Fieldmark") as caught:
        Ledger(path, read_only=True)
    assert "Build the knowledge base again" in (caught.value.hint or "")


def test_readers_report_a_build_that_has_just_started(tmp_path: Path) -> None:
    """One transaction creates all tables; before it the file exists but is empty."""
    (tmp_path / "ledger.sqlite").touch()
    with pytest.raises(KnowledgeBaseLocked, match="has just started") as caught:
        Ledger(tmp_path / "ledger.sqlite", read_only=True)
    assert "remove" not in (caught.value.hint or "")


def test_a_writer_does_not_replace_a_lost_ledger(tmp_path: Path) -> None:
    for why in ("is missing", "is empty"):
        with pytest.raises(StoreError, match=why):
            Ledger(tmp_path / "ledger.sqlite")
        (tmp_path / "ledger.sqlite").touch()


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
