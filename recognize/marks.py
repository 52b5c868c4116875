"""The field marks that a description names: a colour, pattern or shape, and the part that has it."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from recognize.encoders.described_colours import sentences_of_words
from recognize.encoders.palette import COLOUR_WORDS, COLOURS

_PARTS_OF: Final[dict[str, str]] = {
    "crown": "crown cap forecrown", "forehead": "forehead", "crest": "crest", "head": "head", "nape": "nape hindcrown",
    "face": "face cheek cheeks ear-coverts auriculars lores lore mask", "eyebrow": "supercilium eyebrow eyestripe",
    "throat": "throat chin bib gorget", "neck": "neck collar", "bill": "bill beak mandible culmen",
    "eye": "eye eyes iris", "eye-ring": "eye-ring eyering", "back": "back mantle upperparts upperpart",
    "wings": "wing wings coverts primaries secondaries", "wing bars": "wingbar wingbars wing-bar wing-bars",
    "rump": "rump", "breast": "breast chest", "underparts": "underparts underpart", "flanks": "flank flanks side sides",
    "belly": "belly abdomen", "vent": "vent undertail crissum", "tail": "tail rectrices", "legs": "leg legs tarsi",
    "feet": "foot feet toes", "plumage": "plumage body",
}  # fmt: skip
_PART: Final[dict[str, str]] = {word: part for part, words in _PARTS_OF.items() for word in words.split()}
_LOOKS_OF: Final[dict[str, str]] = {
    "streaked": "streaked streaks streaking striped stripes", "barred": "barred bars barring", "scaly": "scaly scaled",
    "spotted": "spotted spots speckled mottled", "glossy": "glossy iridescent", "plain": "plain unmarked uniform",
    "long": "long elongated", "short": "short stubby", "hooked": "hooked", "curved": "curved decurved downcurved",
    "conical": "conical", "slender": "slender thin", "stout": "stout thick heavy massive", "forked": "forked notched",
    "rounded": "rounded round", "pointed": "pointed", "bare": "bare naked", "webbed": "webbed",
}  # fmt: skip
_LOOK: Final[dict[str, str]] = {word: look for look, words in _LOOKS_OF.items() for word in words.split()}
_REACH: Final = 4  # words between a look and its part
# "A black stripe over the eye": the eye says where the stripe is, and is not black itself.
_PLACING: Final = frozenset(
    ("over", "above", "behind", "below", "under", "beneath", "through", "around", "across", "between", "near", "beside")
)
_SENTENCE: Final = re.compile(r".+?(?:[.;!?](?=\s)|\n|$)", re.DOTALL)  # all of a text, sentence by sentence
_WORD: Final = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*|[^A-Za-z]+")
_NOT: Final = frozenset(("no", "not", "without", "lack", "lacks", "lacking", "never", "nor"))
_NOT_REACH: Final = 3  # words between "lacks" and the look that is not there
_COPULAS: Final = frozenset(("is", "are", "was", "were"))
_BETWEEN: Final = frozenset(
    (
        "and",
        "or",
        "very",
        "mostly",
        "mainly",
        "dark",
        "pale",
        "bright",
        "dull",
        "deep",
        "light",
        "rather",
        "also",
        "all",
    )
)
_ARTICLES: Final = frozenset(("the", "its", "each", "a", "an"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A look and the part that has it; marks are equal if they mean the same, in whatever words."""

    look: str
    part: str
    """Empty where the text does not say."""

    def __str__(self) -> str:
        return f"{self.look} {self.part}".strip()


def find_marks(text: str) -> tuple[Mark, ...]:
    """Return the marks that a text names, each once, in its order; those that it says are lacking are none.

    Example:
        >>> [str(mark) for mark in find_marks("A scarlet cap, long bill and white-tipped wings.")]
        ['red crown', 'long bill', 'white wings']
    """
    found = {mark: None for words in sentences_of_words(text) for mark in _marks_at(words).values()}
    named = {mark.look for mark in found if mark.part}
    return tuple(mark for mark in found if mark.part or mark.look not in named)


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
    looks = ((position, _LOOK.get(word) or _colour_name(word)) for position, word in enumerate(words))
    return {
        position: Mark(look=look, part=_part_near(words, position))
        for position, look in looks
        if look is not None and _NOT.isdisjoint(words[max(0, position - _NOT_REACH) : position])
    }


def _colour_name(word: str) -> str | None:
    colours = COLOUR_WORDS.get(word)
    return None if colours is None else " and ".join(COLOURS[colour] for colour in colours)


def _part_near(words: list[str], position: int) -> str:
    """Return the nearest part after the look ("red crown") or before it, before it alone in "the crown is red"."""
    copula = _copula_before(words, position)
    for distance in range(1, _REACH + 1):
        for place in (position + distance, position - distance) if copula is None else (copula - distance,):
            if 0 <= place < len(words) and words[place] in _PART and not _says_where(words, place):
                return _PART[words[place]]
    return ""


def _copula_before(words: list[str], position: int) -> int | None:
    """Return the position of the "is" that the look belongs to: only looks and adverbs stand between them."""
    place = position - 1
    while place >= 0 and (words[place] in _BETWEEN or words[place] in _LOOK or _colour_name(words[place])):
        place -= 1
    return place if place >= 0 and words[place] in _COPULAS else None


def _says_where(words: list[str], place: int) -> bool:
    before = [word for word in words[max(0, place - 2) : place] if word not in _ARTICLES]
    return bool(before) and before[-1] in _PLACING
