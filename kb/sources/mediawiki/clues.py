"""Topic of a page, from the beginning of its wikitext, and its match with a taxon."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache

from data.lexicon.words import english_groups
from data.records import Taxon
from kb.checklist.names import epithet_stem, fold
from kb.sources.mediawiki.taxoboxes import NO_TAXON, TAG, StatedTaxon, parse_binomial, read_taxon, split_wikitext

LEAD_CHARACTERS = 1500
FIRST_SENTENCE_CHARACTERS = 350

COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_REFERENCE = re.compile(r"<ref\b[^<>]*?/>|<ref\b[^<>]*>.*?</ref>", re.DOTALL | re.IGNORECASE)
_FILE_LINK = re.compile(r"\[\[(?:File|Image|Datei|Fichier|Archivo):(?:[^\[\]]|\[\[[^\[\]]*\]\])*\]\]", re.IGNORECASE)
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
    def is_of_a_bird(self) -> bool:
        """Whether the taxobox states birds as the class, or, stating none, the first definition is that of a bird."""
        return self.class_name.lower() == "aves" if self.class_name else is_called_a_bird(self.lead)


def clues_from_wikitext(wikitext: str, *, is_disambiguation: bool = False) -> Clues:
    """Return the clues in the first section of a page's wikitext."""
    text = _FILE_LINK.sub("", _REFERENCE.sub("", COMMENT.sub("", wikitext)))
    templates, prose = split_wikitext(text)
    prose = " ".join(TAG.sub(" ", prose).split())[:LEAD_CHARACTERS]
    italic = [match[1] for match in _ITALIC.finditer(prose[:FIRST_SENTENCE_CHARACTERS])]
    lead = prose.replace("'''", "").replace("''", "")
    box = read_taxon(templates, lead)
    has_taxobox = box is not None or _DRAWN_BOX in text.lower()
    before_verb = _VERB.split(prose, maxsplit=1)[0]
    named = () if has_taxobox else _binomials(_IN_ITALICS.findall(before_verb))
    taxon, lineage = box or (NO_TAXON, {})
    return Clues(
        binomial=taxon.name if taxon.rank == "species" else None,
        has_taxobox=has_taxobox,
        taxon=taxon,
        lineage=lineage,
        lead=lead,
        lead_binomials=_binomials([*italic, *_BRACKETED.findall(lead[:FIRST_SENTENCE_CHARACTERS])]),
        subject_binomial=next(iter(named), None),
        is_disambiguation=(is_disambiguation or _DISAMBIGUATION.search(text) is not None) and not has_taxobox,
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
    has_title = any(fold(bird_name(title)) in names for title in titles)
    if stated is not None:
        is_renamed = has_title and (
            epithet_stem(stated) == epithet_stem(taxon.scientific_name)
            or (
                stated.split()[0] == taxon.scientific_name.split()[0]
                and fold(bird_name(titles[0])) == fold(taxon.common_name)
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
    is_bird = taxon.lineage.get("class") == "Aves" and clues.is_of_a_bird
    is_unclassified = clues.has_taxobox and clues.class_name is None and bool(clues.lead)
    return Match.NAME if is_kin or is_bird or is_unclassified else Match.NO


def bird_name(title: str) -> str:
    """Return a title without a qualifier for animals; others stay, as in "Merlin (film)"."""
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


def _binomials(texts: list[str]) -> tuple[str, ...]:
    found = [parse_binomial(text.strip()) for text in texts if len(text.split()) <= 3]
    return tuple(dict.fromkeys(filter(None, found)))
