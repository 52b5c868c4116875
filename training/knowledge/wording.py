"""Wording of facts: names of parts, order of adjectives, articles, lists. A small grammar without facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from data.starter.knowledge import Fact
from training.knowledge.parts import word_set

NAMES: Mapping[str, str] = {
    "eyering": "eye ring",
    "eyestripe": "eye stripe",
    "eyebrow": "eyebrow",
    "wingbars": "wing bars",
    "wingpatch": "wing patch",
    "wingtips": "wing tips",
    "tailtip": "tail tip",
    "tailband": "tail band",
    "outertail": "outer tail feathers",
    "undertail": "undertail",
    "uppertail": "uppertail coverts",
    "breastband": "breast band",
    "facialdisc": "facial disc",
    "eartufts": "ear tufts",
    "uppermandible": "upper mandible",
    "lowermandible": "lower mandible",
    "billtip": "bill tip",
    "billbase": "bill base",
    "flightfeathers": "flight feathers",
    "crownstripe": "crown stripe",
    "shield": "frontal shield",
    "moustache": "moustachial stripe",
    "shoulder": "shoulder patch",
    "body": "plumage",
}
PLURAL = word_set(
    "upperparts underparts wings legs eyes flanks wingbars wingtips outertail uppertail eartufts flightfeathers lores"
)
HIND = {"curved down": "down-curved", "turned up": "upturned"}
_SHAPE_ORDER = (
    *("tiny", "small", "medium-sized", "large", "prominent", "long", "short"),
    *("thin", "slender", "stout", "thick", "broad", "narrow", "flat", "compact", "plump", "stocky"),
    *("straight", "down-curved", "upturned", "curved", "hooked", "conical", "forked", "notched", "rounded"),
    *("square-ended", "fan-shaped", "wedge-shaped", "pointed", "crested", "shaggy", "feathered", "webbed"),
)
_NEEDLESS = frozenset((("pale", "white"), ("pale", "cream"), ("pale", "buff"), ("dark", "black"), ("bright", "white")))
_PATTERNS = ("glossy", "mottled", "streaked", "barred", "spotted", "scaled", "striped")


def name_of(part: str) -> str:
    """Return what the part is called in a sentence."""
    return NAMES.get(part, part)


def shapes_of(fact: Fact) -> list[str]:
    """Return the shape words of a fact in the order in which they are said."""
    words = [HIND.get(word, word) for word in fact.shape.split(", ") if word and word not in _PATTERNS]
    if "stocky" in words:  # says as much
        words = [word for word in words if word not in ("compact", "plump")]
    if "down-curved" in words or "hooked" in words or "conical" in words:
        words = [word for word in words if word != "pointed"]
    return sorted(words, key=lambda word: _SHAPE_ORDER.index(word) if word in _SHAPE_ORDER else 99)


def patterns_of(fact: Fact) -> list[str]:
    """Return the pattern words of a fact."""
    return [word for word in _PATTERNS if word in fact.shape.split(", ")]


def colours_of(fact: Fact) -> str:
    """Return colour and shade in words: `dark grey`, `black and white`, `pale`; empty if nothing is known."""
    colours = " and ".join(fact.colours)
    shade = "" if (fact.shade, colours) in _NEEDLESS else fact.shade
    return f"{shade} {colours}".strip()


def look_of(fact: Fact) -> str:
    """Return pattern, shade and colours before a noun: `streaked brown`, `glossy black`."""
    return " ".join([*_joined_patterns(fact), colours_of(fact)]).strip()


def said_look_of(fact: Fact) -> str:
    """Return what follows "is": `brown and streaked`, `glossy black`, `pale`."""
    patterns, colours = patterns_of(fact), colours_of(fact)
    if not colours:
        return listed(patterns)
    front = [word for word in patterns if word == "glossy"]
    behind = [word for word in patterns if word != "glossy"]
    said = " ".join([*front, colours])
    if not behind:
        return said
    return f"{said}, {listed(behind)}" if len(fact.colours) > 1 or len(behind) > 1 else f"{said} and {behind[0]}"


def _joined_patterns(fact: Fact) -> list[str]:
    patterns = patterns_of(fact)
    return [" and ".join(patterns)] if patterns else []


def listed(items: Sequence[str]) -> str:
    """Return the items as a list in a sentence.

    Example:
        >>> listed(["crown", "nape", "back"])
        'crown, nape and back'
    """
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else ""


def with_article(phrase: str) -> str:
    """Return a noun phrase with its indefinite article.

    Example:
        >>> with_article("olive back"), with_article("short bill")
        ('an olive back', 'a short bill')
    """
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"


def noun_phrase(adjectives: str, parts: Sequence[str]) -> str:
    """Return parts with what is said of them: `a black head and nape`, `white underparts`."""
    phrase = f"{adjectives} {listed([name_of(part) for part in parts])}"
    return phrase if parts[0] in PLURAL else with_article(phrase)


def sentence(text: str) -> str:
    """Return the text with a capital at its head and a stop at its end."""
    return f"{text[0].upper()}{text[1:]}."
