"""Colours, shades, patterns, shapes and sizes: the words of descriptions, and what they mean.

A colour word stands for the words that may be said in its place, the most telling first: two texts agree on a colour
where these overlap, and what is said is the first word that both allow ("rusty brown" and "reddish" do not agree,
"greyish-brown" and "brown" agree on brown).
"""

from __future__ import annotations

from collections.abc import Mapping

from training.knowledge.parts import word_set

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

DARK_WORDS = word_set("slate slaty charcoal navy chocolate blackish black jet ebony coal mahogany maroon")
PALE_WORDS = word_set("white whitish cream creamy buff buffy tan beige sandy ivory snow snowy")
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
