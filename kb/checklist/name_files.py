"""Files of names: tables with headings by meaning, lists of lines; cells of several names, names in several columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from data.tables import LINE, Headings, cells_of, open_table
from data.words import plural
from kb.checklist.names import BELOW_SPECIES, LADDER, parse_name, without_authorship
from kb.checklist.selection import RANKS_ABOVE
from kb.checklist.words import LANGUAGES, LETTERS_OF_CODE, language_code

if TYPE_CHECKING:
    import pandas as pd

IN_LANGUAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "de": ("deutscher name", "deutscher artname", "deutsch", "trivialname"),
    "fr": ("nom vernaculaire", "nom commun", "nom francais", "francais", "nom vern"),
    "es": ("nombre comun", "nombre vulgar", "nombre espanol", "espanol"),
    "pt": ("nome comum", "nome popular", "nome vulgar", "nome portugues"),
    "it": ("nome comune", "nome italiano", "italiano"),
    "ca": ("nom comu", "nom catala"),
    "nl": ("nederlandse naam", "nederlands"),
    "sv": ("svenskt namn", "svenska"),
    "no": ("norsk navn", "norsk"),
    "da": ("dansk navn", "dansk"),
    "fi": ("suomenkielinen nimi", "suomi"),
    "pl": ("nazwa polska", "polska nazwa"),
    "cs": ("cesky nazev", "ceske jmeno"),
    "sk": ("slovensky nazov",),
    "hu": ("magyar nev", "magyar"),
    "ru": ("русское название",),
    "uk": ("українська назва",),
    "tr": ("türkçe adı", "türkçe ad", "türkçe"),
    "ja": ("和名",),
    "zh": ("中文名",),
    "ko": ("국명",),
}
"""Language -> headings of common names in it, as people write them there."""
HEADINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "scientific": (
        "scientific name", "sci name", "scientific", "species scientific", "species scientific name", "binomial",
        "binomial name", "latin name", "latin", "latin species", "latin species name", "canonical name",
        "accepted scientific name", "accepted name", "verbatim scientific name", "species latin name",
        "taxon latin name", "taxon scientific name", "lb nom", "nom valide", "nom complet", "nom cite",
        "wissenschaftlicher name", "wissenschaftlicher artname", "artname wissenschaftlich", "art wissenschaftlich",
        "wissenschaftlich", "name wiss", "artname wiss", "lateinischer name", "lateinisch", "latein", "art lateinisch",
        "nom scientifique", "nom latin", "espece nom scientifique", "nombre cientifico", "nombre latino", "cientifico",
        "especie nombre cientifico", "nome cientifico", "nome scientifico", "nome latino", "nom cientific",
        "wetenschappelijke naam", "latijnse naam", "vetenskapligt namn", "latinskt namn", "vitenskapelig navn",
        "latinsk navn", "videnskabeligt navn", "tieteellinen nimi", "teaduslik nimi", "nazwa naukowa", "nazwa lacinska",
        "lacina", "vedecky nazev", "vedecke jmeno", "latinsky nazev", "latinske jmeno", "latinsky", "vedecky nazov",
        "latinsky nazov", "tudomanyos nev", "latin nev", "denumire stiintifica", "znanstveni naziv", "latinski naziv",
        "znanstveno ime", "lotyniskas pavadinimas", "mokslinis pavadinimas", "bilimsel ad", "bilimsel adi",
        "nama ilmiah", "nama latin", "ten khoa hoc", "научное название", "латинское название", "латынь",
        "наукова назва", "латинська назва", "научно име", "επιστημονικο ονομα",
        "学名", "學名", "拉丁名", "拉丁学名", "학명",
    ),
    "common": (
        "common name", "main common name", "primary com name", "com name", "preferred common name", "english name",
        "english", "species english", "species english name", "vernacular name", "species common name", "common",
        "species common", "vernacular", "name species", "species guess", "bird name", "local name", "popular name",
        "other common names", "alternative common names",
    ),
    "either": (
        "species", "species name", "taxon", "taxon name", "name", "names", "art", "artname", "artnamn",
        "artnavn", "vogelart", "bird species", "espece", "nom espece",
        "especie", "specie", "soort", "soortnaam", "gatunek", "druh", "faj", "вид", "种", "物种", "organism",
        "organism name", "bird", "birds", "label",
    ),
    "code": ("species code", "ebird code", "code", "alpha code", "banding code"),
    "epithet": ("specific epithet", "species epithet", "epithet"),
    "subspecies": ("infraspecific epithet", "subspecific epithet", "subspecies", "subspecies name", "ssp", "unterart"),
    "genus": ("genus", "generic name"),
    "family": ("family scientific", "family sci name", "family name", "family"),
    "order": ("order", "order name"),
    **{rank: (rank,) for rank in LADDER if rank not in ("genus", "family", "order")},
    "families": ("family english", "family english name", "family com name"),
    "rank": ("taxon rank", "rank"),
    "category": ("category",),
    "language": ("language",),
    "uninomial": ("uninomial",),
    "notho": ("notho",),
    "synonyms": ("synonyms", "synonym"),
    **IN_LANGUAGES,
}  # fmt: skip
"""Meaning -> headings, the most specific first. Of `either`, the cells tell the kind of names."""
KNOWN_HEADINGS: Final = ("scientific name", "species", "common name", "english name", "name", "species code")
"""The most usual headings of names, for messages."""
EPITHETS: Final = ("specificepithet", "speciesepithet", "epithet")
"""Headings of epithets, beside a column of genera, folded."""
_ENGLISH: Final = ("english", "primarycomname", "maincommonname", "othercommonnames", "speciesenglish")
_COMMON: Final = frozenset(heading.replace(" ", "") for heading in (*HEADINGS["common"], "name"))
_LANGUAGE: Final = re.compile(r"^(?:common|vernacular|english)?[ _.-]?names?[ _.:\[(-]+([A-Za-z]{2,3})[\])]?$", re.I)
_OF_NAMES: Final = re.compile(r"(?:common|vernacular)?names?$")
_NAMES: Final = ("scientific", "common", "either", "code", *IN_LANGUAGES)
_HIGHER: Final = ("genus", "family", "order", "class")
SAMPLE: Final = 1_000
"""Rows whose cells tell the kind of a column."""
_LABEL: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12};")
"""Beginning of a label of SpeciesNet."""
_THIRD: Final = re.compile(r"(?:[A-Z][a-z]+ [a-z-]+ )?([a-z][a-z-]{2,})\b")
"""Third word of a name, alone or behind genus and epithet."""
_SCIENTIFIC: Final = re.compile(
    r"^[†×?* ]*[A-ZÀ-Þ][a-zà-ÿ-]{2,}(?: \([A-Z][a-z]+\))?(?: [x×])? "
    r"[a-zà-ÿ][a-zà-ÿ-]*(?:us|a|um|is|i|e|or|ns|es|os|ax|ex|ix|ox|yx|ys|as|ops|o)\b"
)
"""Names with a genus and an epithet that ends as in Latin: `Red fox` is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NameRow:
    """A row of a file of names; empty where it has none."""

    line: int
    scientific: str = ""
    subspecies: str = ""
    """Name of three words, where a column of its own has the third."""
    common: str = ""
    others: tuple[str, ...] = ()
    """Names in another language, and codes."""
    cells: Mapping[str, str] = field(default_factory=dict)
    """Heading -> cell."""
    above: Mapping[str, str] = field(default_factory=dict)
    """Rank -> name of the taxon above."""
    by_language: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Common names in columns that state a language."""
    synonyms: tuple[str, ...] = ()
    quarters: frozenset[int] | None = None
    """Quarters of months with sightings, 0 to 47; None if the list has no dates."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names, the most reliable first."""
        return tuple(filter(None, (self.subspecies or self.scientific, *common_names_in(self.common), *self.others)))


class NamesFile:
    """A table with columns of names, or a list with a name in each line.

    Raises:
        BadInput: if the file cannot be read.
    """

    def __init__(
        self,
        source: Path | bytes,
        place: str = "",
        *,
        member: str | None = None,
        also: Headings = MappingProxyType({}),
        needed: Callable[[Collection[str]], bool] | None = None,
    ) -> None:
        """Open the file; `also` are further headings.

        `member` and `needed`, by default `has_names`, are those of `open_table`.
        """
        known, needed = {**HEADINGS, **also}, needed or has_names
        opened = partial(open_table, source, known, needed=needed, place=place, member=member)
        self.table = opened()
        self._guesses: list[str] = []
        self._at: int | None = None  # column of the names in a table without a heading
        if not also and (at := _scientific_column(self.table.sample[1:] or self.table.sample)) is not None:
            first = self.table.sample[0][at]
            self._guesses.append(f'column {at + 1} ("{first}" in its first row) read as scientific names')
            if is_like_a_scientific_name(first):
                self._at = at
            else:
                known["scientific"] = (*known["scientific"], first)
                self.table = opened()
        elif not also and (at := _text_column(self.table.sample)) is not None:
            self._at = at
            self._guesses.append(f"column {at + 1} read as names")
        self.is_table = self.table.heading_line is not None
        self.n_nameless = 0
        """Rows without a name, once all are read."""
        sample = next(self.table.chunks(SAMPLE), None) if self.is_table else None
        self.columns = _by_cells(self.table.columns, sample)
        """Meaning -> the columns with such cells, the most specific first."""
        if sample is not None and not also and "scientific" not in self.columns and "epithet" not in self.columns:
            others = [name for name in sample if name not in chain.from_iterable(self.columns.values())]
            rows = list(zip(*(sample[name] for name in others), strict=True))
            if (at := _scientific_column(rows)) is not None:
                self.columns["scientific"] = (others[at],)
                self._guesses.append(f'column "{others[at]}" read as scientific names')

    @property
    def names_species(self) -> bool:
        """Whether the file is a table with a column of names, not of higher taxa alone."""
        return self.is_table and has_names(self.columns)

    @cached_property
    def languages(self) -> dict[str, str]:
        """Column of common names that states a language -> the language."""
        taken = {*self.columns.get("scientific", ()), *self.columns.get("common", ())}
        shown = [name for name in self.table.heading if self.is_table and name not in taken]
        stated = {name: language for name in shown if (language := language_of(name))}
        return stated | {name: meaning for meaning in IN_LANGUAGES for name in self.columns.get(meaning, ())}

    def lines(self) -> list[tuple[int, str]]:
        """Return line number and text of a list, without comments (`#`)."""
        lines = (each for frame in self.table.chunks() for each in frame[LINE].items())
        return [(int(line), text) for line, text in lines if not text.startswith("#")]

    def _of_list(self) -> Iterator[NameRow]:
        """Yield the rows of a file without a heading.

        Raises:
            BadInput: if all lines have the same separators, as in a table, but no column with names alone.
        """
        listed, separator = self.lines(), self.table.separator
        is_prose = separator == "," and all(text.count(",") == text.count(", ") for _, text in listed)
        is_list = separator is None or is_prose or all(_LABEL.match(text) for _, text in listed)
        if not is_list and self._at is None:
            raise self.table.refused(
                f"the table has no column of names; its first row is {', '.join(self.table.first)}",
                line=self.table.first_line,
                hint=f"Known headings: {', '.join(KNOWN_HEADINGS)}.",
            )
        for line, text in listed:
            cells = [] if self._at is None else cells_of(text, separator or ",")
            name = text if self._at is None or self._at >= len(cells) else cells[self._at]
            yield NameRow(line=line, scientific=" ".join(name.split()))

    def rows(self, *, once: bool = False, every: bool = False) -> Iterator[NameRow]:
        """Yield the rows of a table or a list, without comments (rows that begin with `#`).

        Args:
            once: of rows with the same names the first alone.
            every: comments and rows without a name too; rows with more cells than the heading are refused.
        """
        if not self.is_table:
            yield from self._of_list()
            return
        of_names = [*chain.from_iterable(self.columns.values())]
        first = self.table.heading[0]
        for frame in self.table.chunks(every=every):
            found = frame.drop_duplicates(of_names) if once else frame
            for line, cells in zip(found.index, found.to_dict("records"), strict=True):
                if cells[first].startswith("#") and not every:
                    continue
                row = self._row(int(line), cells)
                if row.names or every:
                    yield row
                else:
                    self.n_nameless += 1

    def notes(self) -> list[str]:
        """Return guesses, skipped rows and columns that are not used, once all rows are read."""
        nameless = f"{plural(self.n_nameless, 'row')} without a name skipped" if self.n_nameless else ""
        read = {*chain.from_iterable(self.columns.values()), *self.languages}
        unused = self.table.unused(read) if self.is_table else ""
        return [note for note in (*self.table.notes, *self._guesses, nameless, unused) if note]

    def _row(self, line: int, cells: Mapping[str, str]) -> NameRow:
        def first(meaning: str) -> str:
            return next((" ".join(cells[name].split()) for name in self.columns.get(meaning, ()) if cells[name]), "")

        genus, epithet = first("genus"), first("epithet")
        scientific = with_genus(first("scientific"), genus)
        if not scientific and epithet:
            scientific = f"{genus.capitalize()} {epithet.lower()}" if genus and " " not in epithet else ""
        third = _THIRD.match(first("subspecies"))
        is_binomial = len((plain := without_authorship(scientific)).split()) == 2
        common, others = first("common"), tuple(filter(None, map(first, (*IN_LANGUAGES, "code"))))
        if not (scientific or common or others):
            scientific = next(filter(None, map(first, _HIGHER)), "")
        return NameRow(
            line=line,
            scientific=scientific,
            subspecies=f"{plain} {third[1]}" if third and is_binomial else "",
            common=common,
            others=others,
            cells=cells,
            above={rank: name for rank in RANKS_ABOVE if (name := higher_name(first(rank)))},
            by_language=_grouped((language, common_names_in(cells[name])) for name, language in self.languages.items()),
            synonyms=tuple(name for each in self.columns.get("synonyms", ()) for name in synonyms_in(cells[each])),
        )


def _grouped(names: Iterable[tuple[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for language, given in names:
        if given:
            found[language] = (*found.get(language, ()), *given)
    return found


def higher_name(cell: str) -> str:
    """Return the name of a higher taxon in a cell, without a common one: `Paridae (Tits)`, `PASSERIFORMES`."""
    name = cell.partition("(")[0].strip()
    return name.capitalize() if name.isupper() or name.islower() else name


def heading(term: str) -> str:
    """Return a term without its namespace, in lower case: `dwc:taxonID` and its address give `taxonid`."""
    return re.sub(r"[^a-z0-9]", "", re.split(r"[:/#]", term.strip())[-1].lower())


def language_of(cell: str) -> str | None:
    """Return the language of a column of common names, empty if it does not say, or None for another column."""
    plain = heading(cell)
    if plain.startswith("englishname") or plain in _ENGLISH:
        return "en"
    if plain in _COMMON:
        return ""
    if match := _LANGUAGE.match(cell.strip()):
        return language_code(match[1])
    word = _OF_NAMES.sub("", plain)  # "German", "French name"
    return LANGUAGES.get(word) if len(word) > LETTERS_OF_CODE else None


def has_names(found: Collection[str]) -> bool:
    """Return whether columns of these meanings name species."""
    return not set(_NAMES).isdisjoint(found) or {"genus", "epithet"} <= set(found)


def has_names_or_ranks(found: Collection[str]) -> bool:
    """Return whether columns of these meanings name species, genera, families, orders or classes."""
    return has_names(found) or not set(_HIGHER).isdisjoint(found)


def _by_cells(columns: Mapping[str, tuple[str, ...]], sample: pd.DataFrame | None) -> dict[str, tuple[str, ...]]:
    """Return meaning -> columns: those of `either` by their cells, and no scientific names where the cells are none.

    Without a cell that looks so, a column stays one of scientific names unless another has better ones.
    """
    found = {meaning: list(names) for meaning, names in columns.items() if meaning != "either"}
    either = columns.get("either", ())
    cells = {
        name: [] if sample is None else [cell for cell in sample[name] if cell]
        for name in (*columns.get("scientific", ()), *either)
    }
    share = {name: sum(map(is_like_a_scientific_name, given)) / max(len(given), 1) for name, given in cells.items()}
    best = max(share.values(), default=0.0)
    stated = [name for name in columns.get("scientific", ()) if share[name] or best < 0.5]
    plain = []
    for name in either:
        n_epithets = sum(" " not in each and (each.islower() or each.isupper()) for each in cells[name])
        if "genus" in columns and n_epithets > share[name] * len(cells[name]):
            found.setdefault("epithet", []).append(name)
        elif share[name] >= 0.5:
            stated.append(name)
        else:
            plain.append(name)
    found["scientific"] = stated
    if not found.get("common") or not (stated or found.get("epithet")):
        found["common"] = [*found.get("common", ()), *plain]
    return {meaning: tuple(names) for meaning, names in found.items() if names}


def _scientific_column(rows: Sequence[Sequence[str]]) -> int | None:
    """Return the column of which nearly all cells are written like scientific names; None without one."""
    columns = [[cell for cell in cells if cell] for cells in zip(*rows, strict=True)]
    shares = [sum(map(is_like_a_scientific_name, cells)) / max(len(cells), 1) for cells in columns]
    best = max(shares, default=0.0)
    return shares.index(best) if best >= 0.8 else None


def _text_column(rows: Sequence[Sequence[str]]) -> int | None:
    """Return the one column with letters, beside counts for example; None if there are several."""
    found = [at for at, cells in enumerate(zip(*rows, strict=True)) if any(map(str.isalpha, "".join(cells)))]
    return found[0] if len(found) == 1 else None


def is_like_a_scientific_name(text: str) -> bool:
    """Return whether a text is written like a genus with an epithet."""
    return _SCIENTIFIC.match(text.capitalize() if text.isupper() or text.islower() else text) is not None


def with_genus(name: str, genus: str) -> str:
    """Return a name with its genus before it, where a table gives genus and epithet in two columns."""
    is_whole = " " in name and name.split()[0] == genus.lower()
    return f"{genus} {name}" if genus and name[:1].islower() and not is_whole else name


SEVERAL: Final = re.compile(r"[;|]")


def common_names_in(cell: str) -> tuple[str, ...]:
    """Return the common names in a cell.

    Bars, which Darwin Core recommends, and semicolons always separate names. Commas do where each part has two words or
    more: a part of one word belongs to an inverted name, which stays whole.

    Source: Darwin Core quick reference guide: "separate the values in a list with space vertical bar space".
    """
    found: list[str] = []
    for text in SEVERAL.split(cell):
        parts = [name for part in text.split(",") if (name := part.strip())]
        found += parts if all(len(part.split()) > 1 for part in parts) else [", ".join(parts)]
    return tuple(found)


def synonyms_in(cell: str) -> Iterator[str]:
    """Yield the names in a cell; a comma separates them where a binomial follows, not before a year or an author."""
    for text in SEVERAL.split(cell):
        name = ""
        for part in text.split(","):
            if name and parse_name(part.strip()).rank in ("species", "subspecies", "variety", "form"):
                yield name
                name = ""
            name = f"{name}, {part.strip()}" if name else part.strip()
        if name:
            yield name


_GENUS: Final = ("genericname", "genus")
_LOWEST: Final = ("infraspecificepithet", "subspecies")


def are_named_in_parts(columns: Collection[str]) -> bool:
    """Return whether a table (its headings folded) has columns of genus and epithet, or of single names."""
    has_binomial = not set(_GENUS).isdisjoint(columns) and not set(EPITHETS).isdisjoint(columns)
    return has_binomial or "uninomial" in columns


def name_from_parts(row: Mapping[str, str]) -> str:
    """Return the name composed of the columns of a row, or the lowest of its higher taxa; empty if it has none."""
    genus, epithet, lowest = (_first(row, keys) for keys in (_GENUS, EPITHETS, _LOWEST))
    if genus and epithet:
        rank = (row.get("taxonrank") or row.get("rank") or "").lower().rstrip(".")
        word = BELOW_SPECIES.get(rank, rank)
        marker = {"variety": "var.", "form": "f."}.get(word, "") if lowest else ""
        sign = "×" if row.get("notho", "").lower() == "specific" else ""
        return " ".join(filter(None, (genus, sign, epithet.lower(), marker, lowest.lower())))
    return row.get("uninomial") or genus or next((row[rank] for rank in LADDER[::-1] if row.get(rank)), "")


def _first(row: Mapping[str, str], keys: Collection[str]) -> str:
    return next((row[key] for key in keys if row.get(key)), "")
