"""Topic of a page, from the beginning of its wikitext or article, and its match with a taxon."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from typing import Final

from data.records import Article, Taxon
from kb.checklist.avilist import english_groups
from kb.checklist.names import epithet_stem, fold
from kb.sources.mediawiki.taxoboxes import (
    BELOW_SPECIES,
    NO_TAXON,
    RANKS,
    StatedTaxon,
    below_species,
    first_named,
    lowest,
    parse_binomial,
    rank_named,
    rank_of_group,
    section_of_rows,
    stated_taxon,
    taxon_of_rows,
)

_START = re.compile(
    r"\{\{\s*(?P<name>speciesbox|subspeciesbox|infraspeciesbox|automatic[ _]taxobox|(?:population[ _])?taxobox"
    r"(?:[ _](?:début|taxon|begin|rijk|stam|klasse|orde|familie|geslacht|soort))?|hybridbox|virusbox|ichnobox|"
    r"oobox|paraphyletic[ _]group|infobox[ _](?:species|fungus|cultivar|plant|taxon)|(?:infobox[ _])?\w+[ _]breed|"
    r"ficha[ _]de[ _]taxón|tassobox|info/taxonomia|(?:zwierzę|roślina|grzyb|takson|organizm)[ _]infobox)\s*(?=[|}\n])",
    re.IGNORECASE,
)
_KINDS: Final[Mapping[str, str]] = {
    "hybridbox": "hybrid", "virusbox": "virus", "ichnobox": "trace fossil", "oobox": "trace fossil",
    "infobox cultivar": "cultivar", "subspeciesbox": "subspecies", "infraspeciesbox": "subspecies",
    "population taxobox": "population",
}  # fmt: skip
"""Template -> kind of a subject that is no species."""
_BINOMIAL_KEYS = ("binomial", "binome", "nome binomial", "nome_binomial")
_INNERMOST = re.compile(r"\{\{[^{}]*\}\}")
_LINK = re.compile(r"\[\[(?:[^|\[\]]*\|)?([^|\[\]]*)\]\]")
_TAG = re.compile(r"<[^<>]{1,200}>")
_CAPITALISED = re.compile(r"[A-Z][a-zà-ÿ-]+")
_ITALIC_BINOMIAL = re.compile(r"''+([A-Z][a-zà-ÿ-]*\.? [a-zà-ÿ-]{3,})''+")
Template = tuple[str, Mapping[str, str], Sequence[str]]
"""Name, named parameters and positional ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """The taxobox of a page, as its wikitext has it."""

    taxon: StatedTaxon = NO_TAXON
    lineage: Mapping[str, str] = field(default_factory=dict)
    """Rank -> name, as far as the template states them; automatic taxoboxes state few."""


def read_box(wikitext: str, lead: str) -> Box | None:
    """Return the first taxobox in wikitext without comments and references, or None; `lead` is its first sentences."""
    found = list(_templates(wikitext))
    if not found:
        return None
    name, values, _ = found[0]
    if name.endswith(" breed"):
        return Box(taxon=StatedTaxon("cultivar", values.get("name", "")))
    if name == "taxobox début":
        values = {**values, **_french(found)}
    elif name == "taxobox begin":
        values = {**values, **_dutch(found)}
    elif "taxon_wissname" in values:
        values = {**values, **_german(values)}
    elif own := values.get("w-naam") or values.get("nazwa łacińska"):  # Dutch, Polish
        values = {**values, "taxon": own}
    lineage = _lineage(values)
    taxon = _taxon(name, values, lineage, lead)
    if taxon.rank == "species":
        lineage["genus"] = taxon.name.split()[0]
    return Box(taxon=taxon, lineage={rank: lineage[rank] for rank in RANKS if rank in lineage and rank != taxon.rank})


def _taxon(name: str, values: Mapping[str, str], lineage: Mapping[str, str], lead: str) -> StatedTaxon:
    capitalised = _CAPITALISED.search(values.get("genus", ""))
    genus = capitalised[0] if capitalised else ""
    texts = [values[key] for key in (*_BINOMIAL_KEYS, "taxon") if values.get(key)]
    given = texts[0] if texts else ""
    if genus and values.get("species"):
        texts.append(values["species"])
    named = first_named(texts, genus)
    kind = _KINDS.get(name)
    if kind not in (None, "subspecies"):
        return StatedTaxon(kind or "", given or values.get("trinomial", "") or named.name or values.get("name", ""))
    # Parameters are written in any order.
    ordered = {key: values[key] for key in BELOW_SPECIES if key in values} | dict(values)
    stated = taxon_of_rows(ordered, named, genus)
    if kind == "subspecies" and stated == named:
        return below_species(given, named, genus)
    if stated.rank:
        return stated
    if only := _only_listed(values):
        return StatedTaxon("species", only)
    if named_group := re.fullmatch(r"[†?\s]*([A-Z][a-zà-ÿ-]+)(?: \([^()A-Z]*\)|/.*)?", values.get("taxon", "")):
        lists = values.get("subdivision_ranks", "")
        return StatedTaxon(rank_of_group(named_group[1], lead, lists), named_group[1])
    if values.get("taxon"):  # a subgenus: Bombus (Pyrobombus)
        return StatedTaxon("group", values["taxon"])
    if (section := section_of_rows(values, genus)).rank:
        return section
    return lowest({rank: taxon for rank, taxon in lineage.items() if rank not in ("species", "subspecies")})


def _only_listed(values: Mapping[str, str]) -> str | None:
    """Return the species of a genus that lists exactly one."""
    listed = set(_ITALIC_BINOMIAL.findall(values.get("subdivision italic", "")))
    if rank_named(values.get("subdivision_ranks", "")) != "species" or len(listed) != 1:
        return None
    only = listed.pop()
    group = _CAPITALISED.match(values.get("taxon") or values.get("genus", ""))
    return f"{group[0]} {only.split()[1]}" if group and only[0] == group[0][0] else None


def _lineage(values: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in values.items():
        rank = rank_named(key)
        name = _CAPITALISED.match(value.lstrip("†?× ")) if rank is not None else None
        if rank is not None and name is not None and rank not in ("species", "subspecies"):
            found.setdefault(rank, name[0])
    return found


def _german(values: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters of a German taxobox under our names: Taxon_Rang, Taxon2_WissName."""
    found: dict[str, str] = {}
    for number in ("", *map(str, range(2, 9))):
        rank, name = values.get(f"taxon{number}_rang", ""), values.get(f"taxon{number}_wissname", "")
        if rank and name:
            found["binomial" if not number and rank_named(rank) == "species" else rank.lower()] = name
    return found


def _french(found: Sequence[Template]) -> dict[str, str]:
    """Return rank -> name of {{Taxobox | famille | X}} and {{Taxobox taxon | animal | espèce | X y | author}}."""
    ranks = {}
    for name, _, cells in found:
        pair = cells[:2] if name == "taxobox" else cells[1:3] if name == "taxobox taxon" else []
        if len(pair) == 2 and (rank := rank_named(pair[0])):
            ranks["binomial" if rank == "species" else rank] = pair[1]
    return ranks


def _dutch(found: Sequence[Template]) -> dict[str, str]:
    """Return rank -> name of {{Taxobox familie | Ranidae}} and {{Taxobox soort | Rana | temporaria}}."""
    ranks = {}
    for name, _, cells in found:
        if cells and (rank := rank_named(name.removeprefix("taxobox "))):
            ranks["binomial" if rank == "species" else rank] = " ".join(cells)
    return ranks


def _templates(text: str) -> Iterator[Template]:
    """Yield name, named parameters and positional ones of each taxobox template, their values as plain text."""
    for start in _START.finditer(text):
        values: dict[str, str] = {}
        cells: list[str] = []
        for part in list(_parts(text, start.end()))[1:]:
            key, equals, value = part.partition("=")
            if equals and "[" not in key and "{" not in key:
                values.setdefault(key.strip().lower(), _plain(value))
                if key.strip() == "subdivision":
                    values["subdivision italic"] = _LINK.sub(r"\1", value)
            else:
                cells.append(_plain(part))
        yield start["name"].lower().replace("_", " "), values, cells


def _parts(text: str, at: int) -> Iterator[str]:
    """Yield the parameters of a template from the end of its name, with the templates and links in them."""
    depth, begin, i = 0, at, at
    while i < len(text):
        two = text[i : i + 2]
        if two in ("{{", "[["):
            depth, i = depth + 1, i + 2
        elif two in ("}}", "]]"):
            if depth == 0:
                break
            depth, i = depth - 1, i + 2
        else:
            if text[i] == "|" and depth == 0:
                yield text[begin:i]
                begin = i + 1
            i += 1
    yield text[begin:i]


def _plain(value: str) -> str:
    for _ in range(5):
        value, n_removed = _INNERMOST.subn("", value)
        if not n_removed:
            break
    flat = _TAG.sub(" ", _LINK.sub(r"\1", value))
    return " ".join(re.sub(r"''+", "", flat).replace("&nbsp;", " ").split())


LEAD_CHARACTERS = 1500
FIRST_SENTENCE_CHARACTERS = 350

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_REFERENCE = re.compile(r"<ref\b[^<>]*?/>|<ref\b[^<>]*>.*?</ref>", re.DOTALL | re.IGNORECASE)
_FILE_LINK = re.compile(r"\[\[(?:File|Image|Datei|Fichier|Archivo):(?:[^\[\]]|\[\[[^\[\]]*\]\])*\]\]", re.IGNORECASE)
_PARAMETER = re.compile(r"\|\s*([a-z_ ]+?)\s*=\s*([^|\n}]*)", re.IGNORECASE)
_INNERMOST_TEMPLATE = re.compile(r"\{\{[^{}]*\}\}|\{\|[^{}]*?\|\}", re.DOTALL)
_ITALIC = re.compile(r"''+([A-Z][^'\n]{3,80}?)''+")
_IN_ITALICS = re.compile(r"(?<!')(?:''|'{5})([A-Z][^'\n]{3,80}?)(?:''|'{5})(?!')")  # not in bold alone
_BRACKETED = re.compile(r"\(([A-Z][a-zà-ÿ-]+ [a-zà-ÿ-]{3,})[,;)]")
_DRAWN_BOX = 'class="infobox biota'
_DISAMBIGUATION = re.compile(
    r"__DISAMBIG__"
    r"|\{\{\s*(?:disambig(?:uation)?|dab|hndis|geodis|surname|given name|animal common name|sia|set index article)\b"
    r"|\b(?:may|can|could|might) (?:also )?refer(?: to)?(?: any of)?(?: the following)?\s*:",
    re.IGNORECASE,
)
_PREDICATE = re.compile(r"\b(?:is|are|was|were)\s+(.{3,200})", re.DOTALL)
_VERB = re.compile(r"\b(?:is|are|was|were)\b")
_OF_A_KIND = re.compile(
    r"\b(?:species|kind|type|member|one|any|form|subspecies)\b(?: \w+)? of\b|\bone of\b", re.IGNORECASE
)
# The kind of thing ends before these words: "a basin in which birds bathe".
_END_OF_KIND = re.compile(r"[,;:.(]|\b(?:of|in|which|that|who|where|for|with|from|on|by|found|native|used|worn|made)\b")
_BIRD_WORDS = frozenset(
    {"bird", "passerine", "songbird", "waterbird", "seabird", "waterfowl", "raptor", "aves", "fowl"}
)


class Match(IntEnum):
    """Certainty that a page is about a taxon; higher is surer."""

    NO = 0
    NAME = 1
    """The title matches, and the text is about a bird or names the genus, family or order."""
    MENTION = 2
    """The title matches, and the lead names the binomial or the taxobox has a former one; or, without a taxobox, the
    first binomial of the lead is a synonym."""
    LEAD = 3
    """Without a taxobox, the first binomial of the lead is that of the taxon."""
    SYNONYM = 4
    """The taxobox has a synonym of the binomial."""
    BINOMIAL = 5
    """The taxobox has the binomial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clues:
    """Facts about the subject from the beginning of a page."""

    binomial: str | None = None
    """The taxobox's."""
    has_taxobox: bool = False
    taxon: StatedTaxon = NO_TAXON
    """The taxon that the taxobox is about, with its rank."""
    lineage: Mapping[str, str] = field(default_factory=dict)
    """Rank -> name of the taxa above, as far as the taxobox states them."""
    lead: str = ""
    """The first sentences as plain text."""
    lead_binomials: tuple[str, ...] = ()
    """In the order of the first sentences."""
    subject_binomial: str | None = None
    """Without a taxobox: a binomial in italics before the first verb, so that of the subject, not of its food."""
    is_disambiguation: bool = False

    @property
    def class_name(self) -> str | None:
        """Class that the taxobox states."""
        return self.lineage.get("class")

    @property
    def best_binomial(self) -> str | None:
        """The taxobox's binomial, or without a taxobox the first of the lead."""
        return self.binomial or (None if self.has_taxobox else next(iter(self.lead_binomials), None))

    @property
    def is_about_birds(self) -> bool:
        """Whether the page is about birds, or has a taxobox without a class."""
        if self.class_name:
            return self.class_name.lower() == "aves"
        return self.has_taxobox or bool(self.lead_binomials) or is_called_a_bird(self.lead)


def clues_from_wikitext(wikitext: str, *, is_disambiguation: bool = False) -> Clues:
    """Return the clues in the first section of a page's wikitext."""
    text = _FILE_LINK.sub("", _REFERENCE.sub("", _COMMENT.sub("", wikitext)))
    flat = _LINK.sub(r"\1", text)
    prose = flat
    for _ in range(20):  # nested templates; each pass removes the innermost
        prose, n_removed = _INNERMOST_TEMPLATE.subn("", prose)
        if not n_removed:
            break
    prose = " ".join(_TAG.sub(" ", prose).split())[:LEAD_CHARACTERS]
    italic = [match[1] for match in _ITALIC.finditer(prose[:FIRST_SENTENCE_CHARACTERS])]
    lead = prose.replace("'''", "").replace("''", "")
    box = read_box(text, lead)
    if box is None and (binomial := _binomial_of_any_template(flat)):
        box = Box(taxon=StatedTaxon("species", binomial), lineage={"genus": binomial.split()[0]})
    has_taxobox = box is not None or _DRAWN_BOX in text.lower()
    before_verb = _VERB.split(prose, maxsplit=1)[0]
    named = () if has_taxobox else _binomials(_IN_ITALICS.findall(before_verb))
    box = box or Box()
    return Clues(
        binomial=box.taxon.name if box.taxon.rank == "species" else None,
        has_taxobox=has_taxobox,
        taxon=box.taxon,
        lineage=box.lineage,
        lead=lead,
        lead_binomials=_binomials([*italic, *_BRACKETED.findall(lead[:FIRST_SENTENCE_CHARACTERS])]),
        subject_binomial=next(iter(named), None),
        is_disambiguation=(is_disambiguation or _DISAMBIGUATION.search(text) is not None) and not has_taxobox,
    )


def clues_from_article(article: Article) -> Clues:
    """Return the clues in a parsed article: its taxobox and its lead."""
    lead = article.text[:LEAD_CHARACTERS]
    box = article.infobox
    return Clues(
        binomial=box.binomial if box else None,
        has_taxobox=box is not None,
        taxon=stated_taxon(box) if box else NO_TAXON,
        lineage=dict(box.classification) if box else {},
        lead=lead,
        lead_binomials=_binomials(_BRACKETED.findall(lead[:FIRST_SENTENCE_CHARACTERS])),
        is_disambiguation=article.is_disambiguation,
    )


def match_page(clues: Clues, taxon: Taxon, titles: tuple[str, ...]) -> Match:
    """Return how surely a page is about a species, by its clues and its titles, the page's own title first."""
    if clues.is_disambiguation:
        return Match.NO
    stated = clues.binomial
    if stated == taxon.scientific_name:
        return Match.BINOMIAL
    if stated in taxon.synonyms:
        return Match.SYNONYM
    names = {fold(name) for name in taxon.names}
    has_title = any(fold(without_qualifier(title)) in names for title in titles)
    if stated is not None:
        is_renamed = has_title and (
            epithet_stem(stated) == epithet_stem(taxon.scientific_name)
            or (
                stated.split()[0] == taxon.scientific_name.split()[0]
                and fold(without_qualifier(titles[0])) == fold(taxon.common_name)
            )
        )
        return Match.MENTION if is_renamed else Match.NO
    accepted = (taxon.scientific_name, *taxon.synonyms)
    if not clues.has_taxobox and clues.lead_binomials and clues.lead_binomials[0] in accepted:
        return Match.LEAD if clues.lead_binomials[0] == taxon.scientific_name else Match.MENTION
    if not has_title:
        return Match.NO
    if any(binomial in clues.lead for binomial in accepted):
        return Match.MENTION
    if clues.lead_binomials and not clues.has_taxobox:
        return Match.NO
    above = [taxon.lineage[rank] for rank in ("genus", "family", "order") if rank in taxon.lineage]
    is_kin = any(re.search(rf"\b{re.escape(name)}\b", clues.lead) for name in above)
    is_bird = taxon.lineage.get("class") == "Aves" and (
        clues.class_name.lower() == "aves" if clues.class_name else is_called_a_bird(clues.lead)
    )
    is_unclassified = clues.has_taxobox and clues.class_name is None and bool(clues.lead)
    return Match.NAME if is_kin or is_bird or is_unclassified else Match.NO


def without_qualifier(title: str) -> str:
    """Return a title without a bracketed qualifier for animals."""
    return re.sub(r" \((?:bird|birds|species|animal|passerine|parrot|duck|owl|wader|seabird|raptor)\)$", "", title)


def is_called_a_bird(lead: str) -> bool:
    """Return whether the first definition in a text ("X is a ...") is that of a bird."""
    match = _PREDICATE.search(lead)
    if match is None:
        return False
    kind = _END_OF_KIND.split(_OF_A_KIND.sub(" ", match[1]), maxsplit=1)[0].lower()
    words = {word.removesuffix("s") for word in re.findall(r"[a-z]{3,}", kind)}
    return not words.isdisjoint(_BIRD_WORDS | _group_words())


@cache
def _group_words() -> frozenset[str]:
    """Return the English names of groups of birds, as single words in the singular."""
    words = {
        word
        for names in english_groups().values()
        for name in names
        for word in re.findall(r"[a-z]{4,}s\b", name.lower())
    }
    too_common = {"rails", "divers", "allies", "rollers", "monarchs", "darters", "cranes", "cardinals", "tits"}
    return frozenset(word.removesuffix("s") for word in words - too_common)


def _binomial_of_any_template(flat: str) -> str | None:
    """Return the binomial in the parameters of a template that is not known as a taxobox."""
    values: dict[str, str] = {}
    for key, value in _PARAMETER.findall(flat.replace("'''", "''").replace("''", "")):
        values.setdefault(key.lower().strip(), value.strip())  # the taxobox precedes other templates
    for key in ("binomial", "taxon"):
        if found := parse_binomial(values.get(key, "")):
            return found
    if values.get("subspecies") or values.get("trinomial"):
        return None
    genus, species = re.search(r"[A-Z][a-zà-ÿ-]+", values.get("genus", "")), values.get("species", "").strip(" †?")
    if genus and species:
        return parse_binomial(f"{genus[0]} {species.split(' (')[0].split()[-1]}")
    return None


def _binomials(texts: list[str]) -> tuple[str, ...]:
    found = [parse_binomial(text.strip()) for text in texts if len(text.split()) <= 3]
    return tuple(dict.fromkeys(filter(None, found)))
