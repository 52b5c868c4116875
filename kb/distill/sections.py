"""Kinds of sections, by their headings and the headings above them."""

from __future__ import annotations

import re
from enum import Enum

from data.lexicon.tables import BIRDS
from data.records import Article, Section


class SectionKind(Enum):
    """Kind of a section, by its value for a summary of looks."""

    LEAD = "lead"
    LOOKS = "looks"
    NEUTRAL = "neutral"
    OTHER = "other"
    """Behaviour, range, names: looks are mentioned in passing."""
    NEVER = "never"
    """References, galleries, sounds: never used."""


_LOOKS = re.compile(
    r"descri|appearance|characteri|identif|plumage|morpholog|field ?mark|physical|anatom|\bfeatures|colou?ration|"
    r"\bsize\b|dimorphism|external|\blooks?\b|pelage|\bmorphs?\b|differences|similar species|lookalike",
    re.IGNORECASE,
)
_NEVER = re.compile(
    r"referenc|external links|further reading|see also|gallery|^notes$|bibliograph|sources?$|cited|citation|footnote|"
    r"literature|\bvoice|vocal|\bsongs?\b|\bcalls?\b|\bsounds?\b|stamps",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"distribut|\brange\b|habitat|breed|nest|reproduc|behavi|ecolog|food|feed|forag|diet|taxonom|systemat|classif|"
    r"etymolog|nam(?:es?|ing)\b|status|conserv|threat|relation|culture|human|histor|phylogen|evolution|fossil|parasit|predat|"
    r"moult|molt|migrat|movement|population|avicult|captiv|vagran|mortality|physiolog|life ?cycle|biology|"
    r"habits|hybrid|uses?$",
    re.IGNORECASE,
)

# Headings of other groups than birds.
_LOOKS_ELSEWHERE = re.compile(
    r"^imago$|\badults?$|^(?:upper|under)sides?$|^habit$|macroscopic|fruit(?:ing)? ?bod|(?:basidio|asco|sporo)carps?|"
    r"^shell$",
    re.IGNORECASE,
)
_PARTS_ELSEWHERE = re.compile(  # also on food, flowering and growth
    r"^(?:early stages?|larvae?|caterpillars?|pupae?|chrysali(?:s|des)|nymphs?|tadpoles?|instars?|juveniles?|"
    r"(?:fe)?males?|flowers?|inflorescences?|fruits?|seeds?|leaves|leaf|foliage|stems?|bark|cap|gills?|stipe|thallus|skin|shell)"
    r"(?: and [a-z]+)?$",
    re.IGNORECASE,
)
_OTHER_ELSEWHERE = re.compile(
    r"host|food ?plant|flight|cultivation|toxic|poison|edib|microscop|spores?\b|chemi|pollinat|pest|econom|"
    r"life history|physiolog|jumping|respir|digest|circulat|nervous|genetic|genom|echolocation|communic|venom|"
    r"medic|horticult",
    re.IGNORECASE,
)


def section_kinds(article: Article, group: str = BIRDS) -> list[SectionKind]:
    """Return the kind of every section of an article, in order: its own heading decides, then the headings above it."""
    kinds: list[SectionKind] = []
    above: list[tuple[int, SectionKind]] = []
    for section in article.sections:
        while above and above[-1][0] >= section.level:
            above.pop()
        parent = above[-1][1] if above else SectionKind.NEUTRAL
        kind = _kind(section, parent, group)
        above.append((section.level, kind if kind is not SectionKind.LEAD else SectionKind.NEUTRAL))
        kinds.append(kind)
    return kinds


def _kind(section: Section, parent: SectionKind, group: str) -> SectionKind:
    if section.level == 1 and not section.title:
        return SectionKind.LEAD
    if parent is SectionKind.NEVER or _NEVER.search(section.title):
        return SectionKind.NEVER
    if group != BIRDS:  # read as measured
        if _OTHER_ELSEWHERE.search(section.title) and not _LOOKS.search(section.title):
            return SectionKind.OTHER
        if _LOOKS_ELSEWHERE.search(section.title):
            return SectionKind.LOOKS
        if _PARTS_ELSEWHERE.search(section.title):
            return SectionKind.LOOKS if parent is SectionKind.LOOKS else SectionKind.NEUTRAL
    if _LOOKS.search(section.title):
        return SectionKind.LOOKS
    if _OTHER.search(section.title):
        return SectionKind.OTHER
    return parent
