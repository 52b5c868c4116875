import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

import kb
from data.cache_file import CacheFile
from data.errors import MissingRequirement, StoreError
from data.sqlite import storage_errors, use_write_ahead_log
from kb.store.ledger import Ledger
from tests.pages import PageSource, made_up_taxa
from tests.small_files import files_of_at_most
from tests.toy.encoders import toy_encoders


@pytest.mark.integration
def test_a_build_on_a_full_disk_fails_and_resumes_later(tmp_path: Path) -> None:
    path = tmp_path / "a.kb"
    with files_of_at_most(60_000), pytest.raises(MissingRequirement, match="cannot be written"):
        kb.build(path, made_up_taxa(60), PageSource(), toy_encoders())
    assert kb.build(path, made_up_taxa(60), PageSource(), toy_encoders()).species == 60
    assert kb.verify(path).ok


def test_a_transaction_on_a_full_disk_is_rolled_back(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite", create=True)
    ledger._db.execute("PRAGMA max_page_count = 30")  # SQLite treats this like a full disk
    with pytest.raises(MissingRequirement, match="cannot be written"), ledger.transaction():
        ledger.set_fact("small", "1")
        ledger.set_fact("large", "x" * 400_000)
    assert ledger.fact("small") is None
    ledger.set_fact("small", "2")
    assert ledger.fact("small") == "2"
    ledger.close()


def test_database_errors_are_translated_in_a_deleted_folder_too_and_other_errors_are_not(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "gone"):
        with pytest.raises(StoreError, match="no such table"), storage_errors(folder):
            raise sqlite3.OperationalError("no such table")
    with pytest.raises(ZeroDivisionError), storage_errors(tmp_path):
        _ = 1 // 0


def connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)


def test_a_locked_database_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.sqlite"
    with closing(connect(path)) as holder, closing(connect(path)) as other:
        holder.execute("CREATE TABLE t (x)")
        holder.execute("BEGIN EXCLUSIVE")
        with monkeypatch.context() as patched, pytest.raises(sqlite3.OperationalError, match="locked"):
            patched.setattr("data.sqlite.WAIT_S", 0.1)
            use_write_ahead_log(other)
        timer = threading.Timer(0.2, holder.execute, ("COMMIT",))
        timer.start()
        use_write_ahead_log(other)
        timer.join()
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_file_of_an_earlier_version_survives_a_full_disk(tmp_path: Path) -> None:
    """Its new table cannot be made; the next use tries again, and does not take the file for damaged."""
    path = tmp_path / "replies.sqlite"
    earlier = "CREATE TABLE IF NOT EXISTS replies (reply TEXT)"
    schema = f"{earlier}; CREATE TABLE IF NOT EXISTS checksums (checksum TEXT);"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(earlier)
        db.execute("INSERT INTO replies VALUES ('paid for')")
    with CacheFile(path, schema=schema, synchronous="FULL", lost="it is asked for again") as cache:
        with files_of_at_most(0), pytest.raises(MissingRequirement):
            cache.run(lambda db: db.execute("SELECT * FROM checksums").fetchall())
        found = cache.run(lambda db: db.execute("SELECT reply FROM replies LEFT JOIN checksums").fetchall())
    assert found == [("paid for",)]
    assert not list(tmp_path.glob("*.damaged-*"))
