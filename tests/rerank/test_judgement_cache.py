"""`rerank.judgement_cache`: entries survive the process, and a damaged file is set aside."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from rerank import JudgementCache
from tests.damaged import damaged


def test_entries_are_read_by_the_next_process(tmp_path: Path) -> None:
    with JudgementCache(tmp_path / "new" / "cache.sqlite") as cache:
        cache.put("k", "first")
        cache.put("k", "second")
    with JudgementCache(tmp_path / "new" / "cache.sqlite") as cache:
        assert (cache.get("k"), cache.get("other")) == ("second", None)


def test_a_damaged_cache_answers_rightly_or_judges_again(tmp_path: Path) -> None:
    file = tmp_path / "cache.sqlite"
    with JudgementCache(file) as cache:
        for n in range(100):
            cache.put(f"key {n}", f"judgement {n} " * 9)
    whole = file.read_bytes()
    for seed in range(20):
        file.write_bytes(damaged(whole, seed))
        with JudgementCache(file) as cache:
            assert all(cache.get(f"key {n}") in (None, f"judgement {n} " * 9) for n in range(100)), seed
            cache.put("key 7", "again")
            assert cache.get("key 7") == "again", seed


def test_an_entry_whose_text_became_bytes_counts_as_missing(tmp_path: Path) -> None:
    """SQLite tells texts from bytes by one bit."""
    file = tmp_path / "cache.sqlite"
    with JudgementCache(file) as cache:
        cache.put("k", "first")
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("UPDATE judgements SET value = CAST(value AS BLOB)")
    with JudgementCache(file) as cache:
        assert cache.get("k") is None


def test_a_file_of_another_kind_is_kept_under_another_name(tmp_path: Path) -> None:
    file = tmp_path / "cache.sqlite"
    file.write_text("photos" * 100)
    with JudgementCache(file) as cache:
        cache.put("k", "first")
        assert cache.get("k") == "first"
    assert file.with_name("cache.sqlite.damaged-1").read_text() == "photos" * 100
