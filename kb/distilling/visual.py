"""How much a sentence speaks of looks: a small linear score over the word groups of the lexicon, open to inspection."""

from __future__ import annotations

import re
from collections import Counter

from kb.distilling.lexicon import group_of, words_of

# Points a word of the group gives, each group counted up to `_MOST`. Fitted by logistic regression on 312 sentences
# labelled before any tuning (tests/kb/labels, half "development"), then rounded by hand.
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
LENGTH_WEIGHT = -0.06  # a word, whatever it is: looks are told densely
SECTION_WEIGHT = 1.0  # the sentence stands in a section on looks
BIAS = -1.4  # puts the border between visual and not at zero
_MOST = 3
_NEAR = 4
_INNER_CAPITAL = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+")


def visual_score(sentence: str, *, in_section_on_looks: bool = False) -> float:
    """Return how clearly a sentence speaks of looks: above zero it does; no upper or lower bound.

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
    score += NAME_WEIGHT * min(len(_INNER_CAPITAL.findall(sentence)), 4)
    return score + SECTION_WEIGHT * in_section_on_looks


def part_pairs(sentence: str) -> set[tuple[str, str]]:
    """Return the pairs (body part, colour or pattern or shape next to it) of a sentence: its field marks.

    Example:
        >>> sorted(part_pairs("a red crown"))
        [('crown', 'red')]
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
            pairs.add((words[i], words[nearest]))
    return pairs


def has_looks(clause: str) -> bool:
    """Say whether a part of a sentence names a body part, a colour, a pattern or a size."""
    return any(group_of(word) in ("part", "colour", "pattern", "size") for word in words_of(clause))


def has_other_matters(clause: str) -> bool:
    """Say whether a part of a sentence speaks of sound, place, taxonomy, names, behaviour, breeding or weight."""
    return any(
        group_of(word) in ("sound", "place", "taxonomy", "naming", "behaviour", "breeding", "weight", "people")
        for word in words_of(clause)
    )
