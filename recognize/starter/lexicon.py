"""Features of a text for the starter models: its words, and its pairs of part and attribute ("red crown").

A pair states that the crown is red, which distinguishes species; a bag of words does not. The shipped weights freeze
`PARTS`, `ATTRIBUTES` and the `starter` columns of the lexicon, so this module is separate from
`data.lexicon.marks`.
"""

from __future__ import annotations

import re
from typing import Final

from data.lexicon.tables import column

WINDOW: Final = 5
"""Maximum distance in words between a part and its attribute."""

_WORD: Final = re.compile(r"[a-z]+")
_SENTENCE_END: Final = re.compile(r"[.;!?\n]+")

_PART_NAMES: Final = """
bill head crown forehead nape eye lore cheek face eyebrow eyering eyestripe throat chin breast belly flank back rump
wing wingbar tail leg foot crest neck vent mask collar body upperparts underparts shoulder undertail moustache
"""
_ATTRIBUTE_NAMES: Final = """
white black grey brown red yellow green blue orange olive rufous chestnut buff pink purple cream tan scarlet crimson
violet turquoise golden maroon cinnamon iridescent streaked spotted barred mottled scaled long short curved hooked
thick thin pointed conical large small forked rounded slender stout straight dark pale bright bare notched broad
"""
PARTS: Final = tuple(_PART_NAMES.split())
ATTRIBUTES: Final = tuple(_ATTRIBUTE_NAMES.split())
_PART_OF: Final = {word: PARTS.index(name) for word, name in column("parts", "starter").items()}
_ATTRIBUTE_OF: Final = {
    word: ATTRIBUTES.index(name) for table in ("colours", "looks") for word, name in column(table, "starter").items()
}
N_PAIRS: Final = len(PARTS) * len(ATTRIBUTES)


def sentences_of(text: str) -> list[list[str]]:
    """Return the words of each sentence, in lower case.

    Example:
        >>> sentences_of("Red crown; black bill.")
        [['red', 'crown'], ['black', 'bill']]
    """
    parts = (_WORD.findall(part) for part in _SENTENCE_END.split(text.lower()))
    return [words for words in parts if words]


def pairs_of(words: list[str]) -> set[int]:
    """Return the pairs of a sentence, positions in `PARTS` x `ATTRIBUTES`.

    Example:
        >>> pairs_of(["gray", "beak"]) == pairs_of(["grey", "bill"]) != pairs_of(["red", "crown"])
        True
    """
    parts = [(at, _PART_OF[word]) for at, word in enumerate(words) if word in _PART_OF]
    attributes = [(at, _ATTRIBUTE_OF[word]) for at, word in enumerate(words) if word in _ATTRIBUTE_OF]
    return {
        part * len(ATTRIBUTES) + attribute
        for at, part in parts
        for where, attribute in attributes
        if abs(at - where) <= WINDOW
    }
