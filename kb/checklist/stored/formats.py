"""Formats of checklist files: Darwin Core archives and tables, ColDP folders and zips, and plain tables.

Plain tables are those of people and of authorities: Clements and eBird (categories, families with English names), IOC
(a rank in each row, or an outline of sparse columns), BirdLife, AviList, the Mammal Diversity Database.

Sources: Darwin Core quick reference guide (TDWG); ColDP guide of the Catalogue of Life.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path, PurePosixPath
from typing import Final
from xml.etree import ElementTree

from data.errors import BadInput
from data.tables import SUFFIXES, Table, declared_table, open_table, read_text
from kb.checklist.name_files import (
    COLUMNS,
    EPITHETS,
    are_named_in_parts,
    common_names_in,
    name_from_parts,
    synonyms_in,
    with_genus,
)
from kb.checklist.names import LADDER
from kb.checklist.stored.usage import (
    LANGUAGES,
    LETTERS_OF_CODE,
    ChecklistFile,
    CommonName,
    Problems,
    Usage,
    language_code,
    rank_of,
    status_of,
)
from kb.licences import licence_in

EXPECTED: Final = (
    "Expected a Darwin Core archive or table (scientificName, taxonID, ...), a ColDP folder or zip, or a CSV with "
    "scientific_name; optionally class, order, family, genus, common_name, common_name_de, synonyms."
)
SYNONYMS: Final = ("synonyms", "synonym")
ID: Final = "id"
OF_TAXON: Final = ("taxonid", "coreid", ID)
"""Columns with the id of the taxon in a table of common names, the first that is there."""
_TERMS: Final = {
    "taxonkey": "taxonid", "acceptedtaxonkey": "acceptednameusageid", "acceptedscientificname": "acceptednameusage",
    "parentid": "parentnameusageid", "rank": "taxonrank", "preferred": "ispreferredname",
    "familyscientific": "family", "familyname": "family", "familysciname": "family",
    "familyenglish": "familynames", "familyenglishname": "familynames", "familycomname": "familynames",
}  # fmt: skip
"""Heading of GBIF's species lists, of ColDP or of an authority -> our term, mostly of Darwin Core."""
_OF_PLAIN: Final = frozenset(
    ("taxonrank", "category", "genericname", *EPITHETS, "infraspecificepithet", "subspecies", "uninomial", "notho",
     *LADDER, *SYNONYMS, "familynames")
)  # fmt: skip
_SCIENTIFIC: Final = (*COLUMNS["scientific"], "speciesscientific")
_DARWIN_CORE: Final = frozenset(
    ("taxonid", "acceptednameusageid", "acceptednameusage", "parentnameusageid", "parentnameusage", "taxonomicstatus",
     "taxonrank")
)  # fmt: skip
_ENGLISH: Final = ("english", "primarycomname", "maincommonname", "othercommonnames", "speciesenglish")
_LANGUAGE: Final = re.compile(r"^(?:common|vernacular|english)?[ _.-]?names?[ _.:\[(-]+([A-Za-z]{2,3})[\])]?$", re.I)
_OF_NAMES: Final = re.compile(r"(?:common|vernacular)?names?$")
_IOC: Final = re.compile(r"ioc\d*$")
_WITH_ENGLISH: Final = re.compile(r"([A-Z][a-z]+|[A-Z]+) ?[(\[](.+)[)\]]")
_CATEGORIES: Final = {"species": "species", "subspecies": "subspecies", "group (monotypic)": "subspecies"}
_NO_TAXA: Final = frozenset(
    ("group (polytypic)", "issf", "form", "slash", "spuh", "hybrid", "intergrade", "domestic")
)  # fmt: skip
"""Categories of Clements and eBird for groups, mixtures and unidentified birds."""
N_LOOKED_AT: Final = 1_000
_LEVELS: Final = (*LADDER, "scientificname", "subspecies")
META: Final = "meta.xml"


class Archive:
    """The files of a checklist: a table alone, or those of a folder or zip archive.

    Raises:
        BadInput: if there is no such file, or it is no zip archive in spite of its name.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_zip = self.is_single = False
        try:
            if path.is_dir():
                names = [file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()]
            elif zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    names = [info.filename for info in archive.infolist() if not info.is_dir()]
                self.is_single = "xl/workbook.xml" in names
                self.is_zip = not self.is_single
            elif path.suffix.lower() == ".zip" and path.is_file():
                raise BadInput(f"{path} is damaged or incomplete, expected a zip archive.")
            elif path.is_file():
                self.is_single = True
            else:
                raise BadInput(f"File not found: {path}")
        except (OSError, zipfile.BadZipFile) as error:
            raise BadInput(f"{path} cannot be read: {error}") from error
        names = [path.name] if self.is_single else names
        shown = [name for name in names if not PurePosixPath(name).name.startswith(".") and "__MACOSX" not in name]
        self.names = sorted(shown, key=lambda name: (name.count("/"), name))
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
        table = open_table(self._file(name), _HEADINGS, place=self._base(name), member=self._member(name))
        if not table.first:
            raise BadInput(f"{self.place(name)} is empty, expected a table of names.")
        return table

    def declared(self, name: str, node: ElementTree.Element, columns: Mapping[str, int]) -> Table:
        """Open a table of the columns and the layout that `meta.xml` declares."""
        separator = _unescaped(node.get("fieldsTerminatedBy", ","))
        quote = _unescaped(node.get("fieldsEnclosedBy", '"'))
        if len(separator) != 1 or len(quote) > 1:
            raise BadInput(f"{self.path}: {META}: expected one character between fields, got {separator!r}.")
        return declared_table(
            self._file(name),
            columns,
            separator=separator,
            has_quotes=bool(quote),
            n_skipped=int(node.get("ignoreHeaderLines") or 0),
            place=self._base(name),
            member=self._member(name),
        )

    def text(self, name: str) -> str:
        """Return a small text file, such as `meta.xml`."""
        return read_text(self._file(name), self._base(name), member=self._member(name))

    def _file(self, name: str) -> Path:
        return self.path if self.is_single or self.is_zip else self.path / name

    def _base(self, name: str) -> str:
        return str(self.path) if self.is_zip else self.place(name)

    def _member(self, name: str) -> str | None:
        return name if self.is_zip else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """A table of a checklist: the terms of its columns, and what it holds beside scientific names."""

    place: str
    table: Table
    terms: tuple[tuple[str, int], ...]
    """Term and position of the columns; of two with one term a filled cell counts, the later one first."""
    defaults: Mapping[str, str] = field(default_factory=dict)
    languages: Mapping[str, str] = field(default_factory=lambda: {"vernacularname": ""})
    """Term of common names -> their language; empty for that of the row."""
    is_plain: bool = False
    """Whether its rows have no ids, `#` begins a comment, and repeated rows are joined."""

    def rows(self, problems: Problems) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield line and term -> cell of each row, empty cells left out; a row of headings is skipped."""
        is_first = True
        for frame in self.table.chunks():
            for line, *cells in frame.itertuples(name=None):
                row = {term: cells[at] for term, at in self.terms if cells[at]}
                is_heading, is_first = is_first and self._is_heading(row), False
                if is_heading or (self.is_plain and cells[0].startswith("#")):
                    continue
                for term, value in self.defaults.items():
                    row.setdefault(term, value)
                yield int(line), row
        problems.notes += [f"{self.place}: {note}" for note in self.table.notes]

    @staticmethod
    def _is_heading(row: Mapping[str, str]) -> bool:
        """Return whether a row is one of headings that `meta.xml` does not declare."""
        return any(heading(row.get(term, "")) == term for term in ("scientificname", "canonicalname", "vernacularname"))


def with_heading(archive: Archive, name: str, /, ids: Sequence[str] = (ID, "taxonid"), **other_terms: str) -> Names:
    """Return a table whose heading names terms; the first of `ids` is that of the taxon."""
    table = archive.table(name)
    columns = {heading(cell): i for i, cell in reversed(list(enumerate(table.heading)))}
    terms = {term: (_TERMS | other_terms).get(term, term) for term in columns}
    renamed = {terms[term]: at for term, at in columns.items() if terms[term] == term or terms[term] not in columns}
    found = [renamed[term] for term in ids if term in renamed]
    renamed |= {ID: found[0]} if found else {}
    return Names(place=archive.place(name), table=table, terms=tuple(renamed.items()))


def plain_table(archive: Archive, name: str) -> Names | None:
    """Return a table with a column of scientific names, or of genera and epithets; None if it has none."""
    table = archive.table(name)
    found = [heading(cell) for cell in table.heading]
    known = [each for each in _SCIENTIFIC if each in found] or [each for each in found if _IOC.match(each)]
    if not known and not are_named_in_parts(found):
        return None
    named = found.index(known[0]) if known else None
    terms = {i: _TERMS.get(term, term) for i, term in enumerate(found) if i != named}
    if "familyname" in found and "family" in found:  # BirdLife's `Family` is English
        terms[found.index("family")] = "familynames"
    languages = {i: language_of(cell) for i, cell in enumerate(table.heading) if i != named}
    common = {f"common name {i}": language for i, language in languages.items() if language is not None}
    return Names(
        place=archive.place(name),
        table=table,
        terms=(
            *(() if named is None else (("scientificname", named),)),
            *((term, i) for i, term in terms.items() if term in _OF_PLAIN),
            *((term, int(term.split()[-1])) for term in common),
        ),
        languages={**common, "familynames": "en"},
        is_plain=True,
    )


def heading(term: str) -> str:
    """Return a term without its namespace, in lower case: `dwc:taxonID` and its address give `taxonid`."""
    return re.sub(r"[^a-z0-9]", "", re.split(r"[:/#]", term.strip())[-1].lower())


def language_of(cell: str) -> str | None:
    """Return the language of a column of common names, empty if it does not say, or None for another column."""
    plain = heading(cell)
    if plain.startswith("englishname") or plain in _ENGLISH:
        return "en"
    if plain in COLUMNS["common"] or plain == "alternativecommonnames":
        return ""
    if match := _LANGUAGE.match(cell.strip()):
        return language_code(match[1])
    word = _OF_NAMES.sub("", plain)  # "German", "French name"
    return LANGUAGES.get(word) if len(word) > LETTERS_OF_CODE else None


def checklist_of_tables(form: str, cores: Sequence[Names], others: Sequence[Names] = ()) -> ChecklistFile:
    """Return the checklist in tables of taxa and tables of their common names."""
    problems = Problems()
    return ChecklistFile(
        form=form,
        usages=lambda: chain.from_iterable(
            _usages(core, problems, parent_is_accepted=form == "ColDP") for core in cores
        ),
        common_names=partial(common_names, others, problems),
        problems=problems,
    )


def _usages(core: Names, problems: Problems, *, parent_is_accepted: bool) -> Iterator[Usage]:
    """Yield the names of a table; `parent_is_accepted` of a synonym in ColDP."""
    rows = core.rows(problems)
    for number, row in _completed(core, rows, problems) if core.is_plain else rows:
        named = row.get("canonicalname") or row.get("scientificname") or ""
        name = with_genus(named, row.get("genus", "")) or name_from_parts(row)
        place = f"{core.place}: line {number}"
        if not any(letter.isalpha() for letter in name):
            problems.add("no scientific name", place)
            continue
        key = row.get(ID) or row.get("taxonid") or (f"line {number}" if core.is_plain else "")
        own = {key, row.get("taxonid", "")} - {""}
        accepted = row.get("acceptednameusageid", "")
        accepted = "" if accepted in own else accepted
        if not accepted and "acceptednameusageid" not in row:
            accepted = row.get("acceptednameusage", "")
            accepted = "" if accepted in (row.get("scientificname"), name) else accepted
        stated = row.get("taxonomicstatus", "")
        status = status_of(stated, has_accepted=bool(accepted), problems=problems, place=place)
        parent = row.get("parentnameusageid") or row.get("parentnameusage") or ""
        language = language_code(row.get("language", ""))
        yield Usage(
            line=number,
            id=key,
            name=name,
            rank=row.get("taxonrank", "").lower(),
            status=status,
            parent=parent,
            accepted=accepted or (parent if parent_is_accepted and status == "synonym" else ""),
            higher=tuple((rank, row[rank]) for rank in LADDER if row.get(rank)),
            common_names=tuple(
                (text, of_column or language)
                for term, of_column in core.languages.items()
                for text in common_names_in(row.get(term, ""))
            ),
            other_id=row.get("taxonid", ""),
        )
        for column in SYNONYMS if core.is_plain else ():
            for synonym in synonyms_in(row.get(column, "")):
                yield Usage(line=number, id="", name=synonym, status="synonym", accepted=key)


def _completed(
    core: Names, rows: Iterator[tuple[int, dict[str, str]]], problems: Problems
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a plain table with the taxa above that earlier rows name, and families without English names.

    IOC's lists give the tree by the order of rows: each has a rank, or fills only the columns of its own level.
    """
    first = list(islice(rows, N_LOOKED_AT))
    terms = {term for term, _ in core.terms}
    by_rank = terms.isdisjoint(LADDER) and _is_in_order([rank_of(row.get("taxonrank", "")) for _, row in first])
    levels = [{level for level in _LEVELS if row.get(level)} for _, row in first]
    is_outline = len(set().union(*levels)) > 2 and max(map(len, levels)) == 1
    above: dict[str, str] = {}
    named: set[str] = set()
    for number, row in chain(first, rows):
        category = row.pop("category", "").lower()
        if category in _NO_TAXA:
            problems.add(f"category {category}, no taxon of its own", f"{core.place}: line {number}")
            continue
        if category in _CATEGORIES:
            row.setdefault("taxonrank", _CATEGORIES[category])
        if family := _with_english_names(number, row, named):
            yield number, family
        level = (
            rank_of(row.get("taxonrank", "")) if by_rank else next((each for each in _LEVELS[::-1] if each in row), "")
        )
        if by_rank:
            above = _above(above, level) if level in LADDER else above
            yield number, {**above, **row}
            above |= {level: row.get("scientificname", "")} if level in LADDER else {}
        elif is_outline and level:
            above = {**_above(above, level), level: row[level]}
            row = {**above, **row}
            if level == "subspecies":
                row["scientificname"] = f"{above.get('scientificname', '')} {row.pop('subspecies')}"
            yield number, row
        else:
            yield number, row


def _is_in_order(ranks: Sequence[str]) -> bool:
    """Return whether rows of these ranks follow a tree: the highest first, each higher taxon before those below it.

    A list by the alphabet, or with all families first, has higher taxa with none below.
    """
    depths = [LADDER.index(rank) if rank in LADDER else len(LADDER) for rank in ranks]
    n_empty = sum(below <= depth < len(LADDER) for depth, below in pairwise(depths))
    return bool(depths) and depths[0] == min(depths) < len(LADDER) and n_empty <= len(depths) // 50


def _above(above: Mapping[str, str], level: str) -> dict[str, str]:
    """Return the taxa above a level."""
    return {each: name for each, name in above.items() if _LEVELS.index(each) < _LEVELS.index(level)}


def _with_english_names(number: int, row: dict[str, str], named: set[str]) -> dict[str, str] | None:
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
    return {**above, ID: f"line {number}, {family}", "familynames": english, "taxonrank": "family"}


def common_names(tables: Sequence[Names], problems: Problems) -> Iterator[CommonName]:
    """Yield the common names in tables that refer to taxa by id."""
    for table in tables:
        for _, row in table.rows(problems):
            if row.get(ID) and row.get("vernacularname"):
                preferred = row.get("ispreferredname", "").lower() in ("true", "1", "yes", "preferred")
                language = language_code(row.get("language", ""))
                for name in common_names_in(row["vernacularname"]):
                    yield CommonName(row[ID], name, language, is_preferred=preferred)


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
    if "scientificname" in known or are_named_in_parts(known):
        # AviList has ranks, and English names in columns of its own.
        has_names = any(language_of(cell) is not None and heading(cell) != "vernacularname" for cell in table.heading)
        if known & (_DARWIN_CORE - {"taxonrank"} if has_names else _DARWIN_CORE):
            beside = [with_heading(archive, each, ids=OF_TAXON) for each in named if each != name]
            return checklist_of_tables("Darwin Core", [with_heading(archive, name)], beside)
        if "id" in known and known & {"parentid", "status"}:
            return checklist_of_tables("ColDP", [with_heading(archive, name, status="taxonomicstatus")])
    if (plain := plain_table(archive, name)) is not None:
        return checklist_of_tables("CSV", [plain])
    got = ", ".join(cell[:40] for cell in table.first[:8])
    raise table.refused(f"no column of scientific names; got {got}", line=table.first_line, hint=EXPECTED)


def _coldp(archive: Archive, usage: str) -> ChecklistFile:
    """Return the checklist in a ColDP folder or archive."""
    vernacular = archive.find("VernacularName", whole=False)
    named = [with_heading(archive, vernacular, ids=OF_TAXON, name="vernacularname")] if vernacular else []
    core = with_heading(archive, usage, status="taxonomicstatus")
    columns = [term for term, _ in core.terms]
    known = {*columns, *(("scientificname",) if are_named_in_parts(columns) else ())}
    if missing := [column for column in ("id", "scientificname") if column not in known]:
        raise BadInput(f"{core.place}: expected the column {missing[0]}, got {', '.join(columns)}.")
    file = archive.find("metadata.yaml")
    text = archive.text(file) if file else ""
    lines = re.findall(r"^(alias|title|version|issued|licen[cs]e):[ \t]*['\"]?([^'\"\n#]+)", text, flags=re.MULTILINE)
    stated = {key: value.strip() for key, value in lines}
    return replace(
        checklist_of_tables("ColDP", [core], named),
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
    columns = [term for term, _ in tables[0].terms]
    if {"scientificname", "canonicalname"}.isdisjoint(columns) and not are_named_in_parts(columns):
        raise BadInput(f"{place}: the core has no field scientificName, nor genus and specificEpithet.")
    others = [
        table
        for node in root
        if _local(node) == "extension" and heading(node.get("rowType", "")) == "vernacularname"
        for table in _declared(archive, meta, node)
        if "vernacularname" in dict(table.terms)
    ]
    stated = _metadata(archive, root.get("metadata") or "eml.xml")
    title, edition, licence = (stated.get(key, "") for key in ("title", "pubDate", "licence"))
    found = checklist_of_tables("Darwin Core", tables, others)
    return replace(found, title=title, edition=edition, licence=licence)


def _declared(archive: Archive, meta: str, node: ElementTree.Element) -> list[Names]:
    """Return the tables of a core or an extension, by their files."""
    parts: dict[str, list[ElementTree.Element]] = {}
    for each in node.iter():
        parts.setdefault(_local(each), []).append(each)
    locations = [each.text.strip() for each in parts.get("location", ()) if each.text]
    files = {location: archive.find(location.rsplit("/", 1)[-1]) for location in locations}
    if missing := [location for location, file in files.items() if file is None] or not files:
        names = ", ".join(missing) if isinstance(missing, list) else "no file"
        raise BadInput(f"{archive.place(meta)} names {names}, which the archive lacks.")
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
        Names(
            place=archive.place(file or ""),
            table=archive.declared(file or "", node, columns),
            terms=tuple(columns.items()),
            defaults=defaults,
        )
        for file in files.values()
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


def _unescaped(text: str) -> str:
    return text.replace("\\t", "\t").replace("\\n", "\n").replace('\\"', '"')


_HEADINGS: Final = {
    "known": tuple(
        f"{prefix}{term}"
        for prefix in ("", "dwc ", "dcterms ", "col ", "http rs tdwg org dwc terms ")
        for term in (
            *(*COLUMNS["scientific"], *COLUMNS["common"], *_OF_PLAIN, *_DARWIN_CORE, *_TERMS, *OF_TAXON, *_ENGLISH),
            *("species scientific", "canonicalname", "language", "status", "authority", "alternative common names"),
        )
    )
}
"""Headings by which the row of headings is found below titles."""
