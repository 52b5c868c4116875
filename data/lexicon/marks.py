"""Field marks in a description: a colour, pattern or shape, the part that has it, its sex or stage, and its side."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from data.lexicon.appearance import COPULAS, OWN, Appearance, appearance, kind_of, owners_of_words, sides_of_words
from data.lexicon.words import BIRDS

_BARE: Final = "bare"  # of the next word alone: "bare skin at the head" is no bare head
_SENTENCE: Final = re.compile(r".+?(?:[.;!?](?=\s)|\n|$)", re.DOTALL)
_WORD: Final = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*|[^A-Za-z]+")
_END_OF_SENTENCE: Final = re.compile(r"[.;!?]\s+|\n")  # not at a colon: "crown: red"
_TOKEN: Final = re.compile(r"[a-z]+(?:-[a-z]+)*")
_NOT: Final = frozenset(("no", "not", "without", "lack", "lacks", "lacking", "never", "nor", "neither"))
_NOT_REACH: Final = 3  # words between "lacks" and the look
_COMPARING: Final = frozenset(("unlike", "than", "instead"))  # "unlike the yellow-billed kite"
# Markings "of" their part; all others are "on" it.
_OF: Final = frozenset(("tips", "edges", "base", "corners"))
_ONE_EACH: Final = frozenset(("tips", "edges"))  # of a tail, but not of wings


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A look and its part, in normalised words."""

    look: str
    """Empty if the part itself is the mark: wing bars."""
    part: str
    """Empty if unknown."""
    marking: str = ""
    """Marking of that colour: patch, tips, bars. Empty if the whole part has the colour."""
    sex_age: str = ""
    """`female`, `young`, `female and young`, `larva`, `pupa`; empty for adults or males."""
    side: str = ""
    """`upperside` or `underside` of wings; empty if unknown or without a difference."""
    look_word: str = field(default="", compare=False)
    """Word of the text for the look: blue-grey for slate; empty for patterns, which may be nouns."""
    part_word: str = field(default="", compare=False)
    """Word of the text for the part, if one word names it: cheek for face."""

    @property
    def shown(self) -> str:
        """The mark in the words of its text, as people read it."""
        return str(replace(self, look=self.look_word or self.look, part=self.part_word or self.part))

    def __str__(self) -> str:
        what = self.look
        if self.marking:
            is_one = self.marking in _ONE_EACH and not self.part.endswith("s")
            what += f" {self.marking.removesuffix('s') if is_one else self.marking}"
            what += f" {'of' if self.marking in _OF else 'on'} the {self.part}" if self.part else ""
        elif self.part:
            what = f"{self.look} {self.part}".strip()
        if self.side:
            what += f" on the {self.side}" if self.part else f" ({self.side})"
        if not self.sex_age:
            return what
        return f"{what} of the {self.sex_age}" if self.part else f"{what} ({self.sex_age})"


@lru_cache(maxsize=256)  # a distiller asks for the marks of a sentence again when it chooses among the sentences
def find_marks(text: str, group: str = BIRDS) -> tuple[Mark, ...]:
    """Return the marks that a text on a species of a group mentions, each once, in order.

    Marks that are denied ("no crest"), or belong to a bird in a comparison ("unlike", "than"), do not count.
    """
    found = every_mark(text, group)
    named = {mark.look for mark in found if mark.part}
    return tuple(mark for mark in found if mark.part or mark.look not in named)


def every_mark(text: str, group: str = BIRDS) -> tuple[Mark, ...]:
    """Return the marks of `find_marks`, and looks without a part that some part also has."""
    return tuple({mark: None for found in _marks_of_sentences(text, group) for mark in found if mark is not None})


def _marks_of_sentences(text: str, group: str) -> list[list[Mark | None]]:
    """Return the mark of each word, None for most, by sentence."""
    looks = appearance(group)
    found: list[list[Mark | None]] = []
    owner = OWN
    for words in sentences_of_words(text, group):
        owners = owners_of_words(words, looks, before=owner)
        owner = owners[-1] if owners else OWN
        found.append(_marks_of_words(words, owners, looks))
    return found


def mark_words(text: str, marks: Collection[Mark], group: str = BIRDS) -> tuple[tuple[str, bool], ...]:
    """Return the text in pieces, each with whether it is a word of one of the marks."""
    pieces: list[tuple[str, bool]] = [("", False)]
    named = [mark in marks for found in _marks_of_sentences(text, group) for mark in found]
    for sentence in _SENTENCE.findall(text):
        for token in _WORD.findall(sentence):
            n_words = sum(map(len, sentences_of_words(token, group)))  # of a compound
            is_named = any(named[:n_words])
            named = named[n_words:]
            if is_named or pieces[-1][1]:
                pieces.append((token, is_named))
            else:
                pieces[-1] = (pieces[-1][0] + token, False)
    return tuple(piece for piece in pieces if piece[0])


def sentences_of_words(text: str, group: str = BIRDS) -> list[list[str]]:
    """Return the words of each sentence, lower case; compounds are split (`red-capped` gives `red`, `cap`)."""
    looks = appearance(group)
    return [
        [
            looks.participles.get(piece, piece)
            for token in _TOKEN.findall(sentence)
            for piece in ([token] if token in looks.compounds else token.split("-"))
        ]
        for sentence in _END_OF_SENTENCE.split(text.lower())
    ]


def _marks_of_words(words: list[str], owners: list[str], looks: Appearance) -> list[Mark | None]:
    sides = sides_of_words(words, looks)
    found: list[Mark | None] = [None] * len(words)
    for position in range(len(words)):
        look = looks.look_of(words, position)
        if look is None or _is_denied(words[max(0, position - _NOT_REACH) : position], looks):
            continue
        part, place = _part_near(words, position, look, looks)
        found[position] = Mark(
            look=look,
            part=part,
            marking=looks.marking_of(words, position),
            sex_age=owners[position],
            side=sides[position] if part in looks.sided or not part else "",
            look_word=words[position] if look and kind_of(look) != "pattern" else "",
            part_word=words[place] if place is not None and looks.is_name_of(words[place], part) else "",
        )
    return found


def _is_denied(before: list[str], looks: Appearance) -> bool:
    """Return whether the words before a look deny it or ascribe it to another bird."""
    if not _NOT.isdisjoint(before):
        return True
    ends = [at for at, word in enumerate(before) if word in _COMPARING]
    # Not in "paler than the adult, white below".
    return bool(ends) and not any(word in looks.own or word in looks.others for word in before[ends[-1] :])


def _part_near(words: list[str], position: int, look: str, looks: Appearance) -> tuple[str, int | None]:
    """Return the nearest part that can have the look, after it ("red crown") or before it ("the crown is red").

    With the position of its word, if it is named by one.
    """
    explicit = looks.side_of(words, position) or looks.part_of_marking(words, position)
    if explicit is not None:
        return explicit, None
    if looks.is_of_all(words, position):
        return looks.whole, None
    before = looks.before_looks(words, position)
    copula = before if before >= 0 and words[before] in COPULAS else None
    ahead = words[position + 1 : position + 1 + looks.reach]
    n_ahead = ahead.index("with") if "with" in ahead else len(ahead)  # "a red bird with black wings"
    for distance in range(1, (1 if look == _BARE else looks.reach) + 1):
        ahead_of_it = (position + distance,) if distance <= n_ahead else ()
        for place in (*ahead_of_it, position - distance) if copula is None else (copula - distance,):
            part = looks.part_at(words, place) if 0 <= place < len(words) else None
            # The legs of "a long-legged owl with a white face" are not white.
            is_of_kind = copula is None and not looks.wholes.isdisjoint(words[place + 1 : position])
            if (
                part is None
                or is_of_kind
                or part not in looks.shaped.get(look, [part])
                or looks.is_placing(words, place)
            ):
                continue
            is_other = copula is None and place < position and looks.is_of_another(words, place, position)
            return ("", None) if is_other else (part, place)
    return "", None
