"""`rerank.judgement_cache`: entries survive the process, and a damaged file is set aside."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from rerank import JudgementCache


def test_entries_are_read_by_the_next_process(tmp_path: Path) -> None:
    with JudgementCache(tmp_path / "new" / "cache.sqlite") as cache:
        cache.put("k", "first")
        cache.put("k", "second")
    with JudgementCache(tmp_path / "new" / "cache.sqlite") as cache:
        assert (cache.get("k"), cache.get("other")) == ("second", None)


def test_an_entry_whose_text_became_bytes_counts_as_missing(tmp_path: Path) -> None:
    """SQLite tells texts from bytes by one bit."""
    file = tmp_path / "cache.sqlite"
    with JudgementCache(file) as cache:
        cache.put("k", "first")
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("UPDATE judgements SET value = CAST(value AS BLOB)")
    with JudgementCache(file) as cache:
        assert cache.get("k") is None
