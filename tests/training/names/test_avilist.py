"""The index of AviList that ships is that of the tables."""

import sqlite3
from contextlib import closing
from pathlib import Path

from kb.checklist.avilist import FILE
from training.names.avilist import Tables, tables_folder, write_index


def test_the_shipped_index_is_made_of_the_tables(tmp_path: Path) -> None:
    write_index(Tables(tables_folder()), tmp_path / "made.sqlite")
    dumps = []
    for path in (tmp_path / "made.sqlite", FILE):
        with closing(sqlite3.connect(path)) as db:
            dumps.append(list(db.iterdump()))
    assert len(dumps[0]) > 60_000 and dumps[0] == dumps[1]
