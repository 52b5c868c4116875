import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from data.cache_file import CacheFile
from data.errors import MissingRequirement, StoreError
from data.files import storage_errors, use_write_ahead_log
from kb.store.ledger import Ledger
from tests.small_files import files_of_at_most


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
        with pytest.raises(StoreError, match="cannot be read or changed"), storage_errors(folder):
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
            patched.setattr("data.files.WAIT_S", 0.1)
            use_write_ahead_log(other)
        timer = threading.Timer(0.2, holder.execute, ("COMMIT",))
        timer.start()
        use_write_ahead_log(other)
        timer.join()
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_cache_survives_a_full_disk(tmp_path: Path) -> None:
    """The next use tries again, and does not take the file for damaged."""
    path = tmp_path / "replies.sqlite"
    with CacheFile(path) as cache:
        cache.put("k", "paid for")
    with CacheFile(path) as cache:
        with files_of_at_most(0), pytest.raises(MissingRequirement):
            cache.put("k", "lost")
        assert cache.get("k") == "paid for"
    assert not list(tmp_path.glob("*.damaged-*"))


def test_a_cleared_cache_is_empty_and_says_how_many_bytes_it_freed(tmp_path: Path) -> None:
    with CacheFile(tmp_path / "replies.sqlite") as cache, CacheFile(tmp_path / "replies.sqlite") as other:
        for i in range(50):
            cache.put(str(i), f"{i} " * 4_000)
        assert other.get("7") == "7 " * 4_000
        before = sum(file.stat().st_size for file in tmp_path.iterdir())
        freed = cache.clear()
        assert freed == before - sum(file.stat().st_size for file in tmp_path.iterdir()) > 400_000
        assert (len(cache), other.get("7")) == (0, None)
        cache.put("7", "seven")
        assert other.get("7") == "seven"


def test_a_fresh_cache_reads_only_what_it_wrote(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    with CacheFile(path) as cache:
        cache.put("k", "first")
    with CacheFile(path, fresh=True) as cache:
        assert (cache.get("k"), cache.get("k", earlier=True)) == (None, "first")
        cache.put("k", "second")
        assert cache.get("k") == "second"
    with CacheFile(path) as cache:
        cache.put("j", "other")
        assert (cache.get("k"), cache.texts()) == ("second", ["other", "second"])
