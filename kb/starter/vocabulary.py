"""The words in which descriptions of birds speak: parts of the body, colours, patterns and shapes, and what they mean.

A colour word stands for the words that may be said in its place, the most telling first: two texts agree on a colour
where these overlap, and what is said is the first word that both allow ("rusty brown" and "reddish" do not agree,
"greyish-brown" and "brown" agree on brown).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# --- parts -------------------------------------------------------------------------------------------------------

PHRASES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"\b(?:{pattern})\b"), part)
    for pattern, part in (
        (r"wing[- ]?bars?|bars on (?:the|its|their|each) wings?", "wingbars"),
        (r"(?:stripe|streak|line|band|brow) (?:above|over) (?:the|its|each|their) eyes?", "eyebrow"),
        (r"(?:white |pale )?superciliary (?:stripe|line)|supercili(?:um|a)|eye-?brows?(?: stripes?)?|brow", "eyebrow"),
        (r"eye[- ]?rings?|orbital rings?|(?:ring|circle)s? (?:around|round|of skin around) (?:the|its|each|their) eyes?", "eyering"),
        (r"eye-?rings?", "eyering"),
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
        (r"wing[- ]?(?:patch|patches|panels?|spots?)|(?:patch|patches|panels?|spot) (?:on|in) (?:the|its|each|their) wings?", "wingpatch"),
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
)  # fmt: skip
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

What is said of the head or of the whole bird does not hold for each part of it: tried on hand-labelled facts, one in five
that were got that way was wrong.
"""

WHOLES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "upperparts": (("back", "nape"), ("back", "wings")),
    "underparts": (("breast", "belly"),),
    "head": (("crown", "nape"), ("crown", "face"), ("forehead", "crown")),
    "body": (("back", "breast", "belly"),),
}
"""A part -> the parts that bear it out, if another text says the same of all of one set."""

# A part before one of these is only where something else is: "black wing edges" are not black wings.
NOT_THE_PART = frozenset(
    "patch patches band bands banding spot spots stripe stripes line lines bar bars edge edges edging edgings lining "
    "linings margin margins fringe fringes mark marks marking markings pattern patterns patterning tip tips base bases "
    "coverts shaft shafts spread span beat beats pouch sac plumes plume tuft tufts streak streaks streamers skin "
    "length shape shaped size movement flight colour color sides side underside crescent crescents ring rings corners "
    "projection lobes knob feathering".split()
)

# --- colours -----------------------------------------------------------------------------------------------------

_PLAIN = {
    "black": "black blackish jet ebony coal",
    "white": "white snow snowy ivory whitish",
    "grey": "grey greyish ashy ash slate slaty charcoal slate-coloured",
    "brown": "brown brownish chocolate coffee",
    "buff": "buff buffy buffish tan beige sandy",
    "cream": "cream creamy",
    "rufous": "rufous rusty rust cinnamon ferruginous rust-coloured russet",
    "chestnut": "chestnut chestnut-coloured mahogany maroon",
    "orange": "orange orangish orangey",
    "yellow": "yellow yellowish golden gold lemon",
    "green": "green greenish emerald lime",
    "blue": "blue bluish azure cobalt navy indigo sapphire",
    "turquoise": "turquoise teal cyan aqua aquamarine",
    "purple": "purple purplish violet lilac lavender mauve",
    "pink": "pink pinkish rosy rose salmon flesh",
    "red": "red reddish scarlet crimson ruby vermilion",
    "olive": "olive",
    "silvery": "silver silvery",
    "bronze": "bronze bronzed bronzy copper coppery",
    "horn": "horn-coloured",
}
COLOURS: Mapping[str, str] = {word: colour for colour, words in _PLAIN.items() for word in words.split()}
"""A colour word -> the plain colour that it is a form of."""

DARK_WORDS = frozenset("slate slaty charcoal navy chocolate blackish black jet ebony coal mahogany maroon".split())
PALE_WORDS = frozenset("white whitish cream creamy buff buffy tan beige sandy ivory snow snowy".split())
SHADES: Mapping[str, str] = {
    **dict.fromkeys(("dark", "darker", "deep", "dusky", "sooty"), "dark"),
    **dict.fromkeys(("pale", "light", "paler", "lighter", "pale-coloured", "light-coloured", "faint"), "pale"),
    **dict.fromkeys(("bright", "vivid", "vibrant", "brilliant", "brightly", "intense"), "bright"),
    "dark-coloured": "dark",
}

_MIXED: Mapping[tuple[str, str], tuple[str, ...]] = {
    **dict.fromkeys((("red", "brown"), ("rufous", "brown"), ("orange", "brown")), ("rufous", "brown")),
    ("chestnut", "brown"): ("chestnut", "rufous", "brown"),
    **dict.fromkeys((("rufous", "red"), ("brown", "red"), ("rufous", "orange"), ("brown", "orange")), ("rufous",)),
    ("chestnut", "red"): ("chestnut", "rufous"),
    ("olive", "brown"): ("olive-brown", "brown", "olive"),
    ("brown", "olive"): ("olive-brown", "olive"),
    ("grey", "brown"): ("grey-brown", "brown", "grey"),
    ("brown", "grey"): ("grey-brown", "grey", "brown"),
    ("buff", "brown"): ("buff", "brown"),
    ("black", "brown"): ("brown",),
    ("blue", "grey"): ("blue-grey", "grey"),
    ("grey", "blue"): ("blue-grey", "blue"),
    ("olive", "grey"): ("olive-grey", "grey", "olive"),
    ("grey", "olive"): ("olive-grey", "olive"),
    ("olive", "green"): ("olive-green", "green", "olive"),
    ("green", "olive"): ("olive-green", "olive"),
    ("yellow", "green"): ("yellow-green", "green"),
    ("green", "yellow"): ("yellow-green", "yellow"),
    ("olive", "yellow"): ("olive", "yellow"),
    ("yellow", "olive"): ("olive",),
    ("blue", "green"): ("blue-green", "green"),
    ("green", "blue"): ("blue-green", "blue"),
    ("blue", "black"): ("blue-black", "black"),
    ("black", "blue"): ("blue-black", "blue"),
    ("green", "black"): ("black",),
    ("black", "green"): ("green",),
    ("brown", "black"): ("black",),
    ("grey", "black"): ("black",),
    ("black", "grey"): ("grey",),
    ("purple", "blue"): ("violet-blue", "blue"),
    ("blue", "purple"): ("violet-blue", "purple"),
    ("orange", "red"): ("orange-red", "red"),
    ("red", "orange"): ("orange-red", "orange"),
    ("yellow", "orange"): ("orange",),
    ("orange", "yellow"): ("yellow",),
    ("pink", "red"): ("pinkish-red", "red"),
    ("red", "pink"): ("pinkish-red", "pink"),
    ("silvery", "grey"): ("silvery-grey", "grey"),
    ("turquoise", "blue"): ("turquoise", "blue"),
    ("cream", "white"): ("cream", "white"),
    ("buff", "white"): ("buff", "white"),
}
_SINGLE: Mapping[str, tuple[str, ...]] = {
    "chestnut": ("chestnut", "rufous"),
    "turquoise": ("turquoise", "blue"),
    "cream": ("cream", "white"),
    "silvery": ("silvery-grey", "grey"),
    "olive": ("olive", "olive-green"),
}


def admitted(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the colours that may be said for a run of colour words, the most telling first.

    Example:
        >>> admitted(("greyish", "brown"))
        ('grey-brown', 'brown', 'grey')
        >>> admitted(("rusty",))
        ('rufous',)
    """
    plain = [COLOURS[word] for word in words]
    if len(plain) >= 2 and plain[-1] != plain[-2]:
        mixed = _MIXED.get((plain[-2], plain[-1]))
        return mixed if mixed is not None else (plain[-1],)
    return _SINGLE.get(plain[-1], (plain[-1],))


# --- patterns and shapes -----------------------------------------------------------------------------------------

PATTERNS: Mapping[str, str] = {
    word: pattern
    for pattern, words in {
        "streaked": "streaked streaky streaks streak streaking striated striations",
        "barred": "barred barring bars bar banded",
        "spotted": "spotted spots spotting speckled speckles speckling specks",
        "scaled": "scaled scaly scalloped scaling scale-like scalloping",
        "mottled": "mottled mottling",
        "striped": "striped stripes",
        "glossy": "glossy iridescent iridescence gloss sheen metallic shiny shimmering lustrous",
    }.items()
    for word in words.split()
}

BAR_PARTS = frozenset(("tail", "flanks", "belly", "breast", "underparts", "back", "upperparts", "undertail"))
"""Where bars are a pattern; on a wing they are wing bars or nothing."""

SHAPES: Mapping[str, Mapping[str, str]] = {
    "bill": {
        word: shape
        for shape, words in {
            "long": "long elongated",
            "short": "short stubby",
            "thin": "thin slender fine slim",
            "stout": "stout thick heavy chunky robust stocky",
            "straight": "straight",
            "curved down": "decurved downcurved down-curved downward-curved",
            "turned up": "upturned up-turned upcurved",
            "hooked": "hooked",
            "pointed": "pointed sharp pointy sharp-pointed dagger-like sharply-pointed tapered",
            "conical": "conical cone-shaped conical-shaped",
            "flat": "flat flattened",
            "broad": "broad wide",
            "large": "large massive huge",
            "small": "small tiny",
        }.items()
        for word in words.split()
    },
    "tail": {
        word: shape
        for shape, words in {
            "long": "long elongated",
            "short": "short stubby",
            "forked": "forked deeply-forked swallow-like",
            "rounded": "rounded",
            "square-ended": "square squared square-tipped square-ended squared-off square-shaped",
            "notched": "notched",
            "pointed": "pointed",
            "wedge-shaped": "wedge-shaped graduated",
            "fan-shaped": "fan-shaped",
        }.items()
        for word in words.split()
    },
    "legs": {
        word: shape
        for shape, words in {
            "long": "long elongated",
            "short": "short",
            "webbed": "webbed",
            "feathered": "feathered",
        }.items()
        for word in words.split()
    },
    "neck": {
        "long": "long",
        "elongated": "long",
        "short": "short",
        "slender": "slender",
        "thick": "thick",
        "curved": "curved",
    },
    "wings": {
        "long": "long",
        "pointed": "pointed",
        "broad": "broad",
        "short": "short",
        "rounded": "rounded",
        "narrow": "narrow",
    },
    "head": {"large": "large", "small": "small", "rounded": "rounded", "round": "rounded", "crested": "crested"},
    "body": {
        word: shape
        for shape, words in {
            "stocky": "stocky stout robust chunky heavy-bodied sturdy",
            "plump": "plump rotund round rounded",
            "slender": "slender slim sleek streamlined",
            "compact": "compact",
        }.items()
        for word in words.split()
    },
    "crest": {"pointed": "pointed", "shaggy": "shaggy", "long": "long", "short": "short", "prominent": "prominent"},
    "bird": {},
}

SIZES: Mapping[str, str] = {
    "tiny": "small",
    "small": "small",
    "small-sized": "small",
    "smallish": "small",
    "medium": "medium-sized",
    "medium-sized": "medium-sized",
    "moderate": "medium-sized",
    "moderately-sized": "medium-sized",
    "large": "large",
    "large-sized": "large",
    "big": "large",
    "huge": "large",
    "largest": "large",
}
