"""Parts of an organism, their looks and the markings on them, word by word, and whose they are: sex, age and side."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cache
from typing import Final

from data.lexicon.words import BIRDS, column, equations, group_names, groups, rows, stem, variants


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Looks of one kind exclude each other: a tail can be forked and short, but not long and short.
_KINDS: Final = {
    "pattern": "streaked barred scaly spotted plain", "length": "long short", "thickness": "slender stout",
    "shape": "hooked curved conical forked rounded pointed",
}  # fmt: skip
_KIND: Final = {look: kind for kind, looks in _KINDS.items() for look in looks.split()}
# Words before the colour of a marking: "tipped white".
_COLOURED: Final = _words("tipped edged fringed bordered washed tinged")
# The same with "with": "barred with white".
_MARKED_WITH: Final[dict[str, str]] = {
    "barred": "bars", "streaked": "streaks", "striped": "stripes", "spotted": "spots", "speckled": "spots",
    "mottled": "markings", "marked": "markings", "banded": "bands", "patched": "patches",
}  # fmt: skip
MARKED_AS: Final = _COLOURED | _MARKED_WITH.keys()
_BETWEEN: Final = _words("and or very mostly mainly dark pale bright dull deep light rather also all")
_SIZES: Final = _words("large small broad narrow fine faint bold distinct double single")
_ARTICLES: Final = _words("the its each a an their both")
_MOST_BETWEEN: Final = 12  # looks and adverbs in a row, which bounds the time for any text
COPULAS: Final = _words("is are was were appears appear looks look")
_PLACING: Final = _words("over above behind below under beneath through around across between near beside")
_ON: Final = _words("on to of at in along down")
_NO_NOUNS: Final = _words("and or with but than that which while when the a it is are as by from for during")


class Appearance:
    """Words for parts and looks of a group of organisms, and how they go together in a sentence of words."""

    reach: Final = 4
    """Words between a look and its part, at most."""

    def __init__(self, group: str) -> None:
        colours = column("colours", "field_mark", group=group)
        self._colour = {word: mixture.replace("+", " and ") for word, mixture in colours.items()}
        self._part = column("parts", "field_mark", group=group)
        # Parts of two words: "ear coverts" are not on the wing, an eye ring is not an eye.
        self._pairs = {(first, second): part for first, second, part in rows("pairs", group=group)[::-1]}
        self._look = column("looks", "field_mark", group=group)
        self._between = _BETWEEN | self._look.keys() | self._colour.keys()
        self._following = self._between | _SIZES  # words between a look and its noun
        self.shaped: dict[str, set[str]] = {look: set() for look, kind in _KIND.items() if kind != "pattern"}
        for part, word, _ in rows("shapes", group=group):
            if (look := self._look.get(word, "")) in self.shaped:
                self.shaped[look].add(self._part.get(part, part))
        for look in ("long", "short", "slender", "stout"):
            self.shaped[look] |= {"legs", "feet"}
        """Shape -> the parts that may have it: a tail is long, a throat is not."""
        self._senses = self._senses_of_words(colours, group)
        self._marking = column("markings", "field_mark", group=group)
        wholes = ("bird-noun", "bird-noun-of-marks", "whole-noun")
        self.wholes = {word for name in wholes for word in groups(group).get(name, ())}
        self._sides = column("sides", "part", group=group)
        self.whole = self._part.get("body", "")
        """Part of a look of the whole organism."""
        self.kept_apart = column("sides", "side", group=group)
        """Word -> side, for organisms whose sides are described one by one."""
        self.sided = frozenset(part for (part,) in rows("sided_parts", group=group))
        """Parts with such sides."""
        self.participles = dict(equations("participle", group))
        """Participle -> the part in "red-capped"."""
        self.compounds = {word for word in (*colours, *self._part) if "-" in word}
        """Hyphenated words not to be split: "olive-green", "ear-coverts"."""
        owners = column("sexes", "field_mark", group=group)
        self.adults = frozenset(word for word, named in owners.items() if named == "adult")
        self.own = self.adults.union(word for word, named in owners.items() if named in ("male", "both"))
        """Words for organisms that stand for the species in general."""
        self.others = {word: named for word, named in owners.items() if named not in ("male", "both", "adult")}
        """Word -> sex or stage of life whose looks are not those of the species in general."""

    def _senses_of_words(self, colours: Mapping[str, str], group: str) -> dict[str, set[str]]:
        """Return word -> the looks that it has in any table; a dark or pale part may be of any colour of that tone."""
        tones = column("colours", "tone", group=group)
        named = [
            *(row for table in ("colours", "looks") for row in column(table, "fact", group=group).items()),
            *((word, shape) for _, word, shape in rows("shapes", group=group)), *colours.items(), *self._look.items(),
            *(
                (word, colour) for word, shade in column("looks", "shade", group=group).items()
                for colour, tone in tones.items() if tone == shade
            ),
        ]  # fmt: skip
        senses: dict[str, set[str]] = {}
        for word, sense in named:
            senses.setdefault(word, set()).update(colours.get(sense, self._look.get(sense, sense)).split("+"))
        return senses

    def senses_of(self, words: Iterable[str]) -> set[str]:
        """Return every look that words can mean in any form and wording, whatever has it; mixtures give each colour."""
        forms = (form for word in words for form in (word, stem(word), *variants(word)))
        return {sense for form in forms for sense in self._senses.get(form, ())}

    def words_near(self, part: str, sentences: Iterable[Sequence[str]]) -> list[str]:
        """Return the words within reach of one that names a part or its side; all for the whole organism."""
        return [
            near
            for words in sentences
            for i, word in enumerate(words)
            if part in (self.part_at(words, i), self._sides.get(word), self.whole)
            for near in words[max(0, i - self.reach) : i + self.reach + 1]
        ]

    def has_look(self, word: str) -> bool:
        """Return whether a word is a look by itself."""
        return word in self._look or word in self._colour

    def look_of(self, words: Sequence[str], place: int) -> str | None:
        """Return the look of a word, None for most; empty for a part that is a mark in itself: "wing bars".

        None for the shape of a marking: "a forked tail and round white spots".
        """
        word = words[place]
        if place and (words[place - 1].removesuffix("s"), word) in self._pairs:
            return "" if word in self._look else None
        look = self._look.get(word) or self._colour.get(word)
        is_shape = look is not None and word not in self._colour and kind_of(look) != "pattern"
        return None if is_shape and self._marking_ahead(words, place) is not None else look

    def part_at(self, words: Sequence[str], place: int) -> str | None:
        """Return the part of the body of a word, alone or with its neighbour."""
        is_before_of = words[place + 1 : place + 2] == ["of"]
        if words[place] in ("side", "sides") and is_before_of:  # sides of the neck are not flanks
            parts = (self._named_part(words, at) for at in range(place + 2, min(place + 4, len(words))))
            return next((part for part in parts if part is not None), None)
        return self._named_part(words, place)

    def is_name_of(self, word: str, part: str) -> bool:
        """Return whether a word alone names a part: "cheek" the face, but not "coverts" of "ear coverts"."""
        return part in (self._part.get(word), self._part.get(word.removesuffix("s")))

    def marking_of(self, words: Sequence[str], place: int) -> str:
        """Return the marking of a colour ("white-tipped", "barred with white"); empty for a colour of the whole part.

        Only colours belong to markings: a long tail with a band has no long band.
        """
        if words[place] not in self._colour:
            return ""
        ahead = self._marking_ahead(words, place)
        return self._marking[words[ahead]] if ahead is not None else self._marking_behind(words, place)

    def part_of_marking(self, words: Sequence[str], place: int) -> str | None:
        """Return the part with the marking of a colour: "white spots on the wings", "the wings are edged white".

        Empty if the marking is over, between or beside parts ("a black stripe through the eye"); None if unknown.
        """
        if not self.marking_of(words, place):
            return None
        ahead = self._marking_ahead(words, place)
        if ahead is None:  # "tipped white", "barred with white"
            is_behind = not MARKED_AS.isdisjoint(words[max(0, place - 4) : place])
            named = (self.part_at(words, at) for at in range(place - 1, max(-1, place - 8), -1))
            return next(filter(None, named), None) if is_behind else None
        behind = words[ahead + 1 : ahead + 6]
        if behind and behind[0] in _ON:
            parts = (self.part_at(words, ahead + 2 + i) for i in range(len(behind) - 1))
            return next((part for part in parts if part is not None), "")
        return "" if _PLACING.intersection(behind[:3]) else None

    def side_of(self, words: Sequence[str], place: int) -> str | None:
        """Return the side of the bird in "blue above", "white below" and "above it is blue, below white".

        Not in "white below the eye".
        """
        at = self.before_looks(words, place)
        if at >= 2 and words[at] in COPULAS and words[at - 1] == "it":
            at -= 2
        if at >= 0 and words[at] in self._sides and self._is_ahead(words, at):
            return self._sides[words[at]]
        is_last = place + 1 == len(words)
        side = None if is_last or self._is_ahead(words, place + 1) else self._sides.get(words[place + 1])
        is_of_part = words[place + 2 : place + 3] and (words[place + 2] in _ARTICLES or self.part_at(words, place + 2))
        is_side_of_part = at >= 1 and words[at] in COPULAS and self.part_at(words, at - 1)  # "the bill is pink below"
        return None if is_of_part or is_side_of_part else side

    def _is_ahead(self, words: Sequence[str], at: int) -> bool:
        """Return whether a side stands before its look, as the first side of the sentence does or does not."""
        first = next((place for place in range(at + 1) if words[place] in self._sides), at)
        return first == 0 or words[first - 1] not in self._between

    def is_of_another(self, words: Sequence[str], part: int, look: int) -> bool:
        """Return whether a look after a part describes a noun that follows: "a black head and white face"."""
        after = words[self._after_looks(words, look) :]
        is_noun = bool(after) and after[0] not in _ON | _PLACING | _NO_NOUNS
        return words[part + 1] in ("and", "or") and is_noun and not self.marking_of(words, look)

    def is_of_all(self, words: Sequence[str], place: int) -> bool:
        """Return whether a colour belongs to the whole bird: "a white owl", "red all over", "brown overall"."""
        if words[place] not in self._colour:
            return False
        at = self._after_looks(words, place)
        if at >= len(words):
            return False
        is_all_over = words[at - 1 : at + 1] == ["all", "over"] and words[at + 1 : at + 2] not in (["the"], ["its"])
        return is_all_over or words[at] in self.wholes or words[at] == "overall"

    def is_placing(self, words: Sequence[str], place: int) -> bool:
        """Return whether a part only places a mark: "over the eye"."""
        before = without_articles(words[max(0, place - 2) : place])[-1:]
        is_side = before == list(words[:1]) and words[0] in self.kept_apart  # "Above, the wings are orange"
        return bool(_PLACING.intersection(before)) and not is_side

    def _named_part(self, words: Sequence[str], place: int) -> str | None:
        word = words[place]
        singular = word.removesuffix("s")
        beside = [(singular, after) for after in words[place + 1 : place + 2]]
        beside += [(before.removesuffix("s"), word) for before in words[max(0, place - 1) : place]]
        of_two = next((self._pairs[pair] for pair in beside if pair in self._pairs), None)
        return of_two or self._part.get(word) or self._part.get(singular)

    def _marking_ahead(self, words: Sequence[str], place: int) -> int | None:
        """Return the position of the marking after a colour: "white bars", "white wing patch"."""
        at = self._after_looks(words, place, until=self._marking)
        at += at < len(words) and self.part_at(words, at) is not None
        return at if at < len(words) and words[at] in self._marking and self.part_at(words, at) is None else None

    def _marking_behind(self, words: Sequence[str], place: int) -> str:
        """Return the marking before a colour: "tipped white", "patch of white", "the wing patch is white"."""
        at = self.before_looks(words, place)
        before = words[at - 1] if at >= 1 else ""
        if at < 0:
            return ""
        if words[at] in COPULAS:  # of the subject: "the wing patch is", "the tips of the wings are"
            if at and before in self._marking and not self.part_at(words, at - 1):
                return self._marking[before]
            subject = without_articles(words[max(0, at - 4) : max(0, at - 1)])
            return self._marking.get(subject[-2], "") if subject[-1:] == ["of"] and len(subject) > 1 else ""
        if words[at] in _COLOURED and before not in self._colour:  # not in "grey-washed white"
            return self._marking[words[at]]
        if words[at] in ("with", "in") and not (place + 1 < len(words) and self.part_at(words, place + 1)):
            return _MARKED_WITH.get(before, self._marking[before] if before in _COLOURED else "")
        return self._marking.get(before, "") if words[at] == "of" else ""

    def _after_looks(self, words: Sequence[str], place: int, until: Container[str] = ()) -> int:
        """Return the position of the word after a series of looks, adverbs and sizes, or of one of `until`."""
        at, end = place + 1, min(place + 1 + _MOST_BETWEEN, len(words))
        while at < end and words[at] in self._following and words[at] not in until:
            at += 1
        return at

    def before_looks(self, words: Sequence[str], place: int) -> int:
        """Return the position of the word before a series of looks and adverbs; -1 for none."""
        at = place - 1
        while at >= max(0, place - _MOST_BETWEEN) and words[at] in self._between:
            at -= 1
        return at


@cache
def appearance(group: str = BIRDS) -> Appearance:
    """Return the words for parts and looks of a group."""
    return Appearance(group)


def kind_of(look: str) -> str:
    """Return the kind of a look; looks of different kinds do not exclude each other."""
    return _KIND.get(look, look if look in _looks() else "colour")


@cache
def _looks() -> frozenset[str]:
    return frozenset(look for group in group_names() for look in column("looks", "field_mark", group=group).values())


def without_articles(words: Sequence[str]) -> list[str]:
    """Return the words without articles and determiners."""
    return [word for word in words if word not in _ARTICLES]


OWN: Final = ""
"""Males and adults, which stand for the species; also both sides."""
_COMPARED: Final = frozenset(("like", "unlike", "than", "resemble", "resembles", "resembling", "to", "as", "from"))
_ADVERBS: Final = frozenset(("above", "below", "beneath", "underneath", "ventrally", "dorsally"))
_JOINING: Final = frozenset(("and", "but", "while", "whereas"))
_PRONOUNS: Final = frozenset(("it", "they", "its", "their"))


def owners_of_words(words: Sequence[str], looks: Appearance, *, before: str = OWN) -> list[str]:
    """Return the sex or stage of life that each word of a sentence describes: `female`, `young`, `larva`, or nothing.

    A word like "females" applies to the words after it, until males, adults or the end of the sentence; after "in" it
    applies to the words before it. Animals in a comparison ("paler than the female") do not count. A sentence that
    begins with a pronoun goes on with the owner of the one before.
    """
    owners = [OWN] * len(words)
    owner, since = before if words and words[0] in _PRONOUNS else OWN, 0
    for place, word in enumerate(words):
        named = OWN if word in looks.own else looks.others.get(word)
        near = without_articles(words[max(0, place - 3) : place]) if named is not None else []
        is_adjective = word in looks.own and not looks.others.keys().isdisjoint(near[-1:])  # "young male"
        if named is not None and not _COMPARED.intersection(near[-1:]) and not is_adjective:
            named = _joined(named, word, near, owner, looks)
            if near[-1:] == ["in"] and place > 2 and owner == OWN:
                owners[since:place] = [named] * (place - since)
                owner = OWN
            else:
                owner = named
            since = place + 1
            for at in range(place - 1, -1, -1):  # "a black caterpillar"
                if not looks.has_look(words[at]):
                    break
                owners[at] = named
        owners[place] = owner
    return owners


def sides_of_words(words: Sequence[str], looks: Appearance) -> list[str]:
    """Return the side that each word of a sentence describes: `upperside`, `underside` or neither.

    In "above orange, below brown" a side applies to the words after it, in "orange above and brown below" to those
    before it, as the first side of the sentence does.
    """
    sides = [OWN] * len(words)
    places = [place for place, word in enumerate(words) if word in looks.kept_apart]
    if not places:
        return sides
    before = words[: places[0]]
    is_adverb = words[places[0]] in _ADVERBS or without_articles(before)[-1:] in (["on"], ["of"])
    is_behind = is_adverb and any(map(looks.has_look, before))  # "orange above", "black spots on the underside"
    since = 0
    for i, place in enumerate(places):
        end = places[i + 1] if i + 1 < len(places) else len(words)
        side = looks.kept_apart[words[place]]
        if not is_behind:
            sides[place:end] = [side] * (end - place)
            continue
        joints = [at for at in range(place + 1, end) if words[at] in _JOINING] if end < len(words) else []
        until = joints[-1] if joints else place + 1 if end < len(words) else end
        sides[since:until] = [side] * (until - since)
        since = until
    return sides


def _joined(named: str, word: str, before: Sequence[str], owner: str, looks: Appearance) -> str:
    """Return the sex or age of two that are named together; nothing for males and females."""
    if len(before) < 2 or before[-1] not in ("and", "or"):
        return named
    first = before[-2]
    if first in looks.own or word in looks.own:
        return OWN if first in looks.others or first in looks.own else named
    return "female and young" if first in looks.others and {named, owner} == {"female", "young"} else named
