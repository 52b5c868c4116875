"""`data.cache_file`: a sound file stays, whatever befell its first use."""

import resource
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from data.cache_file import CacheFile
from data.errors import MissingRequirement

EARLIER = "CREATE TABLE replies (reply TEXT)"
SCHEMA = f"{EARLIER.replace('TABLE', 'TABLE IF NOT EXISTS')}; CREATE TABLE IF NOT EXISTS checksums (checksum TEXT);"


@contextmanager
def no_room() -> Iterator[None]:
    """Let no file grow in the block, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_file_of_an_earlier_version_survives_a_full_disk(tmp_path: Path) -> None:
    """Its new table cannot be made; the next use tries again, and does not take the file for damaged."""
    path = tmp_path / "replies.sqlite"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(EARLIER)
        db.execute("INSERT INTO replies VALUES ('paid for')")
    with CacheFile(path, schema=SCHEMA, synchronous="FULL", lost="it is asked for again") as cache:
        with no_room(), pytest.raises(MissingRequirement):
            cache.run(lambda db: db.execute("SELECT * FROM checksums").fetchall())
        found = cache.run(lambda db: db.execute("SELECT reply FROM replies LEFT JOIN checksums").fetchall())
    assert found == [("paid for",)]
    assert not list(tmp_path.glob("*.damaged-*"))
