"""Switching to the write-ahead log waits for other processes."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from data.sqlite import use_write_ahead_log


def connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)


def test_a_locked_database_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with closing(connect(path)) as holder, closing(connect(path)) as other:
        holder.execute("CREATE TABLE t (x)")
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            use_write_ahead_log(other, wait_s=0.1)
        timer = threading.Timer(0.2, holder.execute, ("COMMIT",))
        timer.start()
        use_write_ahead_log(other, wait_s=10)
        timer.join()
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
