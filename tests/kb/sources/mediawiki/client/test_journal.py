"""The journal of look-ups: an interrupted build asks nothing twice, and a damaged file costs only requests."""

from __future__ import annotations

import os
import time
from pathlib import Path

from kb.sources.mediawiki.client.journal import OLDEST_S, LookupJournal


def test_answers_outlive_the_process_until_the_build_ends(tmp_path: Path) -> None:
    file = tmp_path / "look-ups" / "a.sqlite"
    first = LookupJournal(file)
    assert first.answer(["titles", ["A"]], lambda: {"A": 1}) == {"A": 1}
    second = LookupJournal(file)  # the first was killed
    assert second.answer(["titles", ["A"]], lambda: {"A": 2}) == {"A": 1}
    assert second.answer(["titles", ["B"]], lambda: {"B": 3}) == {"B": 3}
    second.remove()
    assert not file.exists()
    assert LookupJournal(file).answer(["titles", ["A"]], lambda: {"A": 2}) == {"A": 2}


def test_without_a_file_nothing_is_kept() -> None:
    journal = LookupJournal()
    assert not journal.is_kept
    assert [journal.answer("x", lambda: 1), journal.answer("x", lambda: 2)] == [1, 2]
    journal.remove()


def test_old_and_damaged_files_are_started_afresh(tmp_path: Path) -> None:
    file = tmp_path / "a.sqlite"
    LookupJournal(file).answer("x", lambda: 1)
    long_ago = time.time() - OLDEST_S - 60
    os.utime(file, (long_ago, long_ago))
    assert LookupJournal(file).answer("x", lambda: 2) == 2
    file.write_bytes(b"damaged" * 1000)
    journal = LookupJournal(file)
    assert journal.answer("x", lambda: 3) == 3
    journal.close()
    assert LookupJournal(file).answer("x", lambda: 4) == 3
