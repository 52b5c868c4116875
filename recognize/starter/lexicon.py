"""Features of a text for the starter models: its words, and its pairs of part and attribute ("red crown").

A pair states that the crown is red, which distinguishes species; a bag of words does not. The shipped weights freeze
`PARTS`, `ATTRIBUTES` and the `starter` columns of the lexicon, so this module is separate from
`data.lexicon.marks`.
"""

from __future__ import annotations

import re
from typing import Final

from data.lexicon.tables import column
from data.lexicon.taxa import organisms
from data.lexicon.word_groups import variants

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
    """Return the words of each sentence, in lower case."""
    parts = (_WORD.findall(part) for part in _SENTENCE_END.split(text.lower()))
    return [words for words in parts if words]


def pairs_of(words: list[str]) -> set[int]:
    """Return the pairs of a sentence, positions in `PARTS` x `ATTRIBUTES`."""
    parts = [(at, _PART_OF[word]) for at, word in enumerate(words) if word in _PART_OF]
    attributes = [(at, _ATTRIBUTE_OF[word]) for at, word in enumerate(words) if word in _ATTRIBUTE_OF]
    return {
        part * len(ATTRIBUTES) + attribute
        for at, part in parts
        for where, attribute in attributes
        if abs(at - where) <= WINDOW
    }


_PART_WORDS: Final = column("parts", "starter")
_ATTRIBUTES: Final = frozenset((*column("colours", "starter"), *column("looks", "starter")))
# Marks that some birds have and others lack; every bird has a bill, so the word alone tells none apart.
_MARKS: Final = frozenset(("crest", "wingbar", "eyering", "eyestripe", "eyebrow", "mask", "collar", "moustache"))
_ANIMALS: Final = frozenset(
    ("mammals", "reptiles", "amphibians", "fish", "insects", "arachnids", "crustaceans", "molluscs")
)
"""Groups of organisms besides birds; plants are not among them, because birds sit on them."""
_ANY_BIRD: Final = frozenset((
    "bird", "waterbird", "seabird", "songbird", "shorebird", "hen", "cock", "nestling", "fledgling", "chick", "fledge",
))  # fmt: skip
_BEFORE_A_BIRD: Final = 3  # words between an attribute and "bird": "a brown and white bird"
_TOKEN: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


def visible_words(text: str) -> tuple[str, ...]:
    """Return the looks in a text, as words: attributes of a part or of the whole bird, marks, and kinds of birds.

    Empty for behaviour, places and counts, and for texts about other animals, of which the pair has seen no photo.
    """
    found: list[str] = []
    for sentence in _SENTENCE_END.split(text.lower()):
        tokens = _TOKEN.findall(sentence)
        if _is_of_another_animal(tokens):
            return ()
        words = [word for token in tokens for word in token.split("-")]
        parts = {at for at, word in enumerate(words) if word in _PART_WORDS}
        birds = {at for at, word in enumerate(words) if _is_bird(word)}
        for at, word in enumerate(words):
            if word in _ATTRIBUTES:
                is_of_part = not parts.isdisjoint(range(at - WINDOW, at + WINDOW + 1))
                is_before_a_bird = not birds.isdisjoint(range(at + 1, at + 1 + _BEFORE_A_BIRD))
                if is_of_part or is_before_a_bird or sentence.strip() == word:
                    found.append(word)
            elif _PART_WORDS.get(word.removesuffix("ed")) in _MARKS or (
                at in birds and not _ANY_BIRD & {word, *variants(word)}
            ):
                found.append(word)
    return tuple(found)


def _is_bird(word: str) -> bool:
    return any(organisms().get(form) == "birds" for form in (word, *variants(word)))


def _is_of_another_animal(tokens: list[str]) -> bool:
    """Return whether a word is another animal: not in "mouse-grey", "mouse grey" and "fox sparrow"."""
    for at, word in enumerate(tokens):
        if any(organisms().get(form) in _ANIMALS for form in (word, *variants(word))):
            following = tokens[at + 1] if at + 1 < len(tokens) else ""
            if following not in _ATTRIBUTES and not _is_bird(following):
                return True
    return False
