"""Sides and stages that a heading or an earlier sentence names, as a label before a statement."""

from __future__ import annotations

import re
from typing import Final

from data.lexicon.appearance import appearance
from data.lexicon.word_groups import words_of

_REACH: Final = 5  # words; later on, a side is a detail
_STARTS_WITH_WINGS: Final = re.compile(r"(?:The|Its|Each|Both) (?:\w+ )?(?:forewings?|hindwings?|wings?|ground)\b")
_IS: Final = re.compile(r"^(?:It is|They are) ")
_LABEL: Final = re.compile(
    r"^(?:Leaf|Flower|Fruit|Male|Female|Juvenile|Larva|Pupa|Race|Season|Upperside|Underside): ", re.IGNORECASE
)


class SideReader:
    """Keeps the side of the wings that a text speaks of, sentence by sentence."""

    def __init__(self, group: str) -> None:
        self._sides = appearance(group).kept_apart
        self._leading = ""

    def read(self, sentence: str, title: str, *, is_new_paragraph: bool) -> str:
        """Return the side of a sentence that does not name it: that of its heading, or of the sentence before.

        A side goes on in a paragraph, where a sentence begins with wings.
        """
        if not self._sides:
            return ""
        words = words_of(sentence)
        named = [self._sides[word] for word in words if word in self._sides]
        headed = [self._sides[word] for word in words_of(title) if word in self._sides]
        if is_new_paragraph:
            self._leading = headed[0] if len(set(headed)) == 1 else ""
        if named:
            self._leading = named[0] if len(set(named)) == 1 and set(words[:_REACH]) & self._sides.keys() else ""
            return ""
        if len(set(headed)) == 1:
            return headed[0]
        return self._leading if _STARTS_WITH_WINGS.match(sentence) else ""


def labelled(text: str, label: str) -> str:
    """Return a statement under its label.

    Example:
        >>> labelled("It is green with a white stripe.", "larva")
        'Larva: green with a white stripe.'
    """
    said = _IS.sub("", text)
    return f"{label.capitalize()}: {said[:1].lower()}{said[1:]}"


def without_label(text: str) -> str:
    """Return a statement without its label.

    Example:
        >>> without_label("Larva: green."), without_label("The larva is green.")
        ('green.', 'The larva is green.')
    """
    return _LABEL.sub("", text)
