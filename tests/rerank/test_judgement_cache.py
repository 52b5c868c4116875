from pathlib import Path

from rerank import JudgementCache


def test_entries_are_read_by_the_next_process(tmp_path: Path) -> None:
    with JudgementCache(tmp_path / "new" / "cache.sqlite") as cache:
        cache.put("k", "first")
        cache.put("k", "second")
    with JudgementCache(tmp_path / "new" / "cache.sqlite") as cache:
        assert (cache.get("k"), cache.get("other")) == ("second", None)
