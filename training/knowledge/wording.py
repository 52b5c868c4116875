"""Wording of facts: nouns for birds and parts, order of adjectives, articles, lists."""

from __future__ import annotations

from collections.abc import Sequence

from data.records import Taxon
from data.starter.knowledge import Fact
from training.knowledge.vocabulary import WORDS, word_lists

PLURAL = frozenset(word_lists("kinds")["plural"])
NOUNS = {family: noun for noun, families in word_lists("nouns").items() for family in families}
"""Family -> a noun that fits all of its members."""
HIND = {"curved down": "down-curved", "turned up": "upturned"}
_SHAPE_ORDER = (
    *("tiny", "small", "medium-sized", "large", "prominent", "long", "short"),
    *("thin", "slender", "stout", "thick", "broad", "narrow", "flat", "compact", "plump", "stocky"),
    *("straight", "down-curved", "upturned", "curved", "hooked", "conical", "forked", "notched", "rounded"),
    *("square-ended", "fan-shaped", "wedge-shaped", "pointed", "crested", "shaggy", "feathered", "webbed"),
)
_NEEDLESS = frozenset((("pale", "white"), ("pale", "cream"), ("pale", "buff"), ("dark", "black"), ("bright", "white")))
_PATTERNS = ("glossy", "mottled", "streaked", "barred", "spotted", "scaled", "striped")


def noun_of(taxon: Taxon) -> str:
    """Return the noun for a bird's family, else `bird`."""
    return NOUNS.get(taxon.lineage.get("family", ""), "bird")


def name_of(part: str) -> str:
    """Return the name of a part in a sentence."""
    return str(WORDS["names"].get(part, part))


def shapes_of(fact: Fact) -> list[str]:
    """Return the shape words of a fact in the usual order of adjectives."""
    words = [HIND.get(word, word) for word in fact.shape.split(", ") if word and word not in _PATTERNS]
    if "stocky" in words:  # implies both
        words = [word for word in words if word not in ("compact", "plump")]
    if "down-curved" in words or "hooked" in words or "conical" in words:
        words = [word for word in words if word != "pointed"]
    return sorted(words, key=lambda word: _SHAPE_ORDER.index(word) if word in _SHAPE_ORDER else 99)


def patterns_of(fact: Fact) -> list[str]:
    """Return the pattern words of a fact."""
    return [word for word in _PATTERNS if word in fact.shape.split(", ")]


def colours_of(fact: Fact) -> str:
    """Return colour and shade in words: `dark grey`, `black and white`, `pale`; empty if unknown."""
    colours = " and ".join(fact.colours)
    shade = "" if (fact.shade, colours) in _NEEDLESS else fact.shade
    return f"{shade} {colours}".strip()


def look_of(fact: Fact) -> str:
    """Return pattern, shade and colours before a noun: `streaked brown`, `glossy black`."""
    return f"{' and '.join(patterns_of(fact))} {colours_of(fact)}".strip()


def predicate_of(fact: Fact) -> str:
    """Return the look after "is": `brown and streaked`, `glossy black`, `pale`."""
    patterns, colours = patterns_of(fact), colours_of(fact)
    if not colours:
        return listed(patterns)
    front = [word for word in patterns if word == "glossy"]
    behind = [word for word in patterns if word != "glossy"]
    text = " ".join([*front, colours])
    if not behind:
        return text
    return f"{text}, {listed(behind)}" if len(fact.colours) > 1 or len(behind) > 1 else f"{text} and {behind[0]}"


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
    """Return parts with their adjectives: `a black head and nape`, `white underparts`."""
    phrase = f"{adjectives} {listed([name_of(part) for part in parts])}"
    return phrase if parts[0] in PLURAL else with_article(phrase)


def sentence(text: str) -> str:
    """Return the text with a capital letter and a full stop."""
    return f"{text[0].upper()}{text[1:]}."
