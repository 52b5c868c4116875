"""Every kind of damage to a knowledge base; as a script it prints the response of `kb verify` to each.

    PYTHONPATH=. python tests/kb/damages.py

The knowledge base holds made-up birds and uses plain encoders, since only the store is tested.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import kb
from data.contracts import Encoders
from data.errors import FieldmarkError
from kb.store.chroma import Collections, Row
from kb.store.layout import CollectionKind, Layout, collection_name
from kb.store.ledger import Ledger
from kb.store.rows import rows_of, subject_of
from tests.pages import PageSource, made_up_taxa
from tests.toy.encoders import toy_encoders

N = 6
TERMS = [("Amplexus", None)]
Harm = Callable[[Path], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One kind of damage. `mended_by` is the remedy: verify alone, or the steps that verify recommends."""

    name: str
    harm: Harm
    mended_by: str = "verify"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Messages of verify, whether it mended the damage, and whether the digest is unchanged."""

    messages: tuple[str, ...]
    hint: str
    is_mended: bool
    is_equal: bool


def build(path: Path, encoders: Encoders) -> str:
    """Build or resume the knowledge base and return its digest."""
    kb.build(path, made_up_taxa(N), PageSource(), encoders, terms=TERMS)
    return kb.verify(path).digest


def outcome(damage: Damage, path: Path, encoders: Encoders, digest: str) -> Outcome:
    """Damage the knowledge base, then verify it and follow the hints until it is whole."""
    damage.harm(path)
    hint = ""
    try:
        found = kb.verify(path)
        messages = found.problems
    except FieldmarkError as error:
        messages, hint = (str(error),), error.hint or ""
        if "remove" in hint:
            for file in path.glob("ledger.sqlite*"):
                file.unlink()
        found = None
    is_mended = found is not None and found.problems == found.mended
    if not is_mended:
        kb.build(path, made_up_taxa(N), PageSource(), encoders, terms=TERMS)
    last = kb.verify(path)
    return Outcome(messages=messages, hint=hint, is_mended=is_mended, is_equal=last.ok and last.digest == digest)


# --- Chroma ----------------------------------------------------------------------------------------------------------


def on_rows(kind: CollectionKind, change: Callable[[Collections, str, list[Row]], None]) -> Harm:
    def harm(path: Path) -> None:
        layout = Layout(path)
        info = layout.require()
        space = {"anchors": info.visual, "chunks": info.text_image[0]}.get(kind, info.sentence)
        name = collection_name(kind, space)
        with closing(Ledger(layout.ledger, read_only=True)) as ledger:
            rows = [row for entry in ledger.entries() for row in rows_of(subject_of(entry), ledger, name, kind)]
        with Collections(layout, info) as collections:
            change(collections, name, rows)

    return harm


def in_database(statement: str) -> Harm:
    """Change Chroma's own database directly."""

    def harm(path: Path) -> None:
        with closing(sqlite3.connect(path / "chroma" / "chroma.sqlite3")) as db, db:
            assert db.execute(statement).rowcount > 0

    return harm


def delete_row(collections: Collections, name: str, rows: list[Row]) -> None:
    collections.delete(name, [rows[0].id])


def add_row(collections: Collections, name: str, rows: list[Row]) -> None:
    collections.upsert(name, [replace(rows[0], id="extra-row", document="An extra row.")])


def turn_vector(collections: Collections, name: str, rows: list[Row]) -> None:
    collections.upsert(name, [replace(rows[0], vector=np.roll(rows[0].vector, 1))])


def change_text(collections: Collections, name: str, rows: list[Row]) -> None:
    collections.upsert(name, [replace(rows[0], document="A pink bird.")])


def change_metadata(collections: Collections, name: str, rows: list[Row]) -> None:
    collections.upsert(name, [replace(rows[0], metadata={**rows[0].metadata, "colour": "pink"})])


def drop_collection(collections: Collections, name: str, rows: list[Row]) -> None:
    collections.drop(name)


# --- the ledger ------------------------------------------------------------------------------------------------------


def sql(*statements: str) -> Harm:
    """Change the ledger directly, without its triggers, as a damaged disk would."""

    def harm(path: Path) -> None:
        with closing(sqlite3.connect(path / "ledger.sqlite")) as db, db:
            triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
            for name, _ in triggers:
                db.execute(f"DROP TRIGGER {name}")
            for statement in statements:
                assert db.execute(statement).rowcount > 0
            for _, definition in triggers:
                db.execute(definition)

    return harm


ONE_SPECIES = "avis-002"
OF_ONE_SPECIES = f"subject_id = '{ONE_SPECIES}'"
FLIPPED = "vectors = CAST(substr(vectors, 1, 8) || x'00000040' || substr(vectors, 13) AS BLOB)"


def garble_ledger(path: Path) -> None:
    (path / "ledger.sqlite").write_bytes(b"SQLite format 3\x00" + b"\x13" * 9000)


def garble_a_page(path: Path) -> None:
    file = path / "ledger.sqlite"
    content = bytearray(file.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = b"\x7f" * 4096
    file.write_bytes(bytes(content))


# --- files -----------------------------------------------------------------------------------------------------------


def files_of(path: Path, pattern: str) -> list[Path]:
    return sorted(path.glob(pattern))


def without(pattern: str) -> Harm:
    def harm(path: Path) -> None:
        victim = files_of(path, pattern)[0]
        if victim.is_dir():
            shutil.rmtree(victim)
        else:
            victim.unlink()

    return harm


def cut(pattern: str) -> Harm:
    def harm(path: Path) -> None:
        victim = files_of(path, pattern)[0]
        victim.write_bytes(victim.read_bytes()[:-7])

    return harm


def garble_toml(path: Path) -> None:
    (path / "kb.toml").write_bytes(b"\xff\x00 no toml")


def change_toml(path: Path) -> None:
    """Change one letter of a space name: still valid TOML, but for other encoders."""
    text = (path / "kb.toml").read_text()
    assert "plain-words" in text
    (path / "kb.toml").write_text(text.replace("plain-words", "plain-w0rds"))


def scatter(pattern: str) -> Harm:
    """Change 64 bytes at random places in a file."""

    def harm(path: Path) -> None:
        victim = max(files_of(path, pattern), key=lambda file: file.stat().st_size)
        content = bytearray(victim.read_bytes())
        for place in random.Random(7).sample(range(len(content)), 64):
            content[place] ^= 0x55
        victim.write_bytes(bytes(content))

    return harm


def flip(pattern: str) -> Harm:
    def harm(path: Path) -> None:
        victim = files_of(path, pattern)[0]
        content = bytearray(victim.read_bytes())
        content[-3] ^= 0xFF
        victim.write_bytes(bytes(content))

    return harm


def overwrite(pattern: str) -> Harm:
    def harm(path: Path) -> None:
        files_of(path, pattern)[0].write_bytes(b"no database at all" * 100)

    return harm


def garble_schema(pattern: str) -> Harm:
    """Change a byte of the first table's definition; SQLite's own message then is not UTF-8."""

    def harm(path: Path) -> None:
        victim = files_of(path, pattern)[0]
        content = victim.read_bytes()
        assert b"CREATE TABLE" in content
        victim.write_bytes(content.replace(b"CREATE TABLE", b"CREATE TABL\xf4"))

    return harm


def truncate(pattern: str) -> Harm:
    def harm(path: Path) -> None:
        for file in path.glob(f"{pattern}*"):
            file.write_bytes(b"")

    return harm


def swap(pattern: str) -> Harm:
    def harm(path: Path) -> None:
        one, two = files_of(path, pattern)[:2]
        first = one.read_bytes()
        one.write_bytes(two.read_bytes())
        two.write_bytes(first)

    return harm


def stale_cache(path: Path) -> None:
    manifest = path / "cache" / "manifest.json"
    content = json.loads(manifest.read_bytes())
    manifest.write_text(json.dumps({**content, "generation": "of last week"}))


def mixed_cache(path: Path) -> None:
    index = files_of(path, "cache/rows-*.json")[0]
    content = json.loads(index.read_bytes())
    index.write_text(json.dumps({**content, "owners": content["owners"][::-1]}))


BUILD = "verify, then build"
REMOVE = "removing it, then build"
DAMAGES = (
    Damage(name="Chroma: a row is gone", harm=on_rows("anchors", delete_row)),
    Damage(name="Chroma: a row too many", harm=on_rows("species", add_row)),
    Damage(name="Chroma: a vector was changed", harm=on_rows("chunks", turn_vector)),
    Damage(name="Chroma: a text was changed", harm=on_rows("terms", change_text)),
    Damage(name="Chroma: metadata was changed", harm=on_rows("anchors", change_metadata)),
    Damage(name="Chroma: a collection is gone", harm=on_rows("chunks", drop_collection)),
    Damage(name="Chroma: the folder is gone", harm=without("chroma")),
    Damage(name="Chroma: its database is garbled", harm=overwrite("chroma/chroma.sqlite3")),
    Damage(
        name="Chroma: a text in its database was changed",
        harm=in_database(
            "UPDATE embedding_metadata SET string_value = 'pink' WHERE key = 'chroma:document' AND id IN "
            "(SELECT max(id) FROM embedding_metadata WHERE key = 'chroma:document')"
        ),
    ),
    Damage(
        name="Chroma: an id in its database was changed",
        harm=in_database("UPDATE embeddings SET embedding_id = 'changed-id' WHERE id = 1"),
    ),
    Damage(
        name="Chroma: a text in its database is not UTF-8",
        harm=in_database("UPDATE collections SET config_json_str = CAST(x'41ff' AS TEXT)"),
    ),
    Damage(name="Chroma: the schema of its database is garbled", harm=garble_schema("chroma/chroma.sqlite3")),
    *(
        Damage(name=f"Chroma: 64 bytes of {file} were changed", harm=scatter(f"chroma/*/{file}"))
        for file in ("data_level0.bin", "header.bin", "index_metadata.pickle")
    ),
    Damage(name="Chroma: an index file is cut short", harm=cut("chroma/*/data_level0.bin")),
    Damage(name="ledger: an entry is gone", harm=sql(f"DELETE FROM entries WHERE {OF_ONE_SPECIES}"), mended_by=REMOVE),
    Damage(
        name="ledger: an entry was changed",
        harm=sql(f"UPDATE entries SET record = replace(record, 'bird', 'brid') WHERE {OF_ONE_SPECIES}"),
        mended_by=REMOVE,
    ),
    Damage(
        name="ledger: a byte of an entry is not UTF-8",
        harm=sql(f"UPDATE entries SET name = CAST(x'41ff' AS TEXT) WHERE {OF_ONE_SPECIES}"),
        mended_by=REMOVE,
    ),
    Damage(name="ledger: all entries are gone", harm=sql("DELETE FROM entries"), mended_by=REMOVE),
    *(
        Damage(
            name=f"ledger: the row of {stage} is gone",
            harm=sql(f"DELETE FROM steps WHERE {OF_ONE_SPECIES} AND stage = '{stage}'"),
            mended_by=REMOVE,
        )
        for stage in ("resolve", "fetch", "distil", "anchor", "encode")
    ),
    *(
        Damage(
            name=f"ledger: the output of {stage} was changed",
            harm=sql(f"UPDATE steps SET output = 'x' || output WHERE {OF_ONE_SPECIES} AND stage = '{stage}'"),
            mended_by=REMOVE,
        )
        for stage in ("resolve", "fetch", "distil", "anchor")
    ),
    Damage(
        name="ledger: the names of a species are gone",
        harm=sql(f"DELETE FROM subjects WHERE {OF_ONE_SPECIES}"),
        mended_by=REMOVE,
    ),
    Damage(name="ledger: vectors are gone", harm=sql(f"DELETE FROM vectors WHERE {OF_ONE_SPECIES}"), mended_by=REMOVE),
    Damage(
        name="ledger: vectors are cut short",
        harm=sql(f"UPDATE vectors SET vectors = substr(vectors, 3) WHERE {OF_ONE_SPECIES}"),
        mended_by=REMOVE,
    ),
    Damage(
        name="ledger: vectors were changed",
        harm=sql(f"UPDATE vectors SET {FLIPPED} WHERE {OF_ONE_SPECIES} AND collection LIKE 'chunks%'"),
        mended_by=REMOVE,
    ),
    Damage(name="ledger: its facts are gone", harm=sql("DELETE FROM facts"), mended_by=REMOVE),
    Damage(name="ledger: the file is gone", harm=without("ledger.sqlite"), mended_by="build"),
    Damage(name="ledger: the file is empty", harm=truncate("ledger.sqlite"), mended_by="build"),
    Damage(name="ledger: the file is garbled", harm=garble_ledger, mended_by=REMOVE),
    Damage(name="ledger: its schema is garbled", harm=garble_schema("ledger.sqlite"), mended_by=REMOVE),
    Damage(name="ledger: a page of the file is garbled", harm=garble_a_page, mended_by=REMOVE),
    Damage(name="anchors: a picture is gone", harm=without("anchors/??/*"), mended_by=BUILD),
    Damage(name="anchors: a picture is cut short", harm=cut("anchors/??/*"), mended_by=BUILD),
    Damage(name="anchors: two pictures were swapped", harm=swap("anchors/??/*"), mended_by=BUILD),
    Damage(name="anchors: the folder is gone", harm=without("anchors"), mended_by=BUILD),
    Damage(name="articles: a file is gone", harm=without("articles/??/*"), mended_by=BUILD),
    Damage(name="articles: a file is cut short", harm=cut("articles/??/*"), mended_by=BUILD),
    Damage(name="articles: two files were swapped", harm=swap("articles/??/*"), mended_by=BUILD),
    Damage(name="articles: the folder is gone", harm=without("articles"), mended_by=BUILD),
    Damage(name="cache: the folder is gone", harm=without("cache")),
    Damage(name="cache: a number was changed", harm=flip("cache/chunks-*.npy")),
    Damage(name="cache: a matrix is cut short", harm=cut("cache/chunks-*.npy")),
    Damage(name="cache: rows were given to other species", harm=mixed_cache),
    Damage(name="cache: outdated", harm=stale_cache),
    Damage(name="kb.toml is gone", harm=without("kb.toml")),
    Damage(name="kb.toml is garbled", harm=garble_toml),
    Damage(name="kb.toml: a letter was changed", harm=change_toml),
)
UNREPORTED = ("cache: the folder is gone", "cache: outdated")
"""Verify reports nothing here: any reader rebuilds a missing or outdated cache."""


def main() -> None:
    """Print the table."""
    encoders = toy_encoders()
    with tempfile.TemporaryDirectory() as folder:
        digest = build(Path(folder, "whole.kb"), encoders)
        sys.stdout.write("| damage | found | whole again after | digest as before |\n|---|---|---|---|\n")
        for i, damage in enumerate(DAMAGES):
            path = Path(folder, f"{i}.kb")
            shutil.copytree(Path(folder, "whole.kb"), path)
            found = outcome(damage, path, encoders, digest)
            is_reported = "yes" if found.messages else "rebuilt by any reader"
            how = "verify" if found.is_mended else damage.mended_by
            sys.stdout.write(f"| {damage.name} | {is_reported} | {how} | {'yes' if found.is_equal else 'NO'} |\n")
            shutil.rmtree(path)


if __name__ == "__main__":
    main()
