"""The parts of a bird, by all the names that texts give them, and what holds of a part for another."""

from __future__ import annotations

import re
from collections.abc import Mapping


def word_set(text: str) -> frozenset[str]:
    """Return the words of a line as a set."""
    return frozenset(text.split())


PHRASES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"\b(?:{pattern})\b"), part)
    for pattern, part in (
        (r"wing[- ]?bars?|bars on (?:the|its|their|each) wings?", "wingbars"),
        (r"(?:stripe|streak|line|band|brow) (?:above|over) (?:the|its|each|their) eyes?", "eyebrow"),
        (r"(?:white |pale )?superciliary (?:stripe|line)|supercili(?:um|a)|eye-?brows?(?: stripes?)?|brow", "eyebrow"),
        (r"eye[- ]?rings?|orbital rings?", "eyering"),
        (r"(?:ring|circle)s? (?:around|round|of skin around) (?:the|its|each|their) eyes?", "eyering"),
        (r"eye[- ]?(?:stripes?|lines?)|(?:stripe|line) (?:through|across) (?:the|its|each|their) eyes?", "eyestripe"),
        (r"upper[- ]?(?:parts?|body|side|plumage)|topside", "upperparts"),
        (r"under[- ]?(?:parts?|body|side|sides|plumage)|lower (?:body|parts)|ventral side", "underparts"),
        (r"under-?bell(?:y|ies)|abdomen|bell(?:y|ies)|lower breast", "belly"),
        (r"chests?|breasts?", "breast"),
        (r"under-?tail(?:[- ]coverts)?|under tail coverts|vent|crissum", "undertail"),
        (r"upper-?tail[- ]coverts", "uppertail"),
        (r"outer(?:most)? tail(?:[- ]feathers)?|outer retrices|outer rectrices", "outertail"),
        (r"(?:tips?|end) (?:of|on|to) (?:the|its|their) tail|tail[- ]tips?", "tailtip"),
        (r"tail[- ]bands?|tail bars?|bands? (?:on|across) (?:the|its) tail", "tailband"),
        (r"wing-?tips?|tips? (?:of|on|to) (?:the|its|their) wings?", "wingtips"),
        (r"wing[- ]?(?:patch|patches|panels?|spots?)", "wingpatch"),
        (r"(?:patch|patches|panels?|spot) (?:on|in) (?:the|its|each|their) wings?", "wingpatch"),
        (r"speculums?|specula", "speculum"),
        (r"flight feathers|primar(?:y|ies)(?: feathers)?|remiges", "flightfeathers"),
        (r"ear[- ]?coverts|auriculars|ear[- ]patch(?:es)?|cheek[- ]patch(?:es)?|cheeks?", "cheek"),
        (r"facial dis[ck]s?", "facialdisc"),
        (r"ear[- ]?tufts?|feathered ears", "eartufts"),
        (r"upper (?:mandible|bill|beak)", "uppermandible"),
        (r"lower (?:mandible|bill|beak)", "lowermandible"),
        (r"(?:bill|beak)[- ]tip|tip (?:of|on|to) (?:the|its|their) (?:bill|beak)", "billtip"),
        (r"base (?:of|to) (?:the|its|their) (?:bill|beak)|(?:bill|beak)[- ]base", "billbase"),
        (r"beaks?|bills?", "bill"),
        (r"legs?|feet|foot|tarsi|tarsus", "legs"),
        (r"irises|iris|irides|eyes?", "eyes"),
        (r"breast[- ]?bands?|bands? (?:across|on) (?:the|its) breast", "breastband"),
        (r"collars?|neck[- ]?(?:ring|band)s?|(?:ring|band) (?:around|on) (?:the|its) neck", "collar"),
        (r"throat[- ]patch(?:es)?|patch on (?:the|its) throat|throats?|gorgets?", "throat"),
        (r"rump[- ]patch(?:es)?|rumps?", "rump"),
        (r"shoulder[- ]patch(?:es)?|shoulders?", "shoulder"),
        (r"napes?|hind-?necks?|back of (?:the|its) neck", "nape"),
        (r"crown[- ](?:stripes?|patch)|(?:stripe|stripes|patch) (?:on|along|down) (?:the|its) crown", "crownstripe"),
        (r"crowns?", "crown"),
        (r"caps?", "cap"),
        (r"crests?", "crest"),
        (r"hoods?", "hood"),
        (r"heads?", "head"),
        (r"foreheads?", "forehead"),
        (r"faces?|facial (?:skin|area)", "face"),
        (r"(?:face |facial |eye )?masks?", "mask"),
        (r"lores?", "lores"),
        (r"chins?", "chin"),
        (r"bibs?", "bib"),
        (r"moustaches?|moustachial stripes?|malar stripes?|malars?", "moustache"),
        (r"necks?", "neck"),
        (r"mantles?|backs?", "back"),
        (r"flanks?", "flanks"),
        (r"wings", "wings"),
        (r"tails?", "tail"),
        (r"cere", "cere"),
        (r"casques?", "casque"),
        (r"wattles?", "wattle"),
        (r"frontal shield", "shield"),
        (r"plumage|body|bodies|colou?ration|colou?ring", "body"),
    )
)
"""What a text says -> the part. Tried in this order on text in lower case, each match becomes one word."""

PARTS: frozenset[str] = frozenset(part for _, part in PHRASES)

MEMBERS: Mapping[str, tuple[str, ...]] = {
    "upperparts": ("back", "nape", "rump"),
    "underparts": ("breast", "belly"),
    "hood": ("head",),
    "cap": ("crown",),
    "bib": ("throat",),
    "throat": ("chin",),
}
"""A part -> the parts that what is said of it holds for as well. `throat` for `chin`: many say the one for both.

What is said of the head or of the whole bird does not hold for each part of it: tried on hand-labelled facts, one in
five that were got that way was wrong.
"""

WHOLES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "upperparts": (("back", "nape"), ("back", "wings")),
    "underparts": (("breast", "belly"),),
    "head": (("crown", "nape"), ("crown", "face"), ("forehead", "crown")),
    "body": (("back", "breast", "belly"),),
}
"""A part -> the parts that bear it out, if another text says the same of all of one set."""

# A part before one of these is only where something else is: "black wing edges" are not black wings.
NOT_THE_PART = word_set(
    "patch patches band bands banding spot spots stripe stripes line lines bar bars edge edges edging edgings "
    "lining linings margin margins fringe fringes mark marks marking markings pattern patterns patterning tip "
    "tips base bases coverts shaft shafts spread span beat beats pouch sac plumes plume tuft tufts streak streaks "
    "streamers skin length shape shaped size movement flight colour color sides side underside crescent crescents "
    "ring rings corners projection lobes knob feathering"
)

BAR_PARTS = frozenset(("tail", "flanks", "belly", "breast", "underparts", "back", "upperparts", "undertail"))
"""Where bars are a pattern; on a wing they are wing bars or nothing."""
