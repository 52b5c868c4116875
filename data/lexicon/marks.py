"""Field marks in a description: a colour, pattern or shape, and the part that has it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from data.lexicon.plumage import (
    can_have,
    copula_before,
    is_name_of,
    is_of_all,
    is_of_another,
    is_placing,
    kind_of,
    look_of,
    marking_of,
    part_at,
    part_of_marking,
    side_of,
    without_articles,
)
from data.lexicon.tables import column
from data.lexicon.word_groups import equations

_REACH: Final = 4  # words between a look and its part
_BARE: Final = "bare"  # of the next word alone: "bare skin at the head" is no bare head
_SENTENCE: Final = re.compile(r".+?(?:[.;!?](?=\s)|\n|$)", re.DOTALL)
_WORD: Final = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*|[^A-Za-z]+")
_END_OF_SENTENCE: Final = re.compile(r"[.;!?]\s+|\n")  # not at a colon: "crown: red"
_TOKEN: Final = re.compile(r"[a-z]+(?:-[a-z]+)*")
_PARTICIPLES: Final = dict(equations("participle"))  # the part in "red-capped"
_COMPOUNDS: Final = {
    word for table in ("colours", "parts") for word in column(table, "field_mark") if "-" in word
}  # not in pieces: "olive-green", "ear-coverts"
_NOT: Final = frozenset(("no", "not", "without", "lack", "lacks", "lacking", "never", "nor", "neither"))
_NOT_REACH: Final = 3  # words between "lacks" and the look
_COMPARING: Final = frozenset(("unlike", "than", "instead"))  # "unlike the yellow-billed kite"
# Markings "of" their part; all others are "on" it.
_OF: Final = frozenset(("tips", "edges", "base", "corners"))
_ONE_EACH: Final = frozenset(("tips", "edges"))  # of a tail, but not of wings

_OWN: Final = ""  # of males and adults, which stand for the species

_SEX_AGE: Final = column("sexes", "field_mark")
_MALES: Final = frozenset(word for word, named in _SEX_AGE.items() if named in ("male", "both"))
_ADULTS: Final = frozenset(word for word, named in _SEX_AGE.items() if named == "adult")
_OTHERS: Final = {word: named for word, named in _SEX_AGE.items() if named in ("female", "young")}
_COMPARED: Final = frozenset(("like", "unlike", "than", "resemble", "resembles", "resembling", "to", "as", "from"))


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
    """`female`, `young`, `female and young`; empty for adults or males."""
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
        if not self.sex_age:
            return what
        return f"{what} of the {self.sex_age}" if self.part else f"{what} ({self.sex_age})"


def find_marks(text: str) -> tuple[Mark, ...]:
    """Return the marks that a text mentions, each once, in order.

    Marks that are denied ("no crest"), or belong to a bird in a comparison ("unlike", "than"), do not count.

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
    """Return the marks of `find_marks`, and looks without a part that some part also has."""
    return tuple({mark: None for words in sentences_of_words(text) for mark in _marks_at(words).values()})


def mark_words(text: str, marks: Collection[Mark]) -> tuple[tuple[str, bool], ...]:
    """Return the text in pieces, each with whether it is a word of one of the marks.

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


def sentences_of_words(text: str) -> list[list[str]]:
    """Return the words of each sentence, lower case; compounds are split (`red-capped` gives `red`, `cap`)."""
    sentences = _END_OF_SENTENCE.split(text.lower())
    return [[piece for token in _TOKEN.findall(sentence) for piece in _pieces(token)] for sentence in sentences]


def _pieces(token: str) -> list[str]:
    if token in _COMPOUNDS:
        return [token]
    return [_PARTICIPLES.get(piece, piece) for piece in token.split("-")]


def _all_marks(words: list[str]) -> list[Mark | None]:
    """Return the mark of each word, None for most."""
    found = _marks_at(words)
    return [found.get(position) for position in range(len(words))]


def _marks_at(words: list[str]) -> dict[int, Mark]:
    """Return position of a word for a look -> the mark."""
    sexes_ages = _sex_age_words(words)
    found = {}
    for position in range(len(words)):
        look = look_of(words, position)
        if look is None or _is_denied(words[max(0, position - _NOT_REACH) : position]):
            continue
        part, place = _part_near(words, position, look)
        found[position] = Mark(
            look=look,
            part=part,
            marking=marking_of(words, position),
            sex_age=sexes_ages[position],
            look_word=words[position] if look and kind_of(look) != "pattern" else "",
            part_word=words[place] if place is not None and is_name_of(words[place], part) else "",
        )
    return found


def _is_denied(before: list[str]) -> bool:
    """Return whether the words before a look deny it or ascribe it to another bird."""
    if not _NOT.isdisjoint(before):
        return True
    ends = [at for at, word in enumerate(before) if word in _COMPARING]
    return bool(ends) and not any(map(_is_of_a_bird, before[ends[-1] :]))  # "paler than the adult, white below"


def _part_near(words: list[str], position: int, look: str) -> tuple[str, int | None]:
    """Return the nearest part that can have the look, after it ("red crown") or before it ("the crown is red").

    With the position of its word, if it is named by one.
    """
    explicit = side_of(words, position) or part_of_marking(words, position)
    if explicit is not None:
        return explicit, None
    if is_of_all(words, position):
        return "plumage", None
    copula = copula_before(words, position)
    ahead = words[position + 1 : position + 1 + _REACH]
    n_ahead = ahead.index("with") if "with" in ahead else len(ahead)  # "a red bird with black wings"
    for distance in range(1, (1 if look == _BARE else _REACH) + 1):
        ahead_of_it = (position + distance,) if distance <= n_ahead else ()
        for place in (*ahead_of_it, position - distance) if copula is None else (copula - distance,):
            part = part_at(words, place) if 0 <= place < len(words) else None
            if part is None or not can_have(part, look) or is_placing(words, place):
                continue
            is_other = copula is None and place < position and is_of_another(words, place, position)
            return ("", None) if is_other else (part, place)
    return "", None


def _sex_age_words(words: Sequence[str]) -> list[str]:
    """Return the sex or age that each word of a sentence describes: `female`, `young`, `female and young`, or nothing.

    A word like "females" applies to the words after it, until males, adults or the end of the sentence; after "in" it
    applies to the words before it. Birds in a comparison ("paler than the female") do not count.
    """
    owners = [_OWN] * len(words)
    owner, since = _OWN, 0
    for place, word in enumerate(words):
        named = _OWN if word in _MALES or word in _ADULTS else _OTHERS.get(word)
        before = without_articles(words[max(0, place - 3) : place])
        if named is not None and not _COMPARED.intersection(before[-1:]) and not _is_adjective(word, before):
            named = _joined(named, word, before, owner)
            if before[-1:] == ["in"] and place > 2 and owner == _OWN:
                owners[since:place] = [named] * (place - since)
                owner = _OWN
            else:
                owner = named
            since = place + 1
        owners[place] = owner
    return owners


def _is_of_a_bird(word: str) -> bool:
    """Return whether a word stands for birds of one sex or age."""
    return word in _MALES or word in _ADULTS or word in _OTHERS


def _is_adjective(word: str, before: Sequence[str]) -> bool:
    """Return whether a word only qualifies the one before it: "young male", "female adult"."""
    return (word in _MALES or word in _ADULTS) and bool(before) and before[-1] in _OTHERS


def _joined(named: str, word: str, before: Sequence[str], owner: str) -> str:
    """Return the sex or age of two that are named together; nothing for males and females."""
    if len(before) < 2 or before[-1] not in ("and", "or"):
        return named
    first = before[-2]
    if first in _MALES or first in _ADULTS or word in _MALES or word in _ADULTS:
        return _OWN if first in _OTHERS or first in _MALES or first in _ADULTS else named
    return "female and young" if first in _OTHERS and {named, owner} == {"female", "young"} else named
