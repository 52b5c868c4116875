"""Range statements of a text: places, with role and months, each with its sentence.

A place counts only in a sentence on the range of the species: one with a word such as "breeds", "found" or "vagrant", a
list of places, or a line of a list of subspecies. Names of birds ("Canada goose") and of institutions are no places.
Where the text says no more, the species `occurs`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Final

from data.places.gazetteer import canonical_name, direction_of, names_as_written
from data.records import RangeFact, RangeRole
from kb.checklist.avilist import english_groups
from kb.distill.sentences import split_sentences

CUES: Final[tuple[tuple[RangeRole, str], ...]] = (
    (
        "absent",
        r"absent (?:from|in)|absence (?:from|in)|missing from|extinct in|(?:extirpated|exterminated) (?:from|in)|"
        r"disappeared from|"
        r"died out|except(?: for| in| from)?|excepting|apart from|excluding|but not|"
        r"formerly(?! (?:known|described|noted|called|regarded|considered|treated|placed|classified))|"
        r"no longer|(?:is|are|does|do|was|were|has|have) (?:not|never)(?: been)? "
        r"(?:\w+ )?(?:found|occur|breed|nest|recorded|present|known|seen|reach)\w*|not (?:found|present|recorded) in",
    ),
    (
        "vagrant",
        r"vagran\w+|accidental(?:ly)?|straggler\w*|strays?|strayed|rare visitors?|rare winter visitors?|"
        r"recorded (?:once|twice|as far)|(?:few|single|isolated|occasional) records?|records have come|"
        r"sight(?:ed|ings?) (?:in|from)",
    ),
    ("introduced", r"introduc\w+|naturali[sz]ed|feral|escape[ds]?|escapees?|released"),
    ("passage", r"passage|migrat\w+ (?:through|across|over)|pass(?:es|ing)? through|on migration|stop ?over"),
    (
        "winters",
        r"(?<!mid-)winter(?:s|ed|ing)?|over-?winter\w*|non-?breeding|migrat\w+ (?:\w+ )?(?:to|into|towards?)|"
        r"mov(?:es?|ing) (?:\w+ )?south\w*(?: \w+)? (?:to|into)",
    ),
    (
        "resident",
        r"(?:breeding )?residents?(?: breed\w+)?|sedentary|non-?migratory|year-?round|all year|permanent|endemics?",
    ),
    ("breeds", r"breed(?:s|ing|ers?)?|(?<!captive-)bred|nest(?:s|ed|ing)?|summers? (?:in|visitors?)|summering"),
    (
        "occurs",
        r"found|occurs?|occurring|inhabits?|inhabiting|lives?|living|rang(?:es?|ing)|distribut\w+|native|common|commonest|"
        r"uncommon|widespread|rare|local|abundant|present|seen|populations?|extends?|extending|recorded|spread|habitats?|"
        r"numerous|known (?:from|in)|species of (?:bird|birds)|throughout|confined|restricted|stronghold|subspecies",
    ),
)
CUE = re.compile("|".join(rf"(?P<{role}>\b(?:{words})\b)" for role, words in CUES), re.IGNORECASE)
OFF_TOPIC = re.compile(
    r"\b(?:named|described (?:by|from|in)|scientific name|genus name|zoo|captiv\w+|aviculture|pets?|specimens?|"
    r"collected|museum|state bird|national bird|emblem|stamps?|coat of arms|"
    r"mytholog\w*|folklore|legends?|literature|poem|novel|treaty|protected under|language|called|etymology|"
    r"phylogen\w+|ancestors?|diverged)\b",
    re.IGNORECASE,
)
NEVER = re.compile(
    r"\bISBN\b|\bdoi\b|\(\d{4}\)\.? [\"“A-Z]|Field Guide|Handbook|Birds of|Journal|retrieved|\bepithet\b|"
    r"\bknown (?:\w+ ){0,2}in [\w ]{3,40} as\b|\b(?:names?|called) \b.{0,40}\bfrom\b|\bvirus\b|"
    r"\bfossils?\b|\w+(?:to|o)cene\b|years ago|annotated list",
    re.IGNORECASE,
)
LIST_LINE = re.compile(r"^[A-Z]\. ?(?:[a-z]{1,3}\. ?)?[a-z]{3,}.{0,60}?(?: [–—-] |[:,(] )")
WORD = r"(?:north|south|east|west|central)(?:[- ]?(?:east|west|central))?(?:ern(?:most)?)?"
DIRECTIONS = rf"(?:(?:far|extreme) )?{WORD}(?:(?:,| and| or|/|, and) (?:the )?(?:far |extreme )?{WORD})*"
QUALIFIED = re.compile(r"(?:sub-Saharan|tropical|continental|mainland|metropolitan)(?= $)", re.IGNORECASE)
OF = r"(?: (?:parts?|half|halves|coasts?|regions?|areas?|tip|edge|portions?|third) of)?"
STATED = re.compile(
    rf"(?:\b(?P<directions>{DIRECTIONS}){OF}|\bthe (?P<named>{DIRECTIONS}) of) (?:the )?$", re.IGNORECASE
)
# Institutions and waters: "University of Texas", "Gulf of Mexico".
BEFORE = re.compile(
    r"(?:Gulf|Bay|Sea|Strait|Straits|University|Museum|Zoo|Society|Academy|Government|Republic|Department|Bank|Duke|King|"
    r"Lake|Port|Cape|Mount|Fort|Treaty|Lieutenant|Emperor) (?:of (?:the )?)?$"
)
BEYOND = re.compile(r"(?<!the )(?<!far )\b(?:north|south|east|west)(?:wards?)? of (?:the )?$", re.IGNORECASE)
AFTER = re.compile(
    r" (?:University|Museum|Zoo|Society|Academy|Institute|Department|Press|Times|Survey|Act|Sea|Ocean|City|Channel|"
    r"State University|Natural History|Ornithologists?|Zoological|Botanical|Company|Office)\b"
)
MONTHS: Final = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
                  "november", "december")  # fmt: skip
MONTH = rf"({'|'.join(name.title() for name in MONTHS)})"
MONTH_RANGE = re.compile(rf"{MONTH}(?: ?[–—-] ?| (?:to|until|till|through|and) (?:(?:early|mid|late)[- ])?){MONTH}")
ONE_MONTH = re.compile(rf"\b(?:in|during|by|of|about) (?:(?:early|mid|late)[- ])?{MONTH}\b")
LIST_GAP = re.compile(r"^[\s,()/–-]*(?:(?:and|or|to|the|in|of|parts|both|from|as well as)[\s,()]*)*$")


_TRANSIENT: Final = frozenset(("absent", "vagrant", "introduced"))  # hold for one list of places only
_STATES: Final = frozenset(("Alabama", "Florida", "South Carolina", "North Carolina", "Tennessee", "Texas", "Louisiana",
                            "Virginia", "Kentucky", "United States", "Mississippi", "California"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Mention:
    """Places at a position of a sentence: several for "northern and central India"."""

    start: int
    end: int
    places: tuple[str, ...]


def range_facts(text: str) -> tuple[RangeFact, ...]:
    """Return the range statements of an article, in order, each place and role once."""
    found: dict[tuple[str, RangeRole], RangeFact] = {}
    for line in text.split("\n"):
        if not _names().search(line):
            continue
        for span in split_sentences(line):
            for fact in _of_sentence(line[span.start : span.end]):
                known = found.setdefault((fact.place, fact.role), fact)
                if not known.months and fact.months:
                    found[fact.place, fact.role] = fact
    facts = tuple(found.values())
    if any(_is_near_georgia(fact.place) for fact in facts):
        facts = tuple(replace(fact, place="Georgia (US state)") if fact.place == "Georgia" else fact for fact in facts)
    return facts


def _of_sentence(sentence: str) -> Iterator[RangeFact]:
    mentions = list(_mentions(sentence))
    if not mentions or NEVER.search(sentence):
        return
    cues = [(match.start(), match.end(), _role(match)) for match in CUE.finditer(sentence)]
    strong = [role for _, _, role in cues if role != "occurs"]
    if OFF_TOPIC.search(sentence) and not strong and not LIST_LINE.match(sentence):
        return
    if not cues:
        if len(mentions) < 2 and not LIST_LINE.match(sentence):
            return
        cues = [(0, 0, "occurs")]
    months = _months(sentence)
    for mention, role in zip(mentions, _roles(sentence, mentions, cues), strict=True):
        stated = months if role in ("breeds", "winters", "passage") and len(set(strong)) == 1 else ()
        for place in mention.places:
            yield RangeFact(place=place, role=role, months=stated, sentence=sentence)


def _roles(sentence: str, mentions: list[_Mention], cues: list[tuple[int, int, RangeRole]]) -> list[RangeRole]:
    """Return the role of each mention: that of the cue before it, or of the first cue after it.

    `absent`, `vagrant` and `introduced` hold for one list of places; then the cue before them holds again. A word such
    as "found" does not end a season: "in winter it is found in Spain".
    """
    roles: list[RangeRole] = []
    for i, mention in enumerate(mentions):
        before = [cue for cue in cues if cue[1] <= mention.start and not _is_aside(sentence, cue[1], mention.start)]
        role: RangeRole = "occurs"
        for start, end, each in reversed(before):
            if each in _TRANSIENT and not _holds(sentence, end, mention, mentions[:i]):
                continue
            if each == "occurs" and _has_stronger_before(sentence, before, start):
                continue
            role = "absent" if _is_negated(sentence, before, start) else each
            break
        else:
            after = [
                each for start, _, each in cues if start >= mention.end and ";" not in sentence[mention.end : start]
            ]
            role = after[0] if after and not before else "occurs"
            if role == "absent" and after:
                role = next((each for each in after if each != "absent"), "occurs")
        roles.append(role)
    return roles


def _holds(sentence: str, end: int, mention: _Mention, earlier: list[_Mention]) -> bool:
    """Return whether only a list of places stands between a cue and a mention."""
    listed = [each for each in earlier if each.start >= end]
    if not listed:
        return len(sentence[end : mention.start]) < 90 and ";" not in sentence[end : mention.start]
    stops = [*listed, mention]
    return all(LIST_GAP.match(sentence[one.end : other.start]) for one, other in pairwise(stops))


def _is_negated(sentence: str, cues: list[tuple[int, int, RangeRole]], start: int) -> bool:
    """Return whether "formerly" or "no longer" stands right before the cue at `start`."""
    return any(role == "absent" and re.fullmatch(r"(?: \w+)? ", sentence[end:start]) for _, end, role in cues)


def _is_aside(sentence: str, end: int, start: int) -> bool:
    """Return whether brackets close between a cue and a place, and do not open before it closes."""
    between = sentence[end:start]
    return between.find(")") >= 0 and not 0 <= between.find("(") < between.find(")")


def _has_stronger_before(sentence: str, cues: list[tuple[int, int, RangeRole]], start: int) -> bool:
    """Return whether a stronger cue stands in the same clause before the one at `start`: "introduced populations"."""
    ends = [end for _, end, role in cues if role != "occurs" and end <= start]
    return bool(ends) and not re.search(r"[,;:]|\band\b|\bbut\b|\bwhile\b", sentence[ends[-1] : start])


def _role(match: re.Match[str]) -> RangeRole:
    return next(role for role, _ in CUES if match[role] is not None)


def _mentions(sentence: str) -> Iterator[_Mention]:
    for match in _names().finditer(sentence):
        before, after, name = sentence[max(0, match.start() - 100) : match.start()], sentence[match.end() :], match[0]
        if BEFORE.search(before) or AFTER.match(after) or _is_bird(after):
            continue
        stated = STATED.search(before)
        start = match.start() - (len(before) - stated.start() if stated else 0)
        if stated is None and BEYOND.search(before):
            continue
        qualified = [canonical_name(f"{match[0]} {name}") for match in QUALIFIED.finditer(before)]
        directions = re.findall(WORD, stated["directions"] or stated["named"], re.IGNORECASE) if stated else []
        places = [canonical_name(f"{direction_of(each)} {name}") for each in directions]
        known = tuple(dict.fromkeys(place for place in places or qualified if place)) or (canonical_name(name),)
        yield _Mention(start, match.end(), tuple(place for place in known if place is not None))


def _is_bird(after: str) -> bool:
    """Return whether the words after a place name make it the name of a bird: "Canada goose"."""
    words = re.match(r"(?:[ -][\w'’]+){1,3}", after)
    if words is None or after[:1] not in " -":
        return False
    return any(_singular(word) in _birds() for word in re.findall(r"[\w'’]+", words[0].casefold())[:2])


@cache
def _birds() -> frozenset[str]:
    words = {name.casefold().split()[-1] for names in english_groups().values() for name in names}
    extra = (
        "quail robin titmouse towhee chickadee magpie jay dove blackbird redstart scoter merganser eider teal goose "
        "fox hare deer tiger myna mynah"
    )
    return frozenset(_singular(word) for word in words) | frozenset(extra.split())


def _singular(word: str) -> str:
    if word in ("geese", "mice"):
        return {"geese": "goose", "mice": "mouse"}[word]
    return word.removesuffix("s")


@cache
def _names() -> re.Pattern[str]:
    """Return a pattern of all names of places, the longest first; grouped by first letter, for speed."""
    by_letter: dict[str, list[str]] = {}
    for name in sorted(names_as_written(), key=len, reverse=True):
        if name[0].isupper():
            by_letter.setdefault(name[0], []).append(re.escape(name[1:]))
    letters = "|".join(f"{letter}(?:{'|'.join(rest)})" for letter, rest in by_letter.items())
    return re.compile(rf"(?<![\w-])(?:{letters})(?!\w|-[a-z])")


def _months(sentence: str) -> tuple[int, ...]:
    """Return the months of a sentence, ranges filled in."""
    found: set[int] = set()
    for first, last in MONTH_RANGE.findall(sentence):
        start, end = (MONTHS.index(name.casefold()) for name in (first, last))
        found |= {(start + step) % 12 + 1 for step in range((end - start) % 12 + 1)}
    if not found:
        found = {MONTHS.index(name.casefold()) + 1 for name in ONE_MONTH.findall(sentence)}
    return tuple(sorted(found))


def _is_near_georgia(place: str) -> bool:
    return place in _STATES or place.endswith(" United States")
