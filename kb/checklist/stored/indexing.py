"""Indexing of a checklist file: one SQLite file, made in one pass over the rows and a few over the disk.

Memory holds some bytes a taxon, not the names; the file appears at its path once it is complete.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from data.batches import grouped
from data.errors import BadInput
from data.files import storage_errors
from kb.checklist.name_files import common_names_in, name_from_parts, synonyms_in, with_genus
from kb.checklist.names import LADDER, SLASH, fold, parse_name, without_authorship
from kb.checklist.stored.formats import ID, ChecklistFile, Names
from kb.checklist.stored.index_file import LEVELS, MAX_NAME, OTHER, PREFERRED, NameRow, TaxonRow, write_rows
from kb.checklist.words import Status, language_code, rank_of, status_of

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
_PATH: Final = "\x1e"
_PART: Final = "\x1f"
_TAXA: Final = "status IN ('accepted', 'provisional')"

_ROWS: Final = """
CREATE TABLE raw (
    n INTEGER PRIMARY KEY, line INT, id TEXT, name TEXT, rank TEXT, path TEXT, status TEXT, parent TEXT,
    accepted TEXT, other_id TEXT, parent_n INT, accepted_n INT
);
CREATE TABLE raw_common (id TEXT, n INT, name TEXT, language TEXT, is_preferred INT);
"""
"""The rows of the file, in a work file that is deleted at the end."""

Report = Callable[[str, int, int], None]
"""Shows (work, done, total); a total of 0 is not known yet."""
_BY_NAME: Final = "CREATE INDEX IF NOT EXISTS raw_name ON raw (name)"


def index_checklist(
    file: ChecklistFile, target: Path, meta: Callable[[], Mapping[str, str]], report: Report = lambda *_: None
) -> None:
    """Write the index of a checklist file to `target`, replacing an earlier one at the end; `meta` is asked for then.

    Raises:
        BadInput: if the file has no taxa.
        MissingRequirement: if the disk is full or not writable.
    """
    with (
        storage_errors(target.parent),
        _deleted(target.with_suffix(".rows")) as path,
        closing(sqlite3.connect(path, isolation_level=None)) as db,
    ):
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -32768"):
            db.execute(f"PRAGMA {pragma}")
        db.create_function("bare", 1, without_authorship, deterministic=True)
        db.executescript(_ROWS)
        db.execute("BEGIN")
        work = _Work(db, file, report)
        work.read()
        work.link()
        work.add_higher_taxa()
        work.place()

        def described() -> dict[str, str]:
            problems = json.dumps(file.problems.lines())
            return {**meta(), "form": file.form, "licence": file.licence, "problems": problems}

        write_rows(target, described, work.taxa(), work.names())
        report("index", 1, 1)


@contextmanager
def _deleted(path: Path) -> Iterator[Path]:
    """Give the path of a file that does not exist, and delete it at the end."""
    path.unlink(missing_ok=True)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


class _Work:
    """The rows of a checklist file in a work file, and the steps that make a tree of them."""

    def __init__(self, db: sqlite3.Connection, file: ChecklistFile, report: Report) -> None:
        self._db = db
        self._file = file
        self._problems = file.problems
        self._report = report
        self._n = 0
        self._rows: list[tuple[object, ...]] = []
        self._common: list[tuple[object, ...]] = []

    def read(self) -> None:
        """Write the rows of the tables of taxa, then those of the tables of common names.

        Raises:
            BadInput: if no row names a taxon.
        """
        done = 0
        rows = ((table, *each) for table in self._file.taxa for each in table.rows())
        for taken in grouped(rows, N_AT_A_TIME):
            for each in taken:
                self._add(*each)
            self._write()
            done += len(taken)
            self._report("names", done, 0)
        if self._db.execute("SELECT 1 FROM raw LIMIT 1").fetchone() is None:
            first = "; ".join(self._problems.lines()[:2])
            raise BadInput("The checklist has no names.", hint=f"Skipped: {first}" if first else None)
        common = (
            (row[ID], None, name, language_code(row.get("language", "")), _is_preferred(row))
            for table in self._file.common_names
            for _, row in table.rows()
            if row.get(ID)
            for name in common_names_in(row.get("vernacularname", ""))
        )
        done = 0
        for batch in grouped(common, N_AT_A_TIME):
            self._common += batch
            self._write()
            done += len(batch)
            self._report("common names", done, 0)

    def _add(self, table: Names, line: int, row: Mapping[str, str]) -> None:
        """Write a row of a table of taxa, with its common names and synonyms, unless it names no taxon."""
        named = row.get("canonicalname") or row.get("scientificname") or ""
        written = with_genus(named, row.get("genus", "")) or name_from_parts(row)
        place = f"{table.place}: line {line}"
        if not any(letter.isalpha() for letter in written):
            self._problems.add("no scientific name", place)
            return
        other = row.get("taxonid", "")
        key = row.get(ID) or other
        accepted = row.get("acceptednameusageid") or row.get("acceptednameusage", "")
        is_own = accepted in ((key, other) if "acceptednameusageid" in row else (row.get("scientificname"), written))
        accepted = "" if is_own else accepted
        parent = row.get("parentnameusageid") or row.get("parentnameusage") or ""
        stated = row.get("taxonomicstatus", "")
        status = status_of(stated, has_accepted=bool(accepted))
        if status is None:
            word = stated.strip().lower().replace("_", " ")
            self._problems.add(f"unknown status, taken as provisional: {word[:40]!r}", place)
        if status == "synonym" and self._file.form == "ColDP":
            accepted = accepted or parent
        status = status or "provisional"
        higher = [(rank, row[rank]) for rank in LADDER if row.get(rank)]
        taxon = self._taxon(line, written, rank_of(row.get("taxonrank", "")), status, higher)
        n = 0
        if taxon is not None:
            n = self._joined(line, key, status, *taxon)
            n = n or self._insert(line, key, *taxon, status, parent, accepted, other if other != key else None)
            language = language_code(row.get("language", ""))
            self._common += [
                (None, n, name, of_column or language, False)
                for term, of_column in table.languages.items()
                if term in row
                for name in common_names_in(row[term])
            ]
        for synonym in synonyms_in(row.get("synonyms", "")):
            if (taxon := self._taxon(line, synonym, "", "synonym", ())) is not None:
                self._insert(line, "", *taxon, "synonym", "", f"line {line}", None, accepted_n=n or None)

    def _insert(self, *values: object, parent_n: int | None = None, accepted_n: int | None = None) -> int:
        """Keep a row for `_write`, and return its number."""
        self._n += 1
        self._rows.append((self._n, *values, parent_n, accepted_n))
        return self._n

    def _write(self) -> None:
        """Write the rows and common names that wait."""
        self._db.executemany("INSERT INTO raw VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", self._rows)
        self._db.executemany("INSERT INTO raw_common VALUES (?, ?, ?, ?, ?)", self._common)
        self._rows, self._common = [], []

    def _taxon(
        self, line: int, written: str, rank: str, status: Status, higher: Sequence[tuple[str, str]]
    ) -> tuple[str, str, str | None] | None:
        """Return name, rank and taxa above in one text; None, and a report, if a row names no taxon.

        Those above are None for a synonym. An unknown rank of a species is reported too.
        """
        parsed = parse_name(written)
        place = f"line {line}, {written}"
        reason = (
            "bare, deleted or quarantined name" if status == "unusable"
            else "several species (a slash)" if SLASH.search(written)
            else "no species named (sp., cf., aff.)" if parsed.rank == "unnamed"
            else f"name of more than {MAX_NAME:,} characters" if len(written) > MAX_NAME
            else "genus shortened" if "." in parsed.text[:4] and " " in parsed.text
            else ""
        )  # fmt: skip
        if reason:
            self._problems.add(reason, place if len(written) <= MAX_NAME else f"line {line}")
            return None
        if parsed.rank == "species" and rank not in OF_BINOMIALS and status != "synonym":
            self._problems.add(f"unknown rank, not counted as species: {rank[:40]!r}", place)
        name = parsed.text or written
        above = [(each, _in_sentence_case(text)) for each, text in higher]
        if parsed.rank == "hybrid":
            rank = "hybrid"
        elif not rank:
            lowest, text = higher[-1] if higher else ("", "")
            is_lowest = name in (_in_sentence_case(text), without_authorship(text))
            rank = parsed.rank or (lowest if is_lowest else "unranked")
        elif rank == "species" and " " not in name:  # unusual spelling; its genus is another taxon
            name = written
        elif parsed.is_several and rank != "species":  # beside the species itself
            name = f"{name} agg."
        return name, rank, _path(name, rank, above) if status in ("accepted", "provisional") else None

    def _joined(self, line: int, key: str, status: Status, name: str, rank: str, path: str | None) -> int:
        """Return the earlier row of the taxon that a row without an id names again, or 0.

        Rows agree if they give the same taxa above at every rank that both have; the longer account of these is kept.
        """
        if key or status != "accepted" or path is None:
            return 0
        self._write()
        self._db.execute(_BY_NAME)
        earlier = self._db.execute(
            "SELECT n, path FROM raw WHERE name = ? AND rank = ? AND status = 'accepted' ORDER BY n", (name, rank)
        ).fetchall()
        for n, before in earlier:
            if _agree(path, before or ""):
                self._problems.add("taxon listed before, lines joined", f"line {line}, {name}")
                if len(path) > len(before or ""):
                    self._db.execute("UPDATE raw SET path = ? WHERE n = ?", (path, n))
                return int(n)
        return 0

    def link(self) -> None:
        """Resolve ids and names of parents and accepted taxa to row numbers."""
        self._db.execute("CREATE INDEX raw_id ON raw (id)")
        self._db.execute("CREATE INDEX raw_other ON raw (other_id) WHERE other_id IS NOT NULL")
        self._db.execute(_BY_NAME)
        twice = (
            "SELECT n, line, id FROM raw AS later WHERE id != '' AND n > "
            "(SELECT min(n) FROM raw AS early WHERE early.id = later.id)"
        )
        for n, line, key in self._db.execute(twice).fetchall():
            self._problems.add("id used before", f"line {line}, {key}")
            self._db.execute("DELETE FROM raw WHERE n = ?", (n,))
        # By id first; by name for files without ids, perhaps with authors, if only one accepted taxon has the name.
        one = "(SELECT CASE WHEN count(*) = 1 THEN n END FROM raw AS b WHERE b.name = {} AND b.status = 'accepted'{})"
        for column, kinds in (("parent", _TAXA), ("accepted", "status = 'synonym' AND accepted_n IS NULL")):
            self._db.execute(
                f"UPDATE raw SET {column}_n = coalesce("  # names of our own columns
                f"(SELECT n FROM raw AS b WHERE b.id = raw.{column}), "
                f"(SELECT n FROM raw AS b WHERE b.other_id = raw.{column}), "
                + one.format(f"raw.{column}", " AND b.n != raw.n")
                + f", CASE WHEN {column} GLOB '[A-Z]* *' THEN {one.format(f'bare(raw.{column})', '')} END) "
                f"WHERE {column} != '' AND {kinds}"
            )
        for reason, where in (
            ("synonym without an accepted name", "status = 'synonym' AND accepted = ''"),
            ("synonym of a name that the file lacks", "status = 'synonym' AND accepted != '' AND accepted_n IS NULL"),
            ("misapplied name", "status = 'misapplied'"),
            ("parent that the file lacks", f"parent != '' AND parent_n IS NULL AND {_TAXA}"),
        ):
            n_rows, line = self._db.execute(f"SELECT count(*), min(line) FROM raw WHERE {where}").fetchone()
            if n_rows:
                self._problems.add(reason, f"line {line}", n_rows)

    def add_higher_taxa(self) -> None:
        """Give rows without a parent the taxa in their columns, made where the file has no row for them."""
        self._db.execute("CREATE TABLE orphan AS SELECT n, path FROM raw WHERE parent_n IS NULL AND path != ''")
        known: dict[str, int] = {}
        for batch in grouped(self._db.execute("SELECT n, path FROM orphan"), N_AT_A_TIME):
            if len(known) > MAX_KNOWN:
                known.clear()
            parents = [(parent, n) for n, path in batch if (parent := self._node(path, known)) != n]
            self._db.executemany("UPDATE raw SET parent_n = ? WHERE n = ?", parents)

    def _node(self, path: str, known: dict[str, int]) -> int:
        """Return the row of the lowest taxon in a path."""
        if path not in known:
            above, _, lowest = path.rpartition(_PATH)
            rank, name = lowest.split(_PART)
            rows = self._db.execute(
                f"SELECT n, path FROM raw WHERE name = ? AND rank = ? AND {_TAXA} ORDER BY status, n", (name, rank)
            ).fetchall()
            found = next((int(n) for n, other in rows if _agree(above, other or "")), None)
            if found is None:
                parent = self._node(above, known) if above else None
                found = self._insert(None, "", name, rank, above, "accepted", "", "", None, parent_n=parent)
                self._write()
            known[path] = found
        return known[path]

    def place(self) -> None:
        """Give each taxon its position in the tree, depth first, its depth and its root; a circle of parents is cut."""
        # A synonym named as a parent stands for its accepted taxon; other names are no parents.
        self._db.execute(
            "UPDATE raw SET parent_n = (SELECT CASE WHEN b.status = 'synonym' THEN b.accepted_n ELSE b.n END "
            f"FROM raw AS b WHERE b.n = raw.parent_n) WHERE parent_n IS NOT NULL AND {_TAXA}"
        )
        self._db.execute(
            f"UPDATE raw SET parent_n = NULL WHERE {_TAXA} AND parent_n IS NOT NULL AND parent_n NOT IN "
            f"(SELECT n FROM raw AS b WHERE b.n = raw.parent_n AND b.{_TAXA})"
        )
        self._db.execute(f"CREATE INDEX raw_parent ON raw (parent_n) WHERE {_TAXA}")
        self._db.execute("CREATE TABLE place (position INTEGER PRIMARY KEY, n INT UNIQUE, depth INT, root INT)")
        below = (
            "INSERT INTO place (n, depth, root) WITH RECURSIVE tree (n, depth, root) AS ("
            "SELECT n, 0, n FROM raw WHERE {} AND parent_n IS NULL UNION ALL "
            f"SELECT raw.n, depth + 1, root FROM tree JOIN raw ON raw.parent_n = tree.n AND {_TAXA} ORDER BY 2 DESC, 1"
            ") SELECT n, depth, root FROM tree"
        )
        self._db.execute(below.format(_TAXA))
        left = f"SELECT n FROM raw WHERE {_TAXA} AND n NOT IN (SELECT n FROM place) ORDER BY n LIMIT 1"
        while start := self._db.execute(left).fetchone():
            node, seen = start[0], set[int]()
            while node not in seen:
                seen.add(node)
                node = self._db.execute("SELECT parent_n FROM raw WHERE n = ?", (node,)).fetchone()[0]
            line, name = self._db.execute("SELECT line, name FROM raw WHERE n = ?", (node,)).fetchone()
            self._problems.add("circle of parents", f"line {line}, {name}")
            self._db.execute("UPDATE raw SET parent_n = NULL WHERE n = ?", (node,))
            self._db.execute(below.format("n = ?"), (node,))
        placed = "SELECT name FROM place JOIN raw USING (n)"
        if self._db.execute(f"{placed} WHERE rank = 'species' LIMIT 1").fetchone() is None:
            first = self._db.execute(f"{placed} ORDER BY position LIMIT 1").fetchone() or ("no accepted name",)
            self._problems.add("no species, expected names such as Rana temporaria", first[0])

    def taxa(self) -> Iterator[TaxonRow]:
        """Yield the taxa in the order of the tree."""
        shared = {  # names of species of several roots, which need ids of their own
            name
            for (name,) in self._db.execute(
                "SELECT name FROM raw JOIN place USING (n) WHERE rank = 'species' GROUP BY name "
                "HAVING min(root) != max(root)"
            )
        }
        above: list[int] = []
        rows = self._db.execute(
            "SELECT position, depth, id, name, rank FROM place JOIN raw USING (n) ORDER BY position"
        )
        for batch in self._told("taxa", rows, "SELECT count(*) FROM place"):
            for position, depth, key, name, rank in batch:
                del above[depth:]
                yield TaxonRow(position, above[-1] if above else 0, key, name, rank, name in shared)
                above.append(position)

    def names(self) -> Iterator[NameRow]:
        """Yield the names: scientific ones, then common ones."""
        for _ in range(MAX_HOPS):
            again = (
                "UPDATE raw SET accepted_n = (SELECT accepted_n FROM raw AS b WHERE b.n = raw.accepted_n) "
                "WHERE status = 'synonym' AND accepted_n IN (SELECT n FROM raw AS b WHERE b.n = raw.accepted_n "
                "AND b.status = 'synonym' AND b.accepted_n IS NOT NULL)"
            )
            if not self._db.execute(again).rowcount:
                break
        taxon = "CASE raw.status WHEN 'synonym' THEN raw.accepted_n ELSE raw.n END"
        scientific = self._db.execute(
            f"SELECT position, status, raw.n, name, accepted_n FROM raw LEFT JOIN place ON place.n = {taxon} "
            "WHERE status != 'misapplied' ORDER BY raw.n"
        )
        for batch in self._told("look-up", scientific, "SELECT count(*) FROM raw"):
            for position, status, n, name, accepted in batch:
                if position:
                    yield NameRow(position, LEVELS[status], n, name, "")
                elif accepted:
                    self._problems.add("synonym that leads to no accepted name", name)
        common = self._db.execute(
            "SELECT position, c.is_preferred, c.rowid, c.name, c.language FROM raw_common AS c JOIN raw ON raw.n = "
            "coalesce(c.n, (SELECT n FROM raw WHERE id = c.id), (SELECT n FROM raw WHERE other_id = c.id)) "
            f"JOIN place ON place.n = {taxon} ORDER BY c.rowid"
        )
        for batch in self._told("look-up of common names", common, "SELECT count(*) FROM raw_common"):
            for position, is_preferred, nth, name, language in batch:
                if fold(name):
                    yield NameRow(position, PREFERRED if is_preferred else OTHER, nth, name, language)

    def _told(self, work: str, rows: Iterable[Any], count: str) -> Iterator[list[Any]]:
        """Yield rows in batches, and report how many of them are done."""
        done, total = 0, self._db.execute(count).fetchone()[0]
        for batch in grouped(rows, N_AT_A_TIME):
            yield batch
            done += len(batch)
            self._report(work, done, total)


def _is_preferred(row: Mapping[str, str]) -> bool:
    return row.get("ispreferredname", "").lower() in ("true", "1", "yes", "preferred")


def _in_sentence_case(name: str) -> str:
    return name.capitalize() if name.isupper() and name.isalpha() else name


def _path(name: str, rank: str, higher: Sequence[tuple[str, str]]) -> str:
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


def _agree(path: str, other: str) -> bool:
    """Return whether two paths name the same taxon at every rank that both have."""
    pairs = ([part.split(_PART) for part in each.split(_PATH) if part] for each in (path, other))
    first, second = ({rank: name for rank, name in parts} for parts in pairs)
    return all(second.get(rank, name) == name for rank, name in first.items())
