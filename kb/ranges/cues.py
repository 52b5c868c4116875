"""Words and patterns that give a place in a text its role, or rule it out as a place of the range."""

from __future__ import annotations

import re
from typing import Final

from data.records import RangeRole

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
