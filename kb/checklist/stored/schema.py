"""Tables of an indexed checklist."""

from __future__ import annotations

from typing import Final

VERSION: Final = 2

ROWS: Final = """
CREATE TABLE work.raw (
    n INTEGER PRIMARY KEY, line INT, id TEXT, name TEXT, rank TEXT, status TEXT, parent TEXT, accepted TEXT,
    path TEXT, own_path TEXT, other_id TEXT, parent_n INT, accepted_n INT
);
CREATE TABLE work.raw_common (id TEXT, n INT, name TEXT, language TEXT, is_preferred INT);
"""
"""The rows of the file, in a work file that is deleted at the end."""

TABLES: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE taxon (
    n INTEGER PRIMARY KEY,  -- position in the tree, depth first
    last INT,               -- the last position below it
    parent INT, id TEXT, name TEXT, rank TEXT, n_species INT
);
CREATE TABLE name (
    taxon INT,
    level INT,              -- 0 accepted, 1 provisional, 2 synonym, 3 preferred common name, 4 other common name
    nth INT,
    text TEXT, language TEXT, folded TEXT, reversed TEXT,
    PRIMARY KEY (taxon, level, nth)
) WITHOUT ROWID;
CREATE TABLE homonym (name TEXT PRIMARY KEY) WITHOUT ROWID;  -- species with the same name below different roots
"""
INDEXES: Final = """
CREATE INDEX name_folded ON name (folded);
CREATE INDEX name_reversed ON name (reversed);
"""
LEVELS: Final = {"accepted": 0, "provisional": 1, "synonym": 2}
PREFERRED: Final = 3
OTHER: Final = 4
