"""`rerank.judgement_cache`: entries survive the process, and a damaged file is set aside."""

from __future__ import annotations

from pathlib import Path

import pytest

from rerank import JudgementCache
from tests.damaged import damaged


def test_entries_are_read_by_the_next_process(tmp_path: Path) -> None:
    with JudgementCache(tmp_path / "new" / "cache.sqlite") as cache:
        cache.put("k", "first")
        cache.put("k", "second")
    with JudgementCache(tmp_path / "new" / "cache.sqlite") as cache:
        assert (cache.get("k"), cache.get("other")) == ("second", None)


@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_cache_answers_rightly_or_judges_again(tmp_path: Path, seed: int) -> None:
    file = tmp_path / "cache.sqlite"
    with JudgementCache(file) as cache:
        for n in range(100):
            cache.put(f"key {n}", f"judgement {n} " * 9)
    file.write_bytes(damaged(file.read_bytes(), seed))
    with JudgementCache(file) as cache:
        assert all(cache.get(f"key {n}") in (None, f"judgement {n} " * 9) for n in range(100))
        cache.put("key 7", "again")
        assert cache.get("key 7") == "again"


def test_a_file_of_another_kind_is_kept_under_another_name(tmp_path: Path) -> None:
    file = tmp_path / "cache.sqlite"
    file.write_text("photos" * 100)
    with JudgementCache(file) as cache:
        cache.put("k", "first")
        assert cache.get("k") == "first"
    assert file.with_name("cache.sqlite.damaged-1").read_text() == "photos" * 100
