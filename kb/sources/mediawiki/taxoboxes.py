"""Taxoboxes, the classification tables of articles on organisms; ranks and names as several languages write them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import itemgetter
from typing import Final, NamedTuple

from bs4 import Tag
from bs4.element import PageElement

from data.records import Infobox
from kb.checklist.names import ScientificName, parse_name

RANKS: Final = (
    "realm", "domain", "kingdom", "phylum", "division", "class", "subclass", "infraclass", "superorder", "order",
    "suborder", "infraorder", "parvorder", "superfamily", "family", "subfamily", "tribe", "subtribe", "genus",
    "subgenus", "species", "subspecies",
)  # fmt: skip
"""From the highest to the lowest."""
# Latin, German, French, Spanish, Italian, Portuguese, Dutch and Polish names.
OTHER_NAMES: Final[Mapping[str, str]] = {
    "regnum": "kingdom", "reich": "kingdom", "règne": "kingdom", "reino": "kingdom", "regno": "kingdom",
    "stamm": "phylum", "embranchement": "phylum", "filo": "phylum",
    "divisio": "division", "abteilung": "division", "división": "division", "divisione": "division",
    "classis": "class", "klasse": "class", "classe": "class", "clase": "class",
    "subclassis": "subclass", "superordo": "superorder", "subordo": "suborder", "infraordo": "infraorder",
    "ordo": "order", "ordnung": "order", "ordre": "order", "orden": "order", "ordine": "order", "ordem": "order",
    "superfamilia": "superfamily", "überfamilie": "superfamily",
    "familia": "family", "familie": "family", "famille": "family", "famiglia": "family", "família": "family",
    "subfamilia": "subfamily", "unterfamilie": "subfamily", "sous-famille": "subfamily",
    "tribus": "tribe", "tribu": "tribe", "subtribus": "subtribe",
    "gattung": "genus", "genre": "genus", "género": "genus", "gênero": "genus", "genere": "genus",
    "untergattung": "subgenus",
    "art": "species", "espèce": "species", "especie": "species", "specie": "species", "espécie": "species",
    "rijk": "kingdom", "orde": "order", "onderfamilie": "subfamily", "geslacht": "genus", "soort": "species",
    "ondersoort": "subspecies", "królestwo": "kingdom", "typ": "phylum", "gromada": "class", "rząd": "order",
    "rodzina": "family", "podrodzina": "subfamily", "rodzaj": "genus", "gatunek": "species", "podgatunek": "subspecies",
    "unterart": "subspecies", "sous-espèce": "subspecies", "sottospecie": "subspecies",
}  # fmt: skip
BELOW_GENUS: Final = frozenset(
    {
        *("section", "sectio", "subsection", "subsectio", "series", "subseries", "superspecies", "species complex"),
        *("species group", "species subgroup", "sektion", "serie", "artengruppe", "artenkomplex", "sección", "sezione"),
        *("seção", "sectie", "sekcja", "série", "complexe d'espèces"),
    }
)
"""Rows between genus and species."""
BELOW_SPECIES: Final[Mapping[str, str]] = {
    "subspecies": "", "infraspecies": "", "trinomial": "", "trinomial name": "", "nombre trinomial": "",
    **dict.fromkeys(("variety", "varietas", "varietät", "variété", "variedad", "varietà", "odmiana"), "var."),
    **dict.fromkeys(("form", "forma", "forme"), "f."),
}  # fmt: skip
"""Row of a taxon below the species -> marker in its name."""
CULTIVAR: Final = frozenset({"cultivar", "cultivar group", "cultivargroep", "sortengruppe", "sorte", "grex"})
_RANK_OF_NAME: Final = {
    "variety": "subspecies", "form": "subspecies", "section": "group", "subgenus": "group", "series": "group",
    "unnamed": "group",
}  # fmt: skip
"""Rank of a name -> rank of the page's taxon."""
_NO_NAME: Final = frozenset({"see", "siehe", "voir", "zie", "several", "many", "various", "unknown"})  # "see text"
_SHORT: Final = re.compile(r"[A-Z][a-z]{0,2}\.")
# The codes of nomenclature fix the endings of families; the other endings are only usual.
_FAMILY = re.compile(r"(?:idae|aceae)$")
_ENDINGS = (
    (re.compile(r"(?:inae|oideae)$"), "subfamily"), (re.compile(r"oidea$"), "superfamily"),
    (re.compile(r"(?:ini|[^c]eae)$"), "tribe"), (re.compile(r"(?:ales|iformes|ptera)$"), "order"),
)  # fmt: skip
_CALLED = re.compile(
    r"\b(?:is|are|was|were|comprises?|refers? to)\b[^.]{0,80}?\b(?P<rank>genus|family|order|class|phylum|kingdom|clade|"
    r"(?:sub|super|infra)(?:genus|family|order|class|tribe)|tribe)\b",
    re.IGNORECASE,
)


class StatedTaxon(NamedTuple):
    """The taxon that a page is about.

    `rank` is one of `RANKS`, or `hybrid`, `virus`, `cultivar`, `trace fossil` or `group` (of unknown rank); empty
    where the page states none.
    """

    rank: str = ""
    name: str = ""


NO_TAXON: Final = StatedTaxon()


def rank_named(word: str) -> str | None:
    """Return the English name of a rank in any of these languages, or None."""
    key = word.lower().rstrip(": ").strip()
    rank = OTHER_NAMES.get(key, key)
    return rank if rank in RANKS else None


def lowest(classification: Mapping[str, str]) -> StatedTaxon:
    """Return the taxon of the lowest rank in a classification."""
    return next((StatedTaxon(rank, classification[rank]) for rank in RANKS[::-1] if rank in classification), NO_TAXON)


def rank_of_group(name: str, lead: str, lists: str = "") -> str:
    """Return the rank of a group by its ending, the first sentence of its page, or the taxa that it lists."""
    if _FAMILY.search(name):
        return "family"
    if named := re.search(rf"\b(?P<rank>genus|family|order|class) {re.escape(name)}\b", lead[:400], re.IGNORECASE):
        return named["rank"].lower()
    if called := _CALLED.search(lead[:400]):
        return called["rank"].lower()
    if rank_named(lists) == "species":
        return "genus"
    return next((rank for ending, rank in _ENDINGS if ending.search(name)), "group")


def taxon_of_name(written: str, genus: str) -> StatedTaxon:
    """Return rank and name of the taxon with a written name; without a rank if it has one word."""
    found = _parsed(written, genus)
    if not found.text or _SHORT.fullmatch(found.text.split()[0]):
        return NO_TAXON
    if found.is_several and found.rank:
        return StatedTaxon("group", written)
    if "×" in found.text and found.rank == "species":
        return StatedTaxon("hybrid", found.text)
    return StatedTaxon(_RANK_OF_NAME.get(found.rank, found.rank), found.text)


def first_named(texts: Iterable[str], genus: str) -> StatedTaxon:
    """Return the taxon of the first text that is a name; `genus` is that of the page, for shortened names."""
    return next((taxon for text in texts if (taxon := taxon_of_name(text, genus)).rank), NO_TAXON)


def below_species(written: str, named: StatedTaxon, genus: str, marker: str = "") -> StatedTaxon:
    """Return the subspecies, variety or form of a species, of which a page may write the last word alone."""
    epithet = named.name.removeprefix(f"{genus} ") if genus and named.rank == "species" else ""
    found = _parsed(written, genus, epithet)
    if found.rank in ("subspecies", "variety", "form") and (not epithet or epithet in found.text.split()):
        return StatedTaxon("subspecies", found.text)
    return StatedTaxon("subspecies", " ".join(filter(None, (genus, epithet, marker, *written.split()[-1:]))))


def section_of_rows(rows: Mapping[str, str], genus: str) -> StatedTaxon:
    """Return the first group between genus and species in the rows of a taxobox, if any."""
    group = next((text for key, text in rows.items() if key in BELOW_GENUS and text), "")
    return StatedTaxon("group", taxon_of_name(group, genus).name or group) if genus and group else NO_TAXON


def parse_binomial(text: str) -> str | None:
    """Return genus and epithet of the name at the start of a text, or None; hybrid signs stay."""
    if not text.lstrip("†?×* ")[:1].isupper():
        return None
    found = parse_name(text)
    words = found.text.split()
    if found.rank not in ("species", "subspecies", "variety", "form") or found.is_several or _SHORT.fullmatch(words[0]):
        return None
    return " ".join(words[: 2 + words[:3].count("×")])


def _parsed(written: str, genus: str, epithet: str = "") -> ScientificName:
    words = written.strip(" †?*").split()
    if words and genus:
        if _SHORT.fullmatch(words[0]) and genus.startswith(words[0][0]):
            words[0] = genus
        elif not words[0][0].isupper() and not (words[0] == "×" and words[1:] and words[1][0].isupper()):
            words = [genus, *words] if words[0] not in _NO_NAME else []
        if len(words) > 1 and epithet and re.fullmatch(rf"{epithet[0]}[a-z]?\.", words[1]) and len(words) > 2:
            words[1] = epithet
    return parse_name(" ".join(words))


# tables in HTML

_CAPITALISED = re.compile(r"[A-Z][a-zà-ÿ-]+")
_LATIN_IN_BRACKETS = re.compile(r"\(([A-Z][a-z]+)\)")
_VIRUS = re.compile(r"virus\b", re.IGNORECASE)
_SPECIES_HEADINGS = frozenset({"species", "extant species"})
_BINOMIALS = (
    "binomial", "binomial name", "scientific name", "latin name", "wissenschaftlicher name", "nombre binomial",
    "nom binominal", "binome", "nome binomial",
)  # fmt: skip
"""Rows with the name of a species, the surest first."""


def find_taxobox(root: Tag) -> Tag | None:
    """Return the first taxobox below `root`, by its class or by the ranks in its rows."""
    kinds = ["biota", "taxobox", "taxobox_v3", "infobox", "portable-infobox"]
    for table in root.find_all(["table", "div", "aside"], class_=kinds):
        classes = set(table.get_attribute_list("class"))
        if classes & {"biota", "taxobox", "taxobox_v3"}:
            return table
        if table.name == "aside" and any(_is_species_row(row) for row in _rows(table)):
            return table
        if "infobox" in classes and (table.find(class_="binomial") or _looks_like_taxobox(table)):
            return table
    return None


def read_taxobox(table: Tag) -> Infobox:
    """Return the heading, classification, binomial and rows of a taxobox.

    A genus with a single species has the binomial of that species; other groups and subspecies have none.
    """
    rows = [row for row in _rows(table) if any(row.texts)]
    ranked = [(row.key, row.texts[1]) for row in rows if len(row.texts) == 2]
    headed = [(row.key, following.texts[0]) for row, following in pairwise(rows) if len(row.texts) == 1]
    box = Infobox(name=_heading(table), classification=dict(_classification(ranked)), rows=_named_rows(rows))
    return replace(box, binomial=_binomial(table, ranked, headed, box))


def stated_taxon(box: Infobox) -> StatedTaxon:
    """Return the taxon that a taxobox is about: its species, the group in its heading, or its lowest rank."""
    if box.binomial:
        return StatedTaxon("species", box.binomial)
    if _is_virus(box):
        return StatedTaxon("virus", box.name)
    rows = {key.lower(): text for key, text in box.rows.items()}
    binomials = [text for key, text in rows.items() if key in _BINOMIALS]
    stated = _taxon_of_rows([*rows.items()], binomials, box.classification)
    if stated.rank not in ("", "species"):  # a page without a binomial is not about the species that it names
        return stated
    if (section := section_of_rows(rows, box.classification.get("genus", ""))).rank:
        return section
    ranked = {rank: name for rank, name in box.classification.items() if rank != "clade"}
    headed = next((StatedTaxon(rank, name) for rank, name in ranked.items() if name == box.name), NO_TAXON)
    return headed if headed.rank else lowest(ranked)


def _taxon_of_rows(
    rows: Sequence[tuple[str, str]], binomials: Sequence[str], classification: Mapping[str, str]
) -> StatedTaxon:
    """Return the cultivar, subspecies or species that rows state.

    `binomials` are the names that the page has as such, the surest first.
    """
    english = {key: text for key, text in rows if key == "trinomial name"}  # the surest
    for key, text in rows:
        english.setdefault("subspecies" if rank_named(key) == "subspecies" else key, text)
    genus = classification.get("genus", "")
    named = first_named([*binomials, classification.get("species", "")], genus)
    if group := next((text for key, text in english.items() if key in CULTIVAR and text), ""):
        return StatedTaxon("cultivar", f"{named.name} {group}".strip())
    if lower := next((key for key, text in english.items() if key in BELOW_SPECIES and text), ""):
        return below_species(english[lower], named, genus, BELOW_SPECIES[lower])
    return named


def plain(tag: PageElement) -> str:
    """Return the text of a tag with single spaces."""
    return " ".join(tag.get_text().split())


def _is_species_row(row: _Row) -> bool:
    is_named = len(row.texts) == 2 and (row.key in _BINOMIALS or rank_named(row.key) == "species")
    return is_named and parse_binomial(row.texts[1]) is not None


def _looks_like_taxobox(table: Tag) -> bool:
    ranks = {rank_named(row.texts[0]) for row in _rows(table) if len(row.texts) == 2}
    return len(ranks & {"class", "order", "family", "genus", "species"}) >= 2


@dataclass(frozen=True, slots=True)
class _Row:
    texts: tuple[str, ...]
    is_heading: bool

    @property
    def key(self) -> str:
        return self.texts[0].lower().rstrip(": ")


def _rows(table: Tag) -> Iterator[_Row]:
    """Yield the texts of each row; a row with a nested table is replaced by the rows of that table.

    Rows of a portable infobox, as farms of wikis have them, are a label and a value.
    """
    for row in table.select("aside .pi-data"):
        cells = row.select(".pi-data-label, .pi-data-value")
        yield _Row(tuple(plain(cell) for cell in cells), False)
    for row in table.find_all("tr"):
        if row.find("table") is None:
            cells = row.find_all(["th", "td"])
            yield _Row(tuple(plain(cell) for cell in cells), bool(cells) and all(cell.name == "th" for cell in cells))


def _classification(ranked: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for key, text in ranked:
        rank = "clade" if key.startswith("clade") else rank_named(key)
        if rank is None or not text:
            continue
        if rank in ("species", "subspecies"):
            yield rank, text.lstrip("†? ").split(" (")[0]
        elif key != rank != "clade" and (found := _LATIN_IN_BRACKETS.search(text)):
            yield rank, found[1]
        elif found := _CAPITALISED.search(text):
            yield rank, found[0]


def _binomial(
    table: Tag, ranked: Sequence[tuple[str, str]], headed: Sequence[tuple[str, str]], box: Infobox
) -> str | None:
    if table.find(class_="trinomial") or _is_virus(box):
        return None
    marked = [plain(tag) for tag in table.find_all(class_="binomial")]
    binomials = [text for key, text in (*headed, *ranked) if key in _BINOMIALS]
    # Below other headings, such as "Subspecies", a page lists what belongs to its taxon.
    trinomials = [(key, text) for key, text in headed if key == "trinomial name"]
    stated = _taxon_of_rows([*ranked, *trinomials], [*marked, *binomials], box.classification)
    if stated.rank:
        return stated.name if stated.rank == "species" else None
    return _only_species(table)


def _is_virus(box: Infobox) -> bool:
    """Return whether a classification is that of a virus, in the old or the new style."""
    return "realm" in box.classification or _VIRUS.match(box.rows.get("(unranked)", "")) is not None


def _only_species(table: Tag) -> str | None:
    """Return the species of a genus that lists exactly one."""
    for heading in table.find_all("th"):
        if plain(heading).lower() not in _SPECIES_HEADINGS or not isinstance(heading.parent, Tag):
            continue
        following = heading.parent.find_next_sibling("tr")
        if isinstance(following, Tag):
            listed = {found for tag in following.find_all("i") if (found := parse_binomial(plain(tag)))}
            return listed.pop() if len(listed) == 1 else None
    return None


def _named_rows(rows: list[_Row]) -> dict[str, str]:
    """Return the rows of two cells by the first cell, and single rows by the heading above them."""
    named: dict[str, str] = {}
    for row in rows:
        if len(row.texts) == 2 and row.texts[0] and row.texts[1]:
            named.setdefault(row.texts[0].rstrip(": "), row.texts[1])
    for row, following in pairwise(rows):
        if row.is_heading and len(row.texts) == 1 and len(following.texts) == 1 and not following.is_heading:
            named.setdefault(row.texts[0].rstrip(": "), following.texts[0])
    return named


def _heading(table: Tag) -> str:
    """Return the first heading without small print and further blocks, which hold a fossil range."""
    first = table.find(class_=["entete", "pi-title"]) or table.find(["th", "caption"])
    text = ""
    for child in first.children if isinstance(first, Tag) else ():
        name = child.name if isinstance(child, Tag) else ""
        if name in ("br", "small", "div", "p", "table") and text.strip():
            break
        text += child.get_text() if name not in ("br", "small", "table") else ""
    return " ".join(text.split())


# templates in wikitext: what a look-up of 50 pages tells before any of them is fetched

_BOX = re.compile(
    r"speciesbox|subspeciesbox|infraspeciesbox|automatic taxobox|(?:population )?taxobox"
    r"(?: (?:début|taxon|begin|rijk|stam|klasse|orde|familie|geslacht|soort))?|hybridbox|virusbox|ichnobox|oobox|"
    r"paraphyletic group|infobox (?:species|fungus|cultivar|plant|taxon)|(?:infobox )?\w+ breed|ficha de taxón|"
    r"tassobox|info/taxonomia|(?:zwierzę|roślina|grzyb|takson|organizm) infobox"
)
"""Names of templates in small letters."""
MAX_NESTING = 40
"""Templates with more in one another stay in the prose."""
_KINDS: Final[Mapping[str, str]] = {
    "hybridbox": "hybrid", "virusbox": "virus", "ichnobox": "trace fossil", "oobox": "trace fossil",
    "infobox cultivar": "cultivar", "subspeciesbox": "subspecies", "infraspeciesbox": "subspecies",
    "population taxobox": "population",
}  # fmt: skip
"""Template -> kind of a subject that is no species."""
_GROUP_KEYS = ("taxon", "w-naam", "nazwa łacińska")
_INNERMOST = re.compile(r"\{\{((?:[^{}]|\{(?![{|])|\}(?!\}))*)\}\}|\{\|[^{}]*?\|\}", re.DOTALL)
"""A template, in which single braces may stand, or a table."""
_LINK = re.compile(r"\[\[(?:[^\[\]{}]*\|)?([^|\[\]{}]*)\]\]")
_GAP: Final = "\0"
TAG = re.compile(r"<[^<>]{1,200}>")
_ITALIC_BINOMIAL = re.compile(r"''+([A-Z][a-zà-ÿ-]*\.? [a-zà-ÿ-]{3,})''+")
Template = tuple[str, dict[str, str], list[str]]
"""Name, named parameters and positional ones."""


def split_wikitext(wikitext: str) -> tuple[list[Template], str]:
    """Return the templates in a text without comments and references, in its order, and the prose without them."""
    text = _LINK.sub(r"\1", _LINK.sub(r"\1", wikitext))  # links in the caption of a picture first
    found: list[tuple[int, Template]] = []

    def taken(match: re.Match[str]) -> str:
        if match[1] is not None:
            found.append((match.start(), _template(match[1])))
        return _GAP * len(match[0])

    for _ in range(MAX_NESTING):
        text, n_taken = _INNERMOST.subn(taken, text)
        if not n_taken:
            break
    prose = _LINK.sub(r"\1", text.replace(_GAP, ""))  # links with templates in them
    return [template for _, template in sorted(found, key=itemgetter(0))], prose


def _template(text: str) -> Template:
    values: dict[str, str] = {}
    cells: list[str] = []
    name, *parts = _LINK.sub(r"\1", text.replace(_GAP, "")).split("|")
    for part in parts:
        key, equals, value = part.partition("=")
        if equals:
            key = key.strip().lower().replace("_", " ")
            values.setdefault(key, _plain(value))
            values |= {"subdivision italic": value} if key == "subdivision" else {}
        else:
            cells.append(_plain(part))
    return " ".join(name.lower().replace("_", " ").split()), values, cells


def _plain(value: str) -> str:
    return " ".join(re.sub(r"''+", "", TAG.sub(" ", value)).replace("&nbsp;", " ").split())


def read_taxon(templates: Sequence[Template], lead: str) -> tuple[StatedTaxon, dict[str, str]] | None:
    """Return the taxon of the first taxobox and the ranks above it, as far as the template states them.

    Automatic taxoboxes state few. None without a taxobox; a template of unknown name is one if it names a species.

    Args:
        templates: of a page, in its order.
        lead: its first sentences.
    """
    found = [each for each in templates if _BOX.fullmatch(each[0])]
    is_known = bool(found)
    found = found or [each for each in templates if _may_name_a_species(each[1])][:1]
    if not found:
        return None
    name, values, _ = found[0]
    if name.endswith(" breed"):
        return StatedTaxon("cultivar", values.get("name", "")), {}
    for word, text in _ranked(found):
        if text and (rank := rank_named(word)):
            values["binomial" if rank == "species" else rank] = text
    above = dict(_classification(values.items()))
    taxon = _taxon_of_template(name, values, above, lead)
    if not is_known and taxon.rank != "species":
        return None
    if taxon.rank == "species":
        above["genus"] = taxon.name.split()[0]
    lower = ("species", "subspecies", taxon.rank)
    return taxon, {rank: above[rank] for rank in RANKS if rank in above and rank not in lower}


def _may_name_a_species(values: Mapping[str, str]) -> bool:
    return bool({"taxon", *_BINOMIALS} & values.keys()) or {"genus", "species"} <= values.keys()


def _taxon_of_template(name: str, values: Mapping[str, str], above: Mapping[str, str], lead: str) -> StatedTaxon:
    genus = above.get("genus", "")
    texts = [values[key] for key in (*_BINOMIALS, *_GROUP_KEYS) if values.get(key)]
    given, named = next(iter(texts), ""), first_named([*texts, above.get("species", "")], genus)
    kind = _KINDS.get(name)
    if kind not in (None, "subspecies"):
        return StatedTaxon(kind or "", given or values.get("trinomial", "") or named.name or values.get("name", ""))
    stated = _taxon_of_rows([*values.items()], texts, above)
    if kind == "subspecies" and stated == named:
        return below_species(given, named, genus)
    if stated.rank:
        return stated
    if only := _only_listed(values):
        return StatedTaxon("species", only)
    group = next((values[key] for key in _GROUP_KEYS if values.get(key)), "")
    if named_group := re.fullmatch(r"[†?\s]*([A-Z][a-zà-ÿ-]+)(?: \([^()A-Z]*\)|/.*)?", group):
        return StatedTaxon(rank_of_group(named_group[1], lead, values.get("subdivision ranks", "")), named_group[1])
    if group:  # a subgenus: Bombus (Pyrobombus)
        return StatedTaxon("group", group)
    if (section := section_of_rows(values, genus)).rank:
        return section
    return lowest({rank: taxon for rank, taxon in above.items() if rank not in ("species", "subspecies", "clade")})


def _ranked(found: Sequence[Template]) -> Iterator[tuple[str, str]]:
    """Yield rank and name where a value (Taxon2_Rang), a cell or the template's name states the rank."""
    for name, values, cells in found:
        for number in ("", *map(str, range(2, 9))):
            yield values.get(f"taxon{number} rang", ""), values.get(f"taxon{number} wissname", "")
        if name in ("taxobox", "taxobox taxon"):  # {{Taxobox taxon | animal | espèce | X y | author}}
            first = int(name == "taxobox taxon")
            yield (cells[first], cells[first + 1]) if len(cells) > first + 1 else ("", "")
        else:
            yield name.removeprefix("taxobox "), " ".join(cells)


def _only_listed(values: Mapping[str, str]) -> str | None:
    """Return the species of a genus that lists exactly one."""
    listed = set(_ITALIC_BINOMIAL.findall(values.get("subdivision italic", "")))
    if rank_named(values.get("subdivision ranks", "")) != "species" or len(listed) != 1:
        return None
    only = listed.pop()
    group = _CAPITALISED.match(values.get("taxon") or values.get("genus", ""))
    return f"{group[0]} {only.split()[1]}" if group and only[0] == group[0][0] else None
