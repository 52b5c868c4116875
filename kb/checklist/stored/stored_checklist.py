"""An indexed checklist, searched by any name."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from data.contracts import Checklist
from data.errors import StoreError
from data.files import SelfClosing, closed_on_error
from data.records import Taxon, taxon_id
from kb.checklist.names import fold, is_hybrid_formula, is_spelt, name_key, near_names, without_authorship
from kb.checklist.stored.index_file import LEVELS, OTHER, PREFERRED, VERSION, is_intact

RANKS_OF_LINEAGES: Final = ("kingdom", "phylum", "class", "order", "family", "genus", "species")
_REPAIR: Final = "kb checklist add FILE writes it again; kb build --checklist FILE does so in a knowledge base"
N_COMPARED: Final = 80  # names from either end of the alphabetical neighbourhood
SHORTEST_END: Final = 3
_YEAR: Final = re.compile(r"\b\d{4}\b")
N_IN_SMALL: Final = 50_000  # names; AviList has 28,000, which take 20 ms
_SPECIES: Final = "rank = 'species'"
_SUGGESTED: Final = (  # no subspecies: their species has nearly the name too
    "NOT EXISTS (SELECT 1 FROM taxon AS below JOIN taxon AS above ON above.n = below.parent "
    "WHERE below.n = name.taxon AND above.rank = 'species')"
)


def read_only(path: Path) -> sqlite3.Connection:
    """Open the file of an indexed checklist, which may come from elsewhere, without trust in its schema.

    Raises:
        StoreError: if it cannot be opened.
    """
    try:
        db = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False, factory=SelfClosing
        )
        with closed_on_error(db):
            db.execute("PRAGMA trusted_schema = OFF")
            db.execute("PRAGMA cell_size_check = ON")
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be read: {error}", hint=_REPAIR) from error
    return db


def begins(column: str) -> str:
    """Return the condition that a text begins with another one, for the values of `beginning`."""
    return f"{column} >= ? AND {column} < ?"


def beginning(text: str) -> tuple[str, str]:
    """Return the bounds of the texts that begin with this one."""
    return text, text + "\U0010ffff"


def _by_folded(rows: Iterable[tuple[str, int, str]]) -> dict[str, list[tuple[int, str]]]:
    found: dict[str, list[tuple[int, str]]] = {}
    for folded, taxon, text in rows:
        found.setdefault(folded, []).append((taxon, text))
    return found


class StoredChecklist(Checklist):
    """A checklist in a SQLite file.

    Raises:
        StoreError: if the file is damaged, or of another version.
    """

    def __init__(self, path: Path, *, language: str = "en") -> None:
        self.path = path
        if path.is_file() and not is_intact(path):
            raise StoreError(f"{path} is damaged: its checksum differs.", hint=_REPAIR)
        self._languages = tuple(dict.fromkeys((language, "en", "")))
        self._db = read_only(path)
        with closed_on_error(self._db):
            self.meta: Mapping[str, str] = dict(self._rows("SELECT key, value FROM meta"))
            self._shared = frozenset(name for (name,) in self._rows("SELECT name FROM homonym"))
            if self.meta.get("schema") != str(VERSION):
                raise StoreError(
                    f"{path}: schema {self.meta.get('schema')}, expected {VERSION}",
                    hint=_REPAIR,
                )

    @property
    def name(self) -> str:
        """Name and edition."""
        return f"{self.meta['name']} {self.meta['edition']}".strip()

    @property
    def digest(self) -> str:
        """SHA-256 of the file that was indexed."""
        return self.meta["digest"]

    @property
    def n_species(self) -> int:
        """Number of species."""
        return int(self.meta["n_species"])

    @property
    def problems(self) -> list[str]:
        """Rows that were skipped or repaired, a line for each reason."""
        found: list[str] = json.loads(self.meta["problems"])
        return found

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def find(self, name: str) -> Taxon | None:
        """Return the taxon of any rank with that name, or None if there is none or several share it.

        Author and year may follow a scientific name; a taxon above may precede the name: `Plantae: Prunella`.
        """
        found = self._named(name)
        return self._taxon(found[0]) if len(found) == 1 else None

    def homonyms(self, name: str) -> list[Taxon]:
        """Return the taxa that share a name; empty if at most one has it."""
        found = self._named(name)
        return [self._taxon(n) for n in found] if len(found) > 1 else []

    def species_of(self, taxon: Taxon) -> list[Taxon]:
        """Return the species below a taxon in the file's order; a species gives itself, a foreign taxon nothing."""
        n = self.position(taxon)
        return self._taxa(f"n BETWEEN ? AND (SELECT last FROM taxon WHERE n = ?) AND {_SPECIES}", n, n) if n else []

    def species_ids(self, taxon: Taxon) -> Iterator[str]:
        """Yield the ids of the species below a taxon."""
        n = self.position(taxon)
        query = f"SELECT n, name FROM taxon WHERE n BETWEEN ? AND ? AND {_SPECIES} ORDER BY n"
        return (self._id(*row) for row in self._streamed(query, n, self.last_below(n))) if n else iter(())

    def n_species_of(self, taxon: Taxon) -> int:
        """Return the number of species below a taxon."""
        n = self.position(taxon)
        return int(self._row("SELECT n_species FROM taxon WHERE n = ?", n)[0]) if n else 0

    def suggest(self, name: str, n: int = 5) -> list[str]:
        """Return up to `n` names that look like `name`, nearest first, at most one per taxon.

        If nothing looks like the whole name, a scientific name is compared without its author.
        """
        name = name.rpartition(":")[2]  # after a taxon above
        bare = without_authorship(name)
        for each in (name, bare) if " " in bare or _YEAR.search(name) else (name,):
            wanted = name_key(each)
            names = self._every_name if self._is_small else self._near(wanted)
            nearest: dict[int, str] = {}
            for folded in near_names(wanted, names) if wanted else ():
                for taxon, text in names[folded]:
                    nearest.setdefault(taxon, text)
            if nearest:
                return list(dict.fromkeys(nearest.values()))[: max(n, 0)]
        return []

    @property
    def _is_small(self) -> bool:
        """Whether a name is compared with every other; in a large checklist, with those of its beginning or end."""
        n_common: int = sum(json.loads(self.meta["languages"]).values())
        return int(self.meta["n_taxa"]) + int(self.meta["n_synonyms"]) + n_common <= N_IN_SMALL

    @cached_property
    def _every_name(self) -> dict[str, list[tuple[int, str]]]:
        return _by_folded(self._rows(f"SELECT folded, taxon, text FROM name WHERE {_SUGGESTED}"))

    def _near(self, wanted: str) -> dict[str, list[tuple[int, str]]]:
        """Return the folded names that share a beginning or an end with one -> their taxa and written forms."""
        found: set[tuple[str, int, str]] = set()
        for column, text in (("folded", wanted), ("reversed", wanted[::-1])):
            for length in range(len(text), SHORTEST_END - 1, -1):
                columns = f"SELECT folded, taxon, text FROM name WHERE {begins(column)} AND {_SUGGESTED} LIMIT ?"
                rows = self._rows(columns, *beginning(text[:length]), N_COMPARED)
                found.update(rows)
                if len(rows) >= N_COMPARED:
                    break
        return _by_folded(found)

    def top_taxa(self) -> list[Taxon]:
        """Return the taxa without a parent, those with the most species first."""
        rows = self._rows("SELECT n FROM taxon WHERE parent = 0 ORDER BY n_species DESC, name")
        return [self._taxon(n) for (n,) in rows]

    def with_common_name(self, folded: str) -> list[tuple[str, Taxon]]:
        """Return names and taxa with a common name of that folded form."""
        rows = self._rows("SELECT text, taxon FROM name WHERE folded = ? AND level >= 3", folded)
        return [(text, self._taxon(n)) for text, n in rows]

    def scientific_names(
        self, *, start: str = "", ending: str = "", initial: str = "", below: int = 0
    ) -> list[tuple[str, Taxon]]:
        """Return scientific names and taxa, synonyms last, by the beginning or the last word; the first ones of many.

        Args:
            start: beginning of the folded name.
            ending: last word of the name.
            initial: first letter of the name.
            below: position of the taxon that they are in.
        """
        column, text = ("reversed", fold(ending)[::-1]) if ending else ("folded", start)
        rows = self._rows(
            f"SELECT level, text, taxon FROM name WHERE {begins(column)} AND level <= 2 AND text GLOB ? "
            "AND taxon BETWEEN ? AND ? LIMIT ?",
            *(*beginning(text), f"{initial}* {ending}" if ending else "*"),
            *(below, self.last_below(below) if below else 2**62, N_COMPARED),
        )
        return [(text, self._taxon(n)) for _, text, n in sorted(rows, key=itemgetter(0))]

    def position(self, taxon: Taxon) -> int:
        """Return the position of a taxon of this checklist, found by name and id, or 0."""
        key = name_key(taxon.scientific_name)
        rows = self._rows("SELECT DISTINCT taxon FROM name WHERE folded = ? AND level < 2", key)
        fits = [n for (n,) in rows if self._taxon(n).taxon_id == taxon.taxon_id]
        exact = (n for n in fits if self._lineage(n) == dict(taxon.lineage))
        # A page may have stated more of the lineage.
        return next(exact, fits[0] if len(fits) == 1 and taxon.rank == "species" else 0)

    def last_below(self, n: int) -> int:
        """Return the last position below a taxon."""
        return int(self._row("SELECT last FROM taxon WHERE n = ?", n)[0])

    def _named(self, name: str) -> list[int]:
        """Return the taxa with a name, by the best kind of name that any taxon has it as, and with its accents."""
        above, colon, rest = name.partition(":")
        if colon and above.strip() and rest.strip():
            wanted = name_key(above)
            return [n for n in self._named(rest) if any(name_key(text) == wanted for _, text in self._above(n))]
        name = " ".join(name.split())
        tries = [(name_key(name), OTHER)]
        if not is_hybrid_formula(name):  # common names have no authors: "Comma bacillus" is no Comma
            tries.append((name_key(without_authorship(name)), PREFERRED - 1))
        for key, most in tries:
            query = "SELECT taxon, level, language, text FROM name WHERE folded = ? AND level <= ?"
            rows = self._rows(query, key, most) if key else []
            if not rows:
                continue
            best = min(self._kind(level, language) for _, level, language, _ in rows)
            named = [(taxon, text) for taxon, *kind, text in rows if self._kind(*kind) == best]
            exact = [taxon for taxon, text in named if is_spelt(name, text)]
            return self._highest(list(dict.fromkeys(exact or [taxon for taxon, _ in named])))
        return []

    def _kind(self, level: int, language: str) -> int:
        """Return the kind of a name, lower is better: other languages come after ours."""
        return level if level < PREFERRED or language in self._languages else OTHER + 1

    def _highest(self, taxa: list[int]) -> list[int]:
        """Return the taxa without those below another one, as a subgenus of the same name, and without repetitions.

        A species comes before the complex of its name.
        """
        if len(taxa) == 1:
            return taxa
        ends = {n: self.last_below(n) for n in taxa}
        species = [n for n in taxa if self._row("SELECT rank FROM taxon WHERE n = ?", n)[0] == "species"]
        taxa = [n for n in taxa if not any(n < other <= ends[n] for other in species)]
        apart = [n for n in sorted(taxa) if not any(other < n <= ends[other] for other in taxa)]
        made = {n: self._taxon(n) for n in apart}
        places = {(taxon.scientific_name, *sorted(taxon.lineage.items())): n for n, taxon in reversed(made.items())}
        return sorted(places.values())

    def _taxon(self, n: int) -> Taxon:
        for taxon in self._taxa("n = ?", n):
            return taxon
        raise StoreError(f"{self.path} is damaged: a taxon is missing.", hint=_REPAIR)

    def _taxa(self, where: str, *values: object) -> list[Taxon]:
        """Return the taxa that fulfil a condition, in the order of the tree."""
        rows = self._streamed(
            "SELECT n, parent, id, taxon.name, rank, level, text, language FROM taxon "
            f"LEFT JOIN name ON name.taxon = n AND level >= 2 WHERE {where} ORDER BY n, level, nth",
            *values,
        )
        lineages: dict[int, dict[str, str]] = {}
        return [
            self._made(about, list(names), lineages) for about, names in groupby(rows, key=itemgetter(0, 1, 2, 3, 4))
        ]

    def _made(self, about: tuple[Any, ...], names: list[tuple[Any, ...]], lineages: dict[int, dict[str, str]]) -> Taxon:
        n, parent, key, name, rank = about
        if parent not in lineages:
            lineages[parent] = self._lineage(n)
        by_language: dict[str, list[str]] = {}
        for *_, level, text, language in names:
            if level is not None and level >= PREFERRED:
                by_language.setdefault(language, []).append(text)
        common = [text for language in self._languages for text in by_language.get(language, ())]
        return Taxon(
            taxon_id=self._id(n, name),
            scientific_name=name,
            rank=rank,
            common_names=tuple(dict.fromkeys(common)),
            lineage=lineages[parent],
            ids=self._ids(key),
            synonyms=tuple(dict.fromkeys(text for *_, level, text, _ in names if level == LEVELS["synonym"])),
            names_by_language={
                each: tuple(dict.fromkeys(texts)) for each, texts in sorted(by_language.items()) if each
            },
        )

    def _ids(self, key: str) -> dict[str, str]:
        """Return the ids of the taxon with this one in the file."""
        return {self.meta["name"]: key} if key and not key.startswith("line ") else {}

    def _id(self, n: int, name: str) -> str:
        """Return the id of a taxon; species of the same name in several kingdoms get the kingdom's name too."""
        above = self._above(n) if name in self._shared else []
        return taxon_id(f"{name} {above[-1][1]}" if above else name)

    def _lineage(self, n: int) -> dict[str, str]:
        above = {rank: name for rank, name in reversed(self._above(n))}
        return {rank: above[rank] for rank in RANKS_OF_LINEAGES if rank in above}

    def _above(self, n: int) -> list[tuple[str, str]]:
        """Return rank and name of the taxa above one, the nearest first."""
        return self._rows(
            "WITH RECURSIVE above (n, depth) AS (SELECT parent, 1 FROM taxon WHERE n = ? UNION ALL "
            "SELECT parent, depth + 1 FROM above JOIN taxon USING (n)) "
            "SELECT rank, name FROM above JOIN taxon USING (n) ORDER BY depth",
            n,
        )

    def _rows(self, query: str, *values: object) -> list[Any]:
        return list(self._streamed(query, *values))

    def _row(self, query: str, *values: object) -> tuple[Any, ...]:
        """Return the one row of a query for a position, which a damaged file may lack."""
        for row in self._streamed(query, *values):
            return row
        raise StoreError(f"{self.path} is damaged: a taxon is missing.", hint=_REPAIR)

    def _streamed(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._db.execute(query, values)
        except sqlite3.Error as error:
            raise StoreError(f"{self.path} cannot be read: {error}", hint=_REPAIR) from error
