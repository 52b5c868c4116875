"""Indexing of a checklist file: one SQLite file, made in one pass over the rows and a few over the disk.

Memory holds some bytes a taxon, not the names; the file appears at its path once it is complete.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from data.batches import grouped
from data.errors import BadInput
from data.files import storage_errors
from kb.checklist.names import LADDER, ScientificName, fold, parse_name, without_authorship
from kb.checklist.stored.index_file import LEVELS, MAX_NAME, OTHER, PREFERRED, NameRow, TaxonRow, write_rows
from kb.checklist.stored.usage import ChecklistFile, Problems, Usage, rank_of

N_AT_A_TIME: Final = 20_000
MAX_KNOWN: Final = 200_000  # paths in memory
MAX_HOPS: Final = 8  # of a synonym of a synonym
INFRASPECIFIC: Final = frozenset({"subspecies", "variety", "form", "forma", "subvariety", "subform"})
OF_BINOMIALS: Final = INFRASPECIFIC | {
    *("", "species", "hybrid", "cultivar", "cultivar group", "superspecies", "klepton", "unranked", "unknown"),
    *("strain", "complex", "infrahybrid", "subsection", "subseries"),
    *("species aggregate", "aggregate", "species group", "species subgroup", "species complex", "species hypothesis"),
    *("race", "morph", "natio", "aberration", "pathovar", "section", "series", "subgenus", "other", "no rank"),
}
"""Known ranks of names of two and more words."""
_SLASH: Final = re.compile(r"[a-z]/[a-z]")
_PATH: Final = "\x1e"
_PART: Final = "\x1f"

_ROWS: Final = """
CREATE TABLE raw (
    n INTEGER PRIMARY KEY, line INT, id TEXT, name TEXT, rank TEXT, status TEXT, parent TEXT, accepted TEXT,
    path TEXT, own_path TEXT, other_id TEXT, parent_n INT, accepted_n INT
);
CREATE TABLE raw_common (id TEXT, n INT, name TEXT, language TEXT, is_preferred INT);
"""
"""The rows of the file, in a work file that is deleted at the end."""

Report = Callable[[str, int, int], None]
"""Shows (work, done, total); a total of 0 is not known yet."""


def index_checklist(
    file: ChecklistFile, target: Path, meta: Mapping[str, str], report: Report = lambda *_: None
) -> None:
    """Write the index of a checklist file to `target`, replacing an earlier one at the end.

    Raises:
        BadInput: if the file has no taxa.
        MissingRequirement: if the disk is full or not writable.
    """
    with (
        storage_errors(target.parent),
        _deleted(target.with_suffix(".rows")) as work,
        closing(sqlite3.connect(work, isolation_level=None)) as db,
    ):
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -32768"):
            db.execute(f"PRAGMA {pragma}")
        db.create_function("bare", 1, without_authorship, deterministic=True)
        db.executescript(_ROWS)
        db.execute("BEGIN")
        _read_rows(db, file, report)
        _join_repeated(db, file)
        _link(db, file)
        _add_higher_taxa(db)
        _place(db, file)
        _report_no_species(db, file)
        described = {**meta, "form": file.form, "licence": file.licence}
        write_rows(
            target,
            lambda: {**described, "problems": json.dumps(file.problems.lines())},  # after the names
            _taxa(db, report),
            _names(db, file, report),
        )
        report("index", 1, 1)


@contextmanager
def _deleted(path: Path) -> Iterator[Path]:
    """Give the path of a file that does not exist, and delete it at the end."""
    path.unlink(missing_ok=True)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _read_rows(db: sqlite3.Connection, file: ChecklistFile, report: Report) -> None:
    done = 0
    for batch in grouped(file.usages(), N_AT_A_TIME):
        rows, common = [], []
        for n, usage in enumerate(batch, done + 1):
            parsed = parse_name(usage.name)
            if not _is_usable(usage, parsed, file.problems):
                continue
            rows.append((n, *_row(usage, parsed)))
            common += [(None, n, name, language, 0) for name, language in usage.common_names]
        done += len(batch)
        db.executemany(
            "INSERT INTO raw (n, line, id, name, rank, status, parent, accepted, path, own_path, other_id) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
        db.executemany("INSERT INTO raw_common VALUES (?, ?, ?, ?, ?)", common)
        report("names", done, 0)
    if db.execute("SELECT 1 FROM raw LIMIT 1").fetchone() is None:
        first = "; ".join(file.problems.lines()[:2])
        raise BadInput("The checklist has no names.", hint=f"Skipped: {first}" if first else None)
    n_common = 0
    for found in grouped(file.common_names(), N_AT_A_TIME):
        db.executemany(
            "INSERT INTO raw_common VALUES (?, NULL, ?, ?, ?)",
            [(each.id, each.name, each.language, each.is_preferred) for each in found],
        )
        n_common += len(found)
        report("common names", n_common, 0)


def _is_usable(usage: Usage, parsed: ScientificName, problems: Problems) -> bool:
    """Return whether a row names a taxon; report it if not, and an unknown rank of a species."""
    place = f"line {usage.line}, {usage.name}"
    if usage.status == "unusable":
        problems.add("bare, deleted or quarantined name", place)
    elif parsed.rank == "unnamed":
        problems.add("no species named (sp., cf., aff.)", place)
    elif len(usage.name) > MAX_NAME:
        problems.add(f"name of more than {MAX_NAME:,} characters", f"line {usage.line}")
    elif _SLASH.search(usage.name):
        problems.add("several species (a slash)", place)
    elif "." in parsed.text[:4] and " " in parsed.text:
        problems.add("genus shortened", place)
    else:
        rank = rank_of(usage.rank)
        if parsed.rank == "species" and rank not in OF_BINOMIALS and usage.status != "synonym":
            problems.add_word("unknown rank, not counted as species:", rank, place)
        return True
    return False


def _row(
    usage: Usage, parsed: ScientificName
) -> tuple[int, str, str, str, str, str, str, str | None, str | None, str | None]:
    name, rank = parsed.text or usage.name, rank_of(usage.rank)
    if parsed.rank == "hybrid":
        rank = "hybrid"
    elif not rank:
        rank = parsed.rank or _lowest_rank(usage, name)
    elif rank == "species" and " " not in name:  # unusual spelling; its genus is another taxon
        name = usage.name
    elif parsed.is_several and rank != "species":  # beside the species itself
        name = f"{name} agg."
    path = None
    if usage.status in ("accepted", "provisional"):
        path = _path(name, rank, tuple((each, _in_sentence_case(text)) for each, text in usage.higher))
    own_path = None if path is None else path + _PATH + rank + _PART + name
    other = usage.other_id if usage.other_id != usage.id else None
    return (
        usage.line, usage.id, name, rank, usage.status, usage.parent, usage.accepted, path, own_path or None, other,
    )  # fmt: skip


def _lowest_rank(usage: Usage, name: str) -> str:
    """Return the rank of a one-word name that repeats the lowest column of its row, else `unranked`."""
    lowest = usage.higher[-1] if usage.higher else ("", "")
    return lowest[0] if name in (_in_sentence_case(lowest[1]), without_authorship(lowest[1])) else "unranked"


def _in_sentence_case(name: str) -> str:
    return name.capitalize() if name.isupper() and name.isalpha() else name


def _path(name: str, rank: str, higher: tuple[tuple[str, str], ...]) -> str:
    """Return the taxa above as one text; a species has a genus, and a subspecies a species, by its name."""
    above = [(each, text) for each, text in higher if not (each == rank and text == name)]
    if rank in LADDER:
        above = [(each, text) for each, text in above if LADDER.index(each) < LADDER.index(rank)]
    elif rank == "species" or rank in INFRASPECIFIC:
        words = name.split()
        if len(words) > 1 and words[0][:1].isupper() and not any(each == "genus" for each, _ in above):
            above = [(each, text) for each, text in above if each != "subgenus"] + [("genus", words[0])]
        if rank in INFRASPECIFIC and len(words) > 2:
            above.append(("species", " ".join(words[:2])))
    return _PATH.join(f"{each}{_PART}{text}" for each, text in above)


def _join_repeated(db: sqlite3.Connection, file: ChecklistFile) -> None:
    """Join the rows of a plain table, or without ids, that name the same taxon, with synonyms and common names.

    Rows agree if they give the same taxa above at every rank that both have.
    """
    db.execute("CREATE INDEX raw_name ON raw (name)")
    which = "" if file.form == "CSV" else "AND id = '' "
    again = (
        f"SELECT n, line, id, name, rank, path FROM raw AS later WHERE status = 'accepted' {which}AND EXISTS "
        "(SELECT 1 FROM raw AS early WHERE early.name = later.name AND early.status = 'accepted' AND early.n < later.n)"
    )
    repeated = db.execute(again).fetchall()
    if repeated:
        db.execute("CREATE INDEX raw_accepted ON raw (accepted)")
        db.execute("CREATE INDEX raw_common_n ON raw_common (n)")
    for n, line, key, name, rank, path in repeated:
        earlier = db.execute(
            "SELECT n, id, path FROM raw WHERE name = ? AND rank = ? AND status = 'accepted' AND n < ? ORDER BY n",
            (name, rank, n),
        ).fetchall()
        same = next((row for row in earlier if _agree(path or "", row[2] or "")), None)
        if same is None:
            continue
        file.problems.add("taxon listed before, lines joined", f"line {line}, {name}")
        db.execute("UPDATE raw_common SET n = ? WHERE n = ?", (same[0], n))
        if key:
            again = "UPDATE raw SET accepted = ? WHERE n > ? AND accepted = ? AND status = 'synonym'"
            db.execute(again, (same[1], n, key))
        if len(path or "") > len(same[2] or ""):
            db.execute(
                "UPDATE raw SET (path, own_path) = (SELECT path, own_path FROM raw WHERE n = ?) WHERE n = ?",
                (n, same[0]),
            )
        db.execute("DELETE FROM raw WHERE n = ?", (n,))


def _link(db: sqlite3.Connection, file: ChecklistFile) -> None:
    """Resolve ids and names of parents and accepted taxa to row numbers."""
    db.execute("CREATE INDEX raw_id ON raw (id)")
    db.execute("CREATE INDEX raw_other ON raw (other_id) WHERE other_id IS NOT NULL")
    db.execute("CREATE INDEX IF NOT EXISTS raw_name ON raw (name)")
    twice = (
        "SELECT n, line, id FROM raw AS later WHERE id != '' AND n > "
        "(SELECT min(n) FROM raw AS early WHERE early.id = later.id)"
    )
    for n, line, key in db.execute(twice).fetchall():
        file.problems.add("id used before", f"line {line}, {key}")
        db.execute("DELETE FROM raw WHERE n = ?", (n,))
    for column in ("parent", "accepted"):
        kinds = "('accepted', 'provisional')" if column == "parent" else "('synonym')"
        # By id first; by name for files without ids, perhaps with authors, if only one accepted taxon has the name.
        one = "(SELECT CASE WHEN count(*) = 1 THEN n END FROM raw AS b WHERE b.name = {} AND b.status = 'accepted'{})"
        db.execute(
            f"UPDATE raw SET {column}_n = coalesce("  # names of our own columns
            f"(SELECT n FROM raw AS b WHERE b.id = raw.{column}), "
            f"(SELECT n FROM raw AS b WHERE b.other_id = raw.{column}), "
            + one.format(f"raw.{column}", " AND b.n != raw.n")
            + f", CASE WHEN {column} GLOB '[A-Z]* *' THEN {one.format(f'bare(raw.{column})', '')} END) "
            f"WHERE {column} != '' AND status IN {kinds}"
        )
    for reason, where in (
        ("synonym without an accepted name", "status = 'synonym' AND accepted = ''"),
        ("synonym of a name that the file lacks", "status = 'synonym' AND accepted != '' AND accepted_n IS NULL"),
        ("misapplied name", "status = 'misapplied'"),
        ("parent that the file lacks", "parent != '' AND parent_n IS NULL AND status IN ('accepted', 'provisional')"),
    ):
        n_rows, line = db.execute(f"SELECT count(*), min(line) FROM raw WHERE {where}").fetchone()
        if n_rows:
            file.problems.add(reason, f"line {line}", n_rows)


def _add_higher_taxa(db: sqlite3.Connection) -> None:
    """Give rows without a parent the taxa in their columns, made where the file has no row for them."""
    db.execute("CREATE INDEX raw_path ON raw (own_path) WHERE own_path IS NOT NULL")
    db.execute("CREATE TABLE orphan AS SELECT n, path FROM raw WHERE parent_n IS NULL AND path != ''")
    known: dict[str, int] = {}
    for batch in grouped(db.execute("SELECT n, path FROM orphan"), N_AT_A_TIME):
        if len(known) > MAX_KNOWN:
            known.clear()
        parents = [(parent, n) for n, path in batch if (parent := _node(db, path, known)) != n]
        db.executemany("UPDATE raw SET parent_n = ? WHERE n = ?", parents)


def _node(db: sqlite3.Connection, path: str, known: dict[str, int]) -> int:
    """Return the row of the lowest taxon in a path."""
    if path in known:
        return known[path]
    above, _, lowest = path.rpartition(_PATH)
    rank, name = lowest.split(_PART)
    found = db.execute("SELECT n FROM raw WHERE own_path IN (?, ?) LIMIT 1", (path, _PATH + path)).fetchone()
    if found is None:  # a row with fewer columns, or none
        rows = db.execute(
            "SELECT n, path FROM raw WHERE name = ? AND rank = ? AND status = 'accepted' LIMIT 10", (name, rank)
        ).fetchall()
        found = next(((n,) for n, other in rows if _agree(above, other or "")), None)
    if found is None:
        parent = _node(db, above, known) if above else None
        cursor = db.execute(
            "INSERT INTO raw (id, name, rank, status, parent, accepted, path, own_path, parent_n) "
            "VALUES ('', ?, ?, 'accepted', '', '', ?, ?, ?)",
            (name, rank, above, path, parent),
        )
        found = (cursor.lastrowid or 0,)
    known[path] = found[0]
    return int(found[0])


def _agree(path: str, other: str) -> bool:
    """Return whether two paths name the same taxon at every rank that both have."""
    pairs = ([part.split(_PART) for part in each.split(_PATH) if part] for each in (path, other))
    first, second = ({rank: name for rank, name in parts} for parts in pairs)
    return all(second.get(rank, name) == name for rank, name in first.items())


_TAXA: Final = "status IN ('accepted', 'provisional')"


def _place(db: sqlite3.Connection, file: ChecklistFile) -> None:
    """Give each taxon its position in the tree, depth first, its depth and its root; a circle of parents is cut."""
    # A synonym named as a parent stands for its accepted taxon; other names are no parents.
    db.execute(
        "UPDATE raw SET parent_n = (SELECT CASE WHEN b.status = 'synonym' THEN b.accepted_n ELSE b.n END "
        f"FROM raw AS b WHERE b.n = raw.parent_n) WHERE parent_n IS NOT NULL AND {_TAXA}"
    )
    db.execute(
        f"UPDATE raw SET parent_n = NULL WHERE {_TAXA} AND parent_n IS NOT NULL AND parent_n NOT IN "
        f"(SELECT n FROM raw AS b WHERE b.n = raw.parent_n AND b.{_TAXA})"
    )
    db.execute(f"CREATE INDEX raw_parent ON raw (parent_n) WHERE {_TAXA}")
    db.execute("CREATE TABLE place (position INTEGER PRIMARY KEY, n INT UNIQUE, depth INT, root INT)")
    below = (
        "INSERT INTO place (n, depth, root) WITH RECURSIVE tree (n, depth, root) AS ("
        "SELECT n, 0, n FROM raw WHERE {} AND parent_n IS NULL UNION ALL "
        f"SELECT raw.n, depth + 1, root FROM tree JOIN raw ON raw.parent_n = tree.n AND {_TAXA} ORDER BY 2 DESC, 1"
        ") SELECT n, depth, root FROM tree"
    )
    db.execute(below.format(_TAXA))
    left = f"SELECT n FROM raw WHERE {_TAXA} AND n NOT IN (SELECT n FROM place) ORDER BY n LIMIT 1"
    while start := db.execute(left).fetchone():
        node, seen = start[0], set[int]()
        while node not in seen:
            seen.add(node)
            node = db.execute("SELECT parent_n FROM raw WHERE n = ?", (node,)).fetchone()[0]
        line, name = db.execute("SELECT line, name FROM raw WHERE n = ?", (node,)).fetchone()
        file.problems.add("circle of parents", f"line {line}, {name}")
        db.execute("UPDATE raw SET parent_n = NULL WHERE n = ?", (node,))
        db.execute(below.format("n = ?"), (node,))


def _taxa(db: sqlite3.Connection, report: Report) -> Iterator[TaxonRow]:
    shared = {  # names of species of several roots, which need ids of their own
        name
        for (name,) in db.execute(
            "SELECT name FROM raw JOIN place USING (n) WHERE rank = 'species' GROUP BY name "
            "HAVING min(root) != max(root)"
        )
    }
    n_taxa = db.execute("SELECT count(*) FROM place").fetchone()[0]
    above: list[int] = []
    rows = db.execute("SELECT position, depth, id, name, rank FROM place JOIN raw USING (n) ORDER BY position")
    for position, depth, key, name, rank in rows:
        del above[depth:]
        yield TaxonRow(position, above[-1] if above else 0, key, name, rank, name in shared)
        above.append(position)
        if position % N_AT_A_TIME == 0 or position == n_taxa:
            report("taxa", position, n_taxa)


def _report_no_species(db: sqlite3.Connection, file: ChecklistFile) -> None:
    """Note that the index has no species: of a checklist of genera, or a file read by the wrong column."""
    if db.execute(f"SELECT 1 FROM raw WHERE rank = 'species' AND {_TAXA} LIMIT 1").fetchone() is None:
        first = db.execute("SELECT name FROM place JOIN raw USING (n) ORDER BY position LIMIT 1").fetchone()
        name = first[0] if first else "no accepted name"
        file.problems.add("no species, expected names such as Rana temporaria", name)


def _names(db: sqlite3.Connection, file: ChecklistFile, report: Report) -> Iterator[NameRow]:
    for _ in range(MAX_HOPS):
        again = (
            "UPDATE raw SET accepted_n = (SELECT accepted_n FROM raw AS b WHERE b.n = raw.accepted_n) "
            "WHERE status = 'synonym' AND accepted_n IN (SELECT n FROM raw AS b WHERE b.n = raw.accepted_n "
            "AND b.status = 'synonym' AND b.accepted_n IS NOT NULL)"
        )
        if not db.execute(again).rowcount:
            break
    total = db.execute("SELECT (SELECT count(*) FROM raw) + (SELECT count(*) FROM raw_common)").fetchone()[0]
    done = 0

    def counted(query: str) -> Iterator[tuple[Any, ...]]:
        nonlocal done
        for batch in grouped(db.execute(query), N_AT_A_TIME):
            yield from batch
            done += len(batch)
            report("look-up", done, total)

    taxon = "CASE raw.status WHEN 'synonym' THEN raw.accepted_n ELSE raw.n END"
    for position, status, n, name, accepted in counted(
        f"SELECT position, status, raw.n, name, accepted_n FROM raw LEFT JOIN place ON place.n = {taxon} "
        "WHERE status != 'misapplied' ORDER BY raw.n"
    ):
        if position:
            yield NameRow(position, LEVELS[status], n, name, "")
        elif accepted:
            file.problems.add("synonym that leads to no accepted name", name)
    for position, name, language, preferred, nth in counted(
        "SELECT position, c.name, c.language, c.is_preferred, c.rowid FROM raw_common AS c JOIN raw ON raw.n = "
        "coalesce(c.n, (SELECT n FROM raw WHERE id = c.id), (SELECT n FROM raw WHERE other_id = c.id)) "
        f"JOIN place ON place.n = {taxon} ORDER BY c.rowid"
    ):
        if fold(name):
            yield NameRow(position, PREFERRED if preferred else OTHER, nth, name, language)
