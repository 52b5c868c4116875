"""Field marks in a description: a colour, pattern or shape, and the part that has it."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from data.lexicon.described_colours import sentences_of_words
from recognize.explanation.plumage import (
    copula_before,
    is_of_all,
    is_placing,
    look_of,
    marking_of,
    part_at,
    part_of_marking,
    side_of,
)
from recognize.explanation.sex_age import is_of_a_bird, sex_age_words

_REACH: Final = 4  # words between a look and its part
_SENTENCE: Final = re.compile(r".+?(?:[.;!?](?=\s)|\n|$)", re.DOTALL)  # all of a text, sentence by sentence
_WORD: Final = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*|[^A-Za-z]+")
_NOT: Final = frozenset(("no", "not", "without", "lack", "lacks", "lacking", "never", "nor", "neither"))
_NOT_REACH: Final = 3  # words between "lacks" and the look that is not there
_OTHERS: Final = frozenset(("unlike", "than", "instead"))  # "unlike the yellow-billed kite": that is another bird's
# What a marking is to its part; otherwise it is on it.
_OF: Final = frozenset(("tips", "edges", "base", "corners"))
_ONE_EACH: Final = frozenset(("tips", "edges"))  # of a tail, but not of wings


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A look and the part that has it; marks are equal if they mean the same, in whatever words."""

    look: str
    """Empty where the part itself is the mark: wing bars."""
    part: str
    """Empty where the text does not say."""
    marking: str = ""
    """The marking of that colour: patch, tips, bars. Empty if the whole part has the colour."""
    sex_age: str = ""
    """`female`, `young`, `female and young`; empty for adults or males."""

    def __str__(self) -> str:
        what = self.look
        if self.marking:
            is_one = self.marking in _ONE_EACH and not self.part.endswith("s")
            what += f" {self.marking.removesuffix('s') if is_one else self.marking}"
            what += f" {'of' if self.marking in _OF else 'on'} the {self.part}" if self.part else ""
        elif self.part:
            what = f"{self.look} {self.part}".strip()
        if not self.sex_age:
            return what
        return f"{what} of the {self.sex_age}" if self.part else f"{what} ({self.sex_age})"


def find_marks(text: str) -> tuple[Mark, ...]:
    """Return the marks that a text names, each once, in its order; those that it says are lacking are none.

    Nor are those of a bird that it compares with by "unlike" or "than".

    Example:
        >>> [str(mark) for mark in find_marks("A scarlet cap, long bill and white-tipped wings; females have no cap.")]
        ['red crown', 'long bill', 'white tips of the wings']
        >>> [str(mark) for mark in find_marks("Females have a white patch on the wings.")]
        ['white patch on the wings of the female']
    """
    found = every_mark(text)
    named = {mark.look for mark in found if mark.part}
    return tuple(mark for mark in found if mark.part or mark.look not in named)


def every_mark(text: str) -> tuple[Mark, ...]:
    """Return the marks of `find_marks`, and the looks of no part that some part has as well."""
    return tuple({mark: None for words in sentences_of_words(text) for mark in _marks_at(words).values()})


def mark_words(text: str, marks: Collection[Mark]) -> tuple[tuple[str, bool], ...]:
    """Return the text in pieces, each with whether it is a word that names one of the marks; joined they are the text.

    Example:
        >>> mark_words("Red cap, white rump.", [Mark(look="red", part="crown")])
        (('Red', True), (' cap, white rump.', False))
    """
    pieces: list[tuple[str, bool]] = [("", False)]
    for sentence in _SENTENCE.findall(text):
        named = [mark in marks for words in sentences_of_words(sentence) for mark in _all_marks(words)]
        for token in _WORD.findall(sentence):
            n_words = sum(map(len, sentences_of_words(token)))  # of a compound
            is_named = any(named[:n_words])
            named = named[n_words:]
            if is_named or pieces[-1][1]:
                pieces.append((token, is_named))
            else:
                pieces[-1] = (pieces[-1][0] + token, False)
    return tuple(piece for piece in pieces if piece[0])


def _all_marks(words: list[str]) -> list[Mark | None]:
    """Return the mark that each word names, None for most."""
    found = _marks_at(words)
    return [found.get(position) for position in range(len(words))]


def _marks_at(words: list[str]) -> dict[int, Mark]:
    """Return the position of each word that names a look -> the mark."""
    sexes_ages = sex_age_words(words)
    looks = ((position, look_of(words, position)) for position in range(len(words)))
    return {
        position: Mark(
            look=look,
            part=_part_near(words, position),
            marking=marking_of(words, position),
            sex_age=sexes_ages[position],
        )
        for position, look in looks
        if look is not None and not _is_denied(words[max(0, position - _NOT_REACH) : position])
    }


def _is_denied(before: list[str]) -> bool:
    """Return whether the words before a look say that the bird has it not, or that it is another bird's."""
    if not _NOT.isdisjoint(before):
        return True
    ends = [at for at, word in enumerate(before) if word in _OTHERS]
    return bool(ends) and not any(map(is_of_a_bird, before[ends[-1] :]))  # "paler than the adult, white below"


def _part_near(words: list[str], position: int) -> str:
    """Return the nearest part after the look ("red crown") or before it, before it alone in "the crown is red"."""
    said = side_of(words, position) or part_of_marking(words, position)
    if said is not None:
        return said
    if is_of_all(words, position):
        return "plumage"
    copula = copula_before(words, position)
    ahead = words[position + 1 : position + 1 + _REACH]
    n_ahead = ahead.index("with") if "with" in ahead else len(ahead)  # "a red bird with black wings"
    for distance in range(1, _REACH + 1):
        ahead_of_it = (position + distance,) if distance <= n_ahead else ()
        for place in (*ahead_of_it, position - distance) if copula is None else (copula - distance,):
            part = part_at(words, place) if 0 <= place < len(words) else None
            if part is not None and not is_placing(words, place):
                return part
    return ""
