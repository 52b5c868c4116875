"""Words of a text that the starter pair can compare with a photo: it was trained on descriptions of birds' looks."""

from __future__ import annotations

import re
from typing import Final

from data.lexicon.organisms import organisms
from data.lexicon.tables import column
from data.lexicon.word_groups import variants
from recognize.starter.lexicon import WINDOW

_PART_OF: Final = column("parts", "starter")
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
_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_SENTENCE: Final = re.compile(r"[.;!?\n]+")


def visible_words(text: str) -> tuple[str, ...]:
    """Return the looks in a text, as words: attributes of a part or of the whole bird, marks, and kinds of birds.

    Empty for behaviour, places and counts, and for texts about other animals, of which the pair has seen no photo.

    Example:
        >>> visible_words("a small bird with a red crown, by a river"), visible_words("two birds standing in water")
        (('small', 'red'), ())
        >>> visible_words("a heron in flight"), visible_words("a green frog with a black back")
        (('heron',), ())
    """
    found: list[str] = []
    for sentence in _SENTENCE.split(text.lower()):
        tokens = _WORD.findall(sentence)
        if _is_of_another_animal(tokens):
            return ()
        words = [word for token in tokens for word in token.split("-")]
        parts = {at for at, word in enumerate(words) if word in _PART_OF}
        birds = {at for at, word in enumerate(words) if _is_bird(word)}
        for at, word in enumerate(words):
            if word in _ATTRIBUTES:
                is_of_part = not parts.isdisjoint(range(at - WINDOW, at + WINDOW + 1))
                is_before_a_bird = not birds.isdisjoint(range(at + 1, at + 1 + _BEFORE_A_BIRD))
                if is_of_part or is_before_a_bird or sentence.strip() == word:
                    found.append(word)
            elif _PART_OF.get(word.removesuffix("ed")) in _MARKS or (
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
