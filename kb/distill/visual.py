"""Score of a sentence for its looks: a small linear model over the word groups of the lexicon."""

from __future__ import annotations

import re
from collections import Counter

from data.lexicon.word_groups import group_of, words_of

# Points a word of the group gives, each group counted up to `_MOST`. Fitted by logistic regression on 312 sentences
# labelled before any tuning (tests/kb/labels, half "development"), then rounded by hand; what is not a word group, and
# the border, by hand on those and the tuning half of `training/distill/labels`.
WEIGHTS = {
    "part": 0.9,
    "colour": 1.0,
    "pattern": 0.6,
    "shape": 0.5,
    "size": 1.2,
    "who": 0.5,
    "compare": 0.9,
    "sound": -0.8,
    "place": -0.4,
    "taxonomy": -0.7,
    "naming": -0.8,
    "behaviour": -0.5,
    "breeding": -1.2,
    "weight": -0.4,
    "people": -0.4,
}
PAIR_WEIGHT = 1.0  # a body part with a colour, pattern or shape within four words
NAME_WEIGHT = -0.15  # a capital inside the sentence: places and people
YEAR_WEIGHT = -0.8  # history of the name, of a record, of a population
LENGTH_WEIGHT = -0.06  # a word, whatever it is: looks are told densely
MEASURE_WEIGHT = 0.8  # a length in numbers, unless it may be that of a nest or an egg
LOOK_ALIKE_WEIGHT = 0.8  # "may be confused with"
SECTION_WEIGHT = 1.0  # the sentence stands in a section on looks
BIAS = -1.2  # puts the border between visual and not at zero
_MOST = 3
_MARKINGS = {
    "stripe",
    "streak",
    "spot",
    "bar",
    "band",
    "patch",
    "patche",
    "line",
    "blotch",
    "blotche",
    "ring",
    "crescent",
}
_NEAR = 4
_LENGTH = re.compile(r"\d\s?-?(?:cm|mm|centimet|millimet|in\b|inches)")
_LOOK_ALIKE = re.compile(r"\b(?:confused with|mistaken for|told from|distinguished from|separated from)\b")
_ON_OTHER_MATTERS = re.compile(
    r"(?:\w+ ){0,4}?(?:eggs?|nests?|clutch(?:es)?|calls?|songs?(?! (?:thrush|sparrow))|voice|vocali[sz]ations?)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:1[6-9]|20)\d\d\b")
_INNER_CAPITAL = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+")


def visual_score(sentence: str, *, in_section_on_looks: bool = False) -> float:
    """Return the score of a sentence for its looks: visual above zero, unbounded.

    Example:
        >>> visual_score("The male has a black crown and a yellow bill.") > 0
        True
        >>> visual_score("It feeds on seeds and nests in hedges.") > 0
        False
    """
    words = words_of(sentence)
    found = [group_of(word) for word in words]
    counts = Counter(group for group in found if group is not None)
    score = BIAS + LENGTH_WEIGHT * min(len(words), 40)
    score += sum(weight * min(counts[group], _MOST) for group, weight in WEIGHTS.items())
    score += PAIR_WEIGHT * min(len(part_pairs(sentence)), _MOST)
    score += MEASURE_WEIGHT * (counts["breeding"] == 0 and _LENGTH.search(sentence) is not None)
    score += LOOK_ALIKE_WEIGHT * (_LOOK_ALIKE.search(sentence) is not None)
    score += YEAR_WEIGHT * (_YEAR.search(sentence) is not None)
    score += NAME_WEIGHT * min(len(_INNER_CAPITAL.findall(sentence)), 4)
    return score + SECTION_WEIGHT * in_section_on_looks


def part_pairs(sentence: str) -> set[tuple[str, str]]:
    """Return the pairs (body part, colour or pattern or shape next to it) of a sentence: its field marks.

    Example:
        >>> sorted(part_pairs("a red crown")), sorted(part_pairs("the head has a black stripe"))
        ([('crown', 'red')], [('head', 'stripe')])
    """
    words = words_of(sentence)
    found = [group_of(word) for word in words]
    pairs: set[tuple[str, str]] = set()
    for i, group in enumerate(found):
        if group != "part":
            continue
        near = range(max(0, i - _NEAR), min(len(words), i + _NEAR + 1))
        qualities = [j for j in near if found[j] in ("colour", "pattern", "shape")]
        if qualities:
            nearest = min(qualities, key=lambda j: (abs(j - i), j))
            pairs.add((words[i], words[_marking(words, found, nearest) if nearest > i else nearest]))
    return pairs


def _marking(words: list[str], found: list[str | None], quality: int) -> int:
    """Return the place of the marking that a colour belongs to, or that of the colour: a head with a black stripe."""
    last = quality
    while last + 1 < len(words) and (found[last + 1] in ("colour", "shape") or words[last + 1] in ("and", "or")):
        last += 1
    is_marking = last + 1 < len(words) and words[last + 1].removesuffix("s") in _MARKINGS
    return last + 1 if is_marking and found[quality] in ("colour", "shape") else quality


def has_looks(clause: str) -> bool:
    """Say whether a part of a sentence names a body part, a colour, a pattern or a size."""
    return any(group_of(word) in ("part", "colour", "pattern", "size") for word in words_of(clause))


def is_on_other_matters(sentence: str) -> bool:
    """Say whether the first words of a sentence announce eggs, a nest or a song: what it describes is not the animal.

    Example:
        >>> is_on_other_matters("The eggs are blue with brown spots."), is_on_other_matters("It has a brown nape.")
        (True, False)
    """
    return _ON_OTHER_MATTERS.match(sentence) is not None


def has_other_matters(clause: str) -> bool:
    """Say whether a part of a sentence speaks of sound, place, taxonomy, names, behaviour, breeding or weight."""
    return any(
        group_of(word) in ("sound", "place", "taxonomy", "naming", "behaviour", "breeding", "weight", "people")
        for word in words_of(clause)
    )
