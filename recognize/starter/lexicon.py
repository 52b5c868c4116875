"""What a text says of a bird's looks: its words, and which part has which attribute ("red crown").

Run-time code without a model. Part and attribute pairs are what tells species apart: a bag of words knows "red" and
"crown", a pair knows that it is the crown that is red.
"""

from __future__ import annotations

import re
from typing import Final

WINDOW: Final = 5
"""A part and an attribute belong together if at most so many words apart in one sentence."""

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
# One line each: the word that counts, then what is written for it.
_PART_SYNONYMS: Final = """
bill: beak bills beaks
breast: chest breasts
belly: abdomen bellies stomach
back: mantle
wing: wings
leg: legs tarsi
foot: feet
tail: tails
flank: flanks sides side
eye: eyes iris irises
lore: lores
cheek: cheeks auriculars ear
eyebrow: supercilium eyebrows
eyestripe: eyestripes eyeline
eyering: eyerings
wingbar: wingbars bars
head: heads hood
underparts: underside underpart
upperparts: upperpart
body: plumage
undertail: crissum
face: facial
crown: cap caps
neck: necks
shoulder: shoulders
chin: chins
throat: throats
moustache: malar
nape: hindneck
"""
_ATTRIBUTE_SYNONYMS: Final = """
grey: gray grayish greyish slate silver silvery charcoal
brown: brownish
white: whitish
black: blackish
red: reddish
yellow: yellowish lemon
green: greenish
blue: bluish
orange: orangish
pink: pinkish
purple: purplish
streaked: streaks streaking streaky stripes striped
spotted: spots speckled spotting
barred: barring bands banded
buff: buffy beige
rufous: ruddy russet
iridescent: metallic glossy
curved: decurved downcurved
thick: heavy massive
pale: light
bright: vibrant
golden: gold
cinnamon: tawny
broad: wide
turquoise: teal cyan
violet: lavender
slender: slim
small: tiny
large: big
cream: ivory
long: elongated
scaled: scaly scalloped
bare: naked
"""


def _positions(names: tuple[str, ...], synonyms: str) -> dict[str, int]:
    positions = {name: i for i, name in enumerate(names)}
    for line in synonyms.strip().splitlines():
        name, others = line.split(":")
        positions.update(dict.fromkeys(others.split(), positions[name]))
    return positions


_PART_OF: Final = _positions(PARTS, _PART_SYNONYMS)
_ATTRIBUTE_OF: Final = _positions(ATTRIBUTES, _ATTRIBUTE_SYNONYMS)
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
    """Return the pairs that one sentence holds, as positions in `PARTS` x `ATTRIBUTES`.

    Example:
        >>> [pair_name(pair) for pair in pairs_of(["gray", "beak"])]
        ['grey bill']
    """
    parts = [(at, _PART_OF[word]) for at, word in enumerate(words) if word in _PART_OF]
    attributes = [(at, _ATTRIBUTE_OF[word]) for at, word in enumerate(words) if word in _ATTRIBUTE_OF]
    return {
        part * len(ATTRIBUTES) + attribute
        for at, part in parts
        for where, attribute in attributes
        if abs(at - where) <= WINDOW
    }


def pair_name(pair: int) -> str:
    """Return a pair in words."""
    part, attribute = divmod(pair, len(ATTRIBUTES))
    return f"{ATTRIBUTES[attribute]} {PARTS[part]}"
