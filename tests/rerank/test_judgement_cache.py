"""`rerank.judgement_cache`: entries survive the process, and a damaged file is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from data.errors import StoreError
from rerank import JudgementCache


def test_entries_are_read_by_the_next_process(tmp_path: Path) -> None:
    with JudgementCache(tmp_path / "new" / "cache.sqlite") as cache:
        cache.put("k", "first")
        cache.put("k", "second")
    with JudgementCache(tmp_path / "new" / "cache.sqlite") as cache:
        assert (cache.get("k"), cache.get("other")) == ("second", None)


def test_a_file_of_another_kind_is_an_error_with_a_hint(tmp_path: Path) -> None:
    file = tmp_path / "cache.sqlite"
    file.write_text("photos" * 100)
    with pytest.raises(StoreError, match="not a cache of judgements") as caught:
        JudgementCache(file)
    assert "Move the file away" in (caught.value.hint or "")
    assert file.read_text() == "photos" * 100
