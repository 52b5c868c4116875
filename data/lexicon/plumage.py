"""Parts of a bird, their looks and the markings on them, word by word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from data.lexicon.tables import column, rows
from data.lexicon.word_groups import groups


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COLOUR: Final = {word: mixture.replace("+", " and ") for word, mixture in column("colours", "field_mark").items()}
_PART: Final = column("parts", "field_mark")
# Parts of two words: "ear coverts" are not on the wing, an eye ring is not an eye.
_PAIRS: Final[dict[str, dict[str, str]]] = {
    "wing": {"bar": "wing bars", "bars": "wing bars"},
    "eye": {"ring": "eye-ring", "stripe": "eyestripe", "stripes": "eyestripe", "line": "eyestripe"},
    "ear": {"coverts": "face"},
    "undertail": {"coverts": "vent"},
    "uppertail": {"coverts": "rump"},
    "tail": {"coverts": "rump"},
}
_LOOK: Final = column("looks", "field_mark")
# Looks of one kind exclude each other: a tail can be forked and short, but not long and short.
_KINDS: Final = {
    "pattern": "streaked barred scaly spotted plain", "length": "long short", "thickness": "slender stout",
    "shape": "hooked curved conical forked rounded pointed",
}  # fmt: skip
_KIND: Final = {look: kind for kind, looks in _KINDS.items() for look in looks.split()}
# Shapes and the parts that may have them.
_SHAPED: Final = {
    look: {_PART.get(part, part) for part, word, _ in rows("shapes") if _LOOK.get(word) == look}
    | ({"legs", "feet"} if look in ("long", "short", "slender", "stout") else set())
    for look in " ".join(_KINDS.values()).split()
    if look not in _KINDS["pattern"].split()
}
_MARKING: Final = column("markings", "field_mark")
# Words before the colour of a marking: "tipped white".
_COLOURED: Final = _words("tipped edged fringed bordered washed tinged")
# The same with "with": "barred with white".
_MARKED_WITH: Final[dict[str, str]] = {
    "barred": "bars", "streaked": "streaks", "striped": "stripes", "spotted": "spots", "speckled": "spots",
    "mottled": "markings", "marked": "markings", "banded": "bands", "patched": "patches",
}  # fmt: skip
_MARKED_AS: Final = _COLOURED | _MARKED_WITH.keys()
_BETWEEN: Final = _words("and or very mostly mainly dark pale bright dull deep light rather also all")
_SIZES: Final = _words("large small broad narrow fine faint bold distinct double single")
_ARTICLES: Final = _words("the its each a an their both")
_MOST_BETWEEN: Final = 12  # looks and adverbs in a row, which bounds the time for any text
_COPULAS: Final = _words("is are was were appears appear looks look")
_PLACING: Final = _words("over above behind below under beneath through around across between near beside")
_BIRDS: Final = groups()["bird-noun"] | groups()["bird-noun-of-marks"]
_SIDES: Final = {"above": "back", "below": "underparts", "underneath": "underparts"}
_ON: Final = _words("on to of at in along down")
_NO_NOUNS: Final = _words("and or with but than that which while when the a it is are as by from for during")


def look_of(words: Sequence[str], place: int) -> str | None:
    """Return the look of a word, None for most; empty for a part that is a mark in itself: "wing bars"."""
    word = words[place]
    if place and word in _PAIRS.get(_singular(words[place - 1]), {}):
        return "" if word in _LOOK else None
    return _LOOK.get(word) or _COLOUR.get(word)


def kind_of(look: str) -> str:
    """Return the kind of a look; looks of different kinds do not exclude each other."""
    return _KIND.get(look, look if look in _LOOK else "colour")


def can_have(part: str, look: str) -> bool:
    """Return whether a part of the body can have a look: a tail is long, a throat is not.

    Example:
        >>> can_have("tail", "long"), can_have("throat", "long"), can_have("throat", "red")
        (True, False, True)
    """
    shaped = _SHAPED.get(look)
    return shaped is None or part in shaped


def part_at(words: Sequence[str], place: int) -> str | None:
    """Return the part of the body of a word, alone or with its neighbour."""
    if words[place] in ("side", "sides") and words[place + 1 : place + 2] == ["of"]:  # sides of the neck are not flanks
        parts = (_named_part(words, at) for at in range(place + 2, min(place + 4, len(words))))
        return next((part for part in parts if part is not None), None)
    return _named_part(words, place)


def is_name_of(word: str, part: str) -> bool:
    """Return whether a word alone names a part: "cheek" the face, but not "coverts" of "ear coverts"."""
    return part in (_PART.get(word), _PART.get(_singular(word)))


def marking_of(words: Sequence[str], place: int) -> str:
    """Return the marking of a colour ("white-tipped", "barred with white"); empty for a colour of the whole part.

    Only colours belong to markings: a long tail with a band has no long band.
    """
    if words[place] not in _COLOUR:
        return ""
    ahead = _marking_ahead(words, place)
    return _MARKING[words[ahead]] if ahead is not None else _marking_behind(words, place)


def part_of_marking(words: Sequence[str], place: int) -> str | None:
    """Return the part with the marking of a colour: "white spots on the wings", "the wings are edged white".

    Empty if the marking is over, between or beside parts ("a black stripe through the eye"); None if unknown.
    """
    if not marking_of(words, place):
        return None
    ahead = _marking_ahead(words, place)
    if ahead is None:
        return _part_before(words, place)
    behind = words[ahead + 1 : ahead + 6]
    if behind and behind[0] in _ON:
        parts = (part_at(words, ahead + 2 + i) for i in range(len(behind) - 1))
        return next((part for part in parts if part is not None), "")
    return "" if _PLACING.intersection(behind[:3]) else None


def side_of(words: Sequence[str], place: int) -> str | None:
    """Return the side of the bird in "blue above", "white below" and "above it is blue, below white".

    Not in "white below the eye".
    """
    at = _before_looks(words, place)
    if at >= 2 and words[at] in _COPULAS and words[at - 1] == "it":
        at -= 2
    if at >= 0 and words[at] in _SIDES and _is_ahead(words, at):
        return _SIDES[words[at]]
    side = _SIDES.get(words[place + 1]) if place + 1 < len(words) and not _is_ahead(words, place + 1) else None
    is_of_part = place + 2 < len(words) and (words[place + 2] in _ARTICLES or part_at(words, place + 2) is not None)
    return None if is_of_part else side


def _is_ahead(words: Sequence[str], at: int) -> bool:
    """Return whether a side stands before its look, as the first side of the sentence does or does not."""
    first = next((place for place in range(at + 1) if words[place] in _SIDES), at)
    return first == 0 or not _may_stand_between(words[first - 1])


def is_of_another(words: Sequence[str], part: int, look: int) -> bool:
    """Return whether a look after a part describes a noun that follows: "a black head and white face"."""
    after = words[look + 1] if look + 1 < len(words) else "and"
    is_noun = not _may_follow(after) and after not in _ON | _PLACING | _NO_NOUNS
    return words[part + 1] in ("and", "or") and is_noun and not marking_of(words, look)


def is_of_all(words: Sequence[str], place: int) -> bool:
    """Return whether a colour belongs to the whole bird: "a white owl", "red all over", "brown overall"."""
    if words[place] not in _COLOUR:
        return False
    at, end = place + 1, min(place + 1 + _MOST_BETWEEN, len(words))
    while at < end and _may_follow(words[at]):
        at += 1
    if at >= len(words):
        return False
    is_all_over = words[at - 1 : at + 1] == ["all", "over"] and words[at + 1 : at + 2] not in (["the"], ["its"])
    return is_all_over or words[at] in _BIRDS or words[at] == "overall"


def is_placing(words: Sequence[str], place: int) -> bool:
    """Return whether a part only places a mark: "over the eye"."""
    return bool(_PLACING.intersection(without_articles(words[max(0, place - 2) : place])[-1:]))


def copula_before(words: Sequence[str], place: int) -> int | None:
    """Return the position of the "is" before a look, with only looks and adverbs between them."""
    at = _before_looks(words, place)
    return at if at >= 0 and words[at] in _COPULAS else None


def without_articles(words: Sequence[str]) -> list[str]:
    """Return the words without articles and determiners."""
    return [word for word in words if word not in _ARTICLES]


def _named_part(words: Sequence[str], place: int) -> str | None:
    word = words[place]
    after = words[place + 1] if place + 1 < len(words) else ""
    before = _singular(words[place - 1]) if place else ""
    of_two = _PAIRS.get(_singular(word), {}).get(after) or _PAIRS.get(before, {}).get(word)
    return of_two or _PART.get(word) or _PART.get(_singular(word))


def _part_before(words: Sequence[str], place: int) -> str | None:
    """Return the part before "tipped white" or "barred with white"."""
    if not _MARKED_AS.intersection(words[max(0, place - 4) : place]):
        return None
    return next((part for at in range(place - 1, max(-1, place - 8), -1) if (part := part_at(words, at))), None)


def _marking_ahead(words: Sequence[str], place: int) -> int | None:
    """Return the position of the marking after a colour: "white bars", "white wing patch"."""
    at, end = place + 1, min(place + 1 + _MOST_BETWEEN, len(words))
    while at < end and words[at] not in _MARKING and _may_follow(words[at]):
        at += 1
    at += at < len(words) and part_at(words, at) is not None
    return at if at < len(words) and words[at] in _MARKING and part_at(words, at) is None else None


def _marking_behind(words: Sequence[str], place: int) -> str:
    """Return the marking before a colour: "tipped white", "patch of white", "the wing patch is white"."""
    at = _before_looks(words, place)
    before = words[at - 1] if at >= 1 else ""
    if at < 0:
        return ""
    if words[at] in _COPULAS:
        return _marking_before(words, at)
    if words[at] in _COLOURED and before not in _COLOUR:  # not in "grey-washed white"
        return _MARKING[words[at]]
    if words[at] in ("with", "in") and not (place + 1 < len(words) and part_at(words, place + 1)):
        return _MARKED_WITH.get(before, _MARKING[before] if before in _COLOURED else "")
    return _MARKING.get(before, "") if words[at] == "of" else ""


def _before_looks(words: Sequence[str], place: int) -> int:
    """Return the position of the word before a series of looks and adverbs; -1 for none."""
    at = place - 1
    while at >= max(0, place - _MOST_BETWEEN) and _may_stand_between(words[at]):
        at -= 1
    return at


def _marking_before(words: Sequence[str], copula: int) -> str:
    """Return the marking that is the subject of "is": "the wing patch is", "the tips of the wings are"."""
    if not copula:
        return ""
    if words[copula - 1] in _MARKING and not part_at(words, copula - 1):
        return _MARKING[words[copula - 1]]
    subject = without_articles(words[max(0, copula - 4) : copula - 1])
    return _MARKING.get(subject[-2], "") if subject[-1:] == ["of"] and len(subject) > 1 else ""


def _may_stand_between(word: str) -> bool:
    return word in _BETWEEN or word in _LOOK or word in _COLOUR


def _may_follow(word: str) -> bool:
    return _may_stand_between(word) or word in _SIZES


def _singular(word: str) -> str:
    return word.removesuffix("s")
