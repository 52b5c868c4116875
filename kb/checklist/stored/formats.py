"""Formats of checklist files: Darwin Core archives and tables, ColDP folders and zips, and plain tables.

All give rows in terms of Darwin Core. Plain tables are those of people and of authorities: Clements and eBird
(categories, families with English names), IOC (a rank in each row, or an outline of sparse columns), BirdLife, AviList,
the Mammal Diversity Database; their rows are completed by earlier ones.

Sources: Darwin Core quick reference guide (TDWG); ColDP guide of the Catalogue of Life.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path, PurePosixPath
from typing import Final
from xml.etree import ElementTree

from data.errors import BadInput
from data.tables import SUFFIXES, Table, declared_table, open_table, read_text
from kb.checklist.name_files import EPITHETS, HEADINGS, NamesFile, are_named_in_parts, heading, language_of
from kb.checklist.names import LADDER
from kb.checklist.words import Problems, rank_of
from kb.licences import licence_in

EXPECTED: Final = (
    "Expected a Darwin Core archive or table (scientificName, taxonID, ...), a ColDP folder or zip, or a CSV with "
    "scientific_name; optionally class, order, family, genus, common_name, common_name_de, synonyms."
)
ID: Final = "id"
OF_TAXON: Final = ("taxonid", "coreid", ID)
"""Columns with the id of the taxon in a table of common names, the first that is there."""
_TERMS: Final = {
    "taxonkey": "taxonid", "acceptedtaxonkey": "acceptednameusageid", "acceptedscientificname": "acceptednameusage",
    "parentid": "parentnameusageid", "rank": "taxonrank", "preferred": "ispreferredname",
}  # fmt: skip
"""Heading of GBIF's species lists or of ColDP -> our term, mostly of Darwin Core."""
_MEANINGS: Final = {
    "scientific": "scientificname", "epithet": "specificepithet", "subspecies": "subspecies", "rank": "taxonrank",
    "families": "familynames",
    **{each: each for each in (*LADDER, "category", "language", "uninomial", "notho", "synonyms")},
}  # fmt: skip
"""Meaning of a column of a plain table -> our term."""
_DARWIN_CORE: Final = frozenset(
    ("taxonid", "acceptednameusageid", "acceptednameusage", "parentnameusageid", "parentnameusage", "taxonomicstatus")
)
_WITH_ENGLISH: Final = re.compile(r"([A-Z][a-z]+|[A-Z]+) ?[(\[](.+)[)\]]")
_CATEGORIES: Final = {"species": "species", "subspecies": "subspecies", "group (monotypic)": "subspecies"}
_NO_TAXA: Final = frozenset(
    ("group (polytypic)", "issf", "form", "slash", "spuh", "hybrid", "intergrade", "domestic")
)  # fmt: skip
"""Categories of Clements and eBird for groups, mixtures and unidentified birds."""
N_LOOKED_AT: Final = 1_000
_LEVELS: Final = (*LADDER, "scientificname", "subspecies")
META: Final = "meta.xml"
_HEADINGS: Final = {
    **HEADINGS,
    "terms": tuple(
        f"{prefix}{term}"
        for prefix in ("", "dwc ", "dcterms ", "col ", "http rs tdwg org dwc terms ")
        for term in (*_DARWIN_CORE, *_TERMS, *OF_TAXON, "scientificname", "taxonrank", "vernacularname", "status")
    ),
}
"""Headings by which the row of headings is found below titles."""

Rows = Iterator[tuple[int, dict[str, str]]]
"""Line, and term -> cell of each row, empty cells left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """A table of a checklist; its rows are read on request."""

    rows: Callable[[], Rows]
    place: str = ""
    terms: tuple[str, ...] = ()
    languages: Mapping[str, str] = field(default_factory=lambda: {"vernacularname": ""})
    """Term of common names -> their language; empty for that of the row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecklistFile:
    """A checklist file that was recognised, as tables of taxa and tables of their common names."""

    form: str
    """Its format: `Darwin Core`, `ColDP`, `CSV`."""
    taxa: Sequence[Names]
    common_names: Sequence[Names] = ()
    problems: Problems = field(default_factory=Problems)
    title: str = ""
    edition: str = ""
    """Version or date of publication, where the file gives one."""
    licence: str = ""
    """Licence, where the file states one: its name or address, else the sentence on rights."""


class Archive:
    """The files of a checklist: a table alone, or those of a folder or zip archive.

    Raises:
        BadInput: if there is no such file, or it is no zip archive in spite of its name.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems = Problems()
        found: dict[str, tuple[Path, str | None]] = {}
        try:
            if path.is_dir():
                found = {file.relative_to(path).as_posix(): (file, None) for file in path.rglob("*") if file.is_file()}
            elif zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    found = {info.filename: (path, info.filename) for info in archive.infolist() if not info.is_dir()}
            elif path.suffix.lower() == ".zip" and path.is_file():
                raise BadInput(f"{path} is damaged or incomplete, expected a zip archive.")
            elif not path.is_file():
                raise BadInput(f"File not found: {path}")
        except (OSError, zipfile.BadZipFile) as error:
            raise BadInput(f"{path} cannot be read: {error}") from error
        self.is_single = path.is_file() and (not found or "xl/workbook.xml" in found)
        shown = [name for name in found if not PurePosixPath(name).name.startswith(".") and "__MACOSX" not in name]
        self._files = {path.name: (path, None)} if self.is_single else found
        self.names = [*self._files] if self.is_single else sorted(shown, key=lambda name: (name.count("/"), name))
        """Those in the fewest folders first."""
        tables = [name for name in self.names if PurePosixPath(name).suffix.lower() in SUFFIXES]
        self.tables = self.names if self.is_single else tables

    def find(self, name: str, *, whole: bool = True) -> str | None:
        """Return the file with that name, or, not `whole`, with that stem, in whatever folder and case."""
        paths = ((PurePosixPath(found), found) for found in (self.names if whole else self.tables))
        wanted = name.lower()
        return next((found for path, found in paths if (path.name if whole else path.stem).lower() == wanted), None)

    def place(self, name: str) -> str:
        """Return the file for messages."""
        return str(self.path) if self.is_single else f"{self.path}: {name}"

    def table(self, name: str) -> Table:
        """Open a table with a heading, below titles if it has any.

        Raises:
            BadInput: if it cannot be read, or is empty.
        """
        file, place, member = self._of(name)
        table = open_table(file, _HEADINGS, place=place, member=member)
        if not table.first:
            raise BadInput(f"{self.place(name)} is empty, expected a table of names.")
        return table

    def names_file(self, name: str) -> NamesFile:
        """Open the same as a table of names."""
        file, place, member = self._of(name)
        return NamesFile(file, place, member=member)

    def declared(self, name: str, node: ElementTree.Element, columns: Mapping[str, int]) -> Table:
        """Open a table of the columns and the layout that `meta.xml` declares."""
        given = (node.get("fieldsTerminatedBy", ","), node.get("fieldsEnclosedBy", '"'))
        separator, quote = (text.replace("\\t", "\t").replace("\\n", "\n").replace('\\"', '"') for text in given)
        if len(separator) != 1 or len(quote) > 1:
            raise BadInput(f"{self.path}: {META}: expected one character between fields, got {separator!r}.")
        file, place, member = self._of(name)
        n_skipped = int(node.get("ignoreHeaderLines") or 0)
        return declared_table(
            file, columns, separator=separator, has_quotes=bool(quote), n_skipped=n_skipped, place=place, member=member
        )

    def text(self, name: str) -> str:
        """Return a small text file, such as `meta.xml`."""
        file, place, member = self._of(name)
        return read_text(file, place, member=member)

    def _of(self, name: str) -> tuple[Path, str, str | None]:
        """Return the file, its place for messages, and the member of it, if it is a zip archive."""
        file, member = self._files[name]
        return file, self.place(name) if member is None else str(self.path), member

    def names_in(
        self, name: str, table: Table, terms: Sequence[tuple[str, int]], defaults: Mapping[str, str] | None = None
    ) -> Names:
        """Return a table of the terms of its columns; of two with one term a filled cell counts, the later one first.

        `defaults` are terms of every row.
        """

        def rows() -> Rows:
            is_first = True
            for frame in table.chunks():
                columns = (frame.iloc[:, at].to_numpy(dtype=object) for _, at in terms)
                for line, *cells in zip(frame.index, *columns, strict=True):
                    row = {term: cell for (term, _), cell in zip(terms, cells, strict=True) if cell}
                    if not (is_first and _is_heading(row)):
                        yield int(line), {**(defaults or {}), **row}
                    is_first = False
            self.problems.notes += [f"{self.place(name)}: {note}" for note in table.notes]

        return Names(rows=rows, place=self.place(name), terms=tuple(term for term, _ in terms))

    def with_heading(self, name: str, /, ids: Sequence[str] = (ID, "taxonid"), **other_terms: str) -> Names:
        """Return a table whose heading names terms; the first of `ids` is that of the taxon."""
        table = self.table(name)
        columns = {heading(cell): i for i, cell in reversed(list(enumerate(table.heading)))}
        known = _TERMS | other_terms
        terms = {term: known.get(term, term) for term in columns if term not in ("synonym", "synonyms")}
        renamed = {terms[term]: columns[term] for term in terms if terms[term] == term or terms[term] not in columns}
        found = [renamed[term] for term in ids if term in renamed]
        return self.names_in(name, table, [*(renamed | ({ID: found[0]} if found else {})).items()])


def _is_heading(row: Mapping[str, str]) -> bool:
    """Return whether a row is one of headings that `meta.xml` does not declare."""
    return any(heading(row.get(term, "")) == term for term in ("scientificname", "canonicalname", "vernacularname"))


def plain_table(archive: Archive, name: str) -> Names | None:
    """Return a table with a column of scientific names, or of genera and epithets; None if it has none."""
    file = archive.names_file(name)
    meanings = {meaning: columns[0] for meaning, columns in file.columns.items() if meaning in _MEANINGS}
    if not ("scientific" in meanings or {"genus", "epithet"} <= {*meanings}):
        unsure = [each for each in file.table.columns.get("either", ()) if heading(each) in ("species", "taxon")]
        if not unsure:
            return None
        meanings["scientific"] = unsure[0]
    if len(families := file.columns.get("family", ())) > 1:  # BirdLife's `Family` is English
        meanings.setdefault("families", families[1])
    languages = {each: language_of(each) or "" for each in file.columns.get("common", ())} | file.languages
    at = file.table.heading.index
    columns = [("first", 0), *((_MEANINGS[meaning], at(column)) for meaning, column in meanings.items())]
    columns += [(f"common name {column}", at(column)) for column in languages]
    read = archive.names_in(name, file.table, columns)
    spoken = {f"common name {column}": language for column, language in languages.items()}
    return replace(read, rows=partial(_completed, read, archive.problems), languages={**spoken, "familynames": "en"})


def _completed(table: Names, problems: Problems) -> Rows:
    """Yield the rows of a plain table with the taxa above that earlier rows name, and families without English names.

    Rows that begin with `#` are comments. IOC's lists give the tree by the order of rows: each has a rank, or fills
    only the columns of its own level.
    """
    rows = ((line, row) for line, row in table.rows() if not row.pop("first", "").startswith("#"))
    first = list(islice(rows, N_LOOKED_AT))
    by_rank = not {*LADDER} & {*table.terms} and _is_in_order([rank_of(row.get("taxonrank", "")) for _, row in first])
    levels = [{level for level in _LEVELS if row.get(level)} for _, row in first]
    is_outline = len(set().union(*levels)) > 2 and max(map(len, levels)) == 1
    ranks, above, named = LADDER if by_rank else _LEVELS, dict[str, str](), set[str]()
    for line, row in chain(first, rows):
        category = row.pop("category", "").lower()
        if category in _NO_TAXA:
            problems.add(f"category {category}, no taxon of its own", f"{table.place}: line {line}")
            continue
        if category in _CATEGORIES:
            row.setdefault("taxonrank", _CATEGORIES[category])
        if family := _with_english_names(row, named):
            yield line, family
        lowest = next((each for each in _LEVELS[::-1] if each in row), "") if is_outline else ""
        level = rank_of(row.get("taxonrank", "")) if by_rank else lowest
        if level in ranks:
            above = {each: name for each, name in above.items() if _LEVELS.index(each) < _LEVELS.index(level)}
        if by_rank or level:
            row = {**above, **row}
        if level == "subspecies" and is_outline:
            row["scientificname"] = f"{row.get('scientificname', '')} {row.pop('subspecies')}"
        elif level in ranks:
            above[level] = row.get("scientificname" if by_rank else level, "")
        yield line, row


def _is_in_order(ranks: Sequence[str]) -> bool:
    """Return whether rows of these ranks follow a tree: the highest first, each higher taxon before those below it.

    A list by the alphabet, or with all families first, has higher taxa with none below.
    """
    depths = [LADDER.index(rank) if rank in LADDER else len(LADDER) for rank in ranks]
    n_empty = sum(below <= depth < len(LADDER) for depth, below in pairwise(depths))
    return bool(depths) and depths[0] == min(depths) < len(LADDER) and n_empty <= len(depths) // 50


def _with_english_names(row: dict[str, str], named: set[str]) -> dict[str, str] | None:
    """Take the English names out of a family, `Corvidae (Crows, Jays)`, and return a row of the family if it is new."""
    for rank in ("order", "family", "subfamily"):
        if split := _WITH_ENGLISH.fullmatch(row.get(rank, "")):
            row[rank] = split[1]
            if rank == "family" and not any(letter.isdigit() for letter in split[2]):
                row.setdefault("familynames", split[2])
    english, family = row.get("familynames", ""), row.get("family", "")
    is_one = rank_of(row.get("taxonrank", "")) == "family" or {"scientificname", "genus", *EPITHETS}.isdisjoint(row)
    if is_one:
        named.add(family or row.get("scientificname", ""))
    else:
        row.pop("familynames", None)
    if is_one or not english or not family or family in named:
        return None
    named.add(family)
    above = {rank: row[rank] for rank in LADDER[: LADDER.index("family") + 1] if rank in row}
    return {**above, "familynames": english, "taxonrank": "family"}


def open_checklist_file(path: Path) -> ChecklistFile:
    """Return the checklist in a file, zip archive or folder; its rows are not read yet.

    Raises:
        BadInput: if the file cannot be read or is no checklist.
    """
    archive = Archive(path)
    if (meta := archive.find(META)) is not None:
        return _darwin_core(archive, meta)
    if usage := archive.find("NameUsage", whole=False):
        return _coldp(archive, usage)
    tables = archive.tables
    named = [name for name in tables if "vernacular" in name.lower()]
    others = [name for name in tables if name not in named] or tables
    name = archive.find("taxon", whole=False) or archive.find("taxa", whole=False)
    name = name or (others[0] if len(others) == 1 else None)
    if name is None:
        shown = ", ".join(tables[:5]) or "no table"
        raise BadInput(f"{path} holds {shown}, from which the checklist is not clear.", hint=EXPECTED)
    table = archive.table(name)
    known = {heading(cell) for cell in table.heading}
    found = partial(ChecklistFile, problems=archive.problems)
    if "scientificname" in known or are_named_in_parts(known):
        if known & _DARWIN_CORE:
            beside = [archive.with_heading(each, ids=OF_TAXON) for each in named if each != name]
            return found(form="Darwin Core", taxa=[archive.with_heading(name)], common_names=beside)
        if "id" in known and known & {"parentid", "status"}:
            return found(form="ColDP", taxa=[archive.with_heading(name, status="taxonomicstatus")])
    if (plain := plain_table(archive, name)) is not None:
        return found(form="CSV", taxa=[plain])
    got = ", ".join(cell[:40] for cell in table.first[:8])
    raise table.refused(f"no column of scientific names; got {got}", line=table.first_line, hint=EXPECTED)


def _coldp(archive: Archive, usage: str) -> ChecklistFile:
    """Return the checklist in a ColDP folder or archive."""
    vernacular = archive.find("VernacularName", whole=False)
    core = archive.with_heading(usage, status="taxonomicstatus")
    known = {*core.terms, *(("scientificname",) if are_named_in_parts(core.terms) else ())}
    if missing := [column for column in ("id", "scientificname") if column not in known]:
        raise BadInput(f"{core.place}: expected the column {missing[0]}, got {', '.join(core.terms)}.")
    file = archive.find("metadata.yaml")
    text = archive.text(file) if file else ""
    lines = re.findall(r"^(alias|title|version|issued|licen[cs]e):[ \t]*['\"]?([^'\"\n#]+)", text, flags=re.MULTILINE)
    stated = {key: value.strip() for key, value in lines}
    return ChecklistFile(
        form="ColDP",
        taxa=[core],
        common_names=[archive.with_heading(vernacular, ids=OF_TAXON, name="vernacularname")] if vernacular else [],
        problems=archive.problems,
        title=stated.get("title") or stated.get("alias") or "",
        edition=stated.get("version") or stated.get("issued") or "",
        licence=_licence(stated.get("license") or stated.get("licence") or ""),
    )


def _darwin_core(archive: Archive, meta: str) -> ChecklistFile:
    """Return the checklist in a Darwin Core archive.

    Raises:
        BadInput: if `meta.xml` is unusable, its core has other rows than taxa, or a file is missing.
    """
    root = _parsed(archive, meta)
    place = archive.place(meta)
    cores = [node for node in root if _local(node) == "core"]
    if not cores:
        raise BadInput(f"{place} has no core, expected a Darwin Core archive of taxa.")
    kind = heading(cores[0].get("rowType", ""))
    if kind not in ("taxon", ""):
        raise BadInput(
            f"{place}: the core has rows of {kind}, expected Taxon.",
            hint="Give the archive of a checklist; archives of occurrences have no taxonomy.",
        )
    tables = _declared(archive, meta, cores[0])
    columns = tables[0].terms
    if {"scientificname", "canonicalname"}.isdisjoint(columns) and not are_named_in_parts(columns):
        raise BadInput(f"{place}: the core has no field scientificName, nor genus and specificEpithet.")
    named = [node for node in root if _local(node) == "extension" and _is_of_names(node)]
    others = [table for node in named for table in _declared(archive, meta, node) if "vernacularname" in table.terms]
    stated = _metadata(archive, root.get("metadata") or "eml.xml")
    title, edition, licence = (stated.get(key, "") for key in ("title", "pubDate", "licence"))
    return ChecklistFile(
        form="Darwin Core", taxa=tables, common_names=others, problems=archive.problems,
        title=title, edition=edition, licence=licence,
    )  # fmt: skip


def _is_of_names(node: ElementTree.Element) -> bool:
    return heading(node.get("rowType", "")) == "vernacularname"


def _declared(archive: Archive, meta: str, node: ElementTree.Element) -> list[Names]:
    """Return the tables of a core or an extension, by their files."""
    parts: dict[str, list[ElementTree.Element]] = {}
    for each in node.iter():
        parts.setdefault(_local(each), []).append(each)
    locations = [each.text.strip() for each in parts.get("location", ()) if each.text]
    files = {location: archive.find(location.rsplit("/", 1)[-1]) for location in locations}
    missing = ", ".join(location for location, file in files.items() if file is None)
    if missing or not files:
        raise BadInput(f"{archive.place(meta)} names {missing or 'no file'}, which the archive lacks.")
    columns, defaults = {}, {}
    try:
        for each in parts.get("field", ()):
            term = heading(each.get("term", ""))
            if each.get("index") is not None:
                columns[term] = int(each.get("index", ""))
            if each.get("default"):
                defaults[term] = each.get("default", "")
        for each in (*parts.get("id", ()), *parts.get("coreid", ())):
            columns[ID] = int(each.get("index", "0"))
        int(node.get("ignoreHeaderLines") or 0)
    except ValueError as error:
        raise BadInput(f"{archive.place(meta)}: expected a number as index: {error}.") from error
    return [
        archive.names_in(file, archive.declared(file, node, columns), [*columns.items()], defaults)
        for file in files.values()
        if file is not None
    ]


def _metadata(archive: Archive, name: str) -> dict[str, str]:
    """Return title, date of publication and licence from the archive's EML, as far as it states them."""
    file = archive.find(name)
    found: dict[str, str] = {}
    for each in _parsed(archive, file).iter() if file else ():
        tag, text = _local(each), " ".join("".join(each.itertext()).split())
        if tag in ("title", "pubDate"):
            found.setdefault(tag, text)
        elif tag in ("intellectualRights", "licensed", "licenseName"):
            addresses = [node.get("url", "") or (node.text or "") for node in each.iter() if node is not each]
            found.setdefault("licence", _licence(" ".join([text, *addresses])))
    return found


def _licence(statement: str) -> str:
    return licence_in(statement) or " ".join(statement.split())[:120]


def _parsed(archive: Archive, name: str) -> ElementTree.Element:
    text = archive.text(name)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:  # entities can expand without end
        raise BadInput(f"{archive.place(name)} declares entities, expected plain XML.")
    try:
        return ElementTree.fromstring(text)  # entities are refused above
    except ElementTree.ParseError as error:
        raise BadInput(f"{archive.place(name)} is not XML: {error}.") from error


def _local(node: ElementTree.Element) -> str:
    return node.tag.rpartition("}")[2]
