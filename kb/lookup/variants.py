"""Variants: albino, juvenile, female and hybrid individuals, for which the marks of an ordinary adult need not hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from data.lexicon.tables import column
from data.lexicon.word_groups import group_of, groups, words_of
from kb.lookup.senses import sense_lists

_ALIKE = re.compile(r"\b(?:sexes (?:are |look )?(?:alike|similar|identical)|both sexes|similar sexes)\b", re.IGNORECASE)
_CLAUSE = re.compile(r";\s+|,? (?:while|whereas) |(?<=[.!?])\s+")
_PIECE = re.compile(r",? with |, and |, | and |: ")
_END = " .,;:"
_START = re.compile(r"^(?:It has |It is |and |The )+")
_OTHER_ANIMALS = frozenset(("its", "their", "his", "her", "with", "feeding", "feeds", "and"))
_SEX_AGE = {word: subject for word, subject in column("sexes", "subject").items() if subject != "-"} | {
    "his": "male", "her": "female", "baby": "juvenile", "babies": "juvenile", "calf": "juvenile", "pup": "juvenile",
    "pups": "juvenile",
}  # fmt: skip
_PRONOUNS = frozenset(("his", "her"))
_LOOKS = ("colour", "pattern")
_BUILD = ("shape", "size")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """Kinds of individuals that a query asks for; several are alternatives ("female or immature")."""

    kinds: frozenset[str] = frozenset()
    """Of `colour`, `hybrid`, `female`, `male` and `juvenile`."""

    @property
    def is_ordinary(self) -> bool:
        """Whether marks of ordinary adults may hold: for no variant, and for males."""
        return not self.kinds or ("male" in self.kinds and not self.kinds & {"colour", "hybrid"})


def variant_of(query: str, name: str, start: int, *, terms: Sequence[str] = ()) -> Variant:
    """Return the variant of the organism that a query names at `start`.

    Colour variants and hybrids count anywhere in the query, and among the names of the terms in it. Words for sex and
    age count beside the name, with nothing but looks between: "robin feeding its chick" is no chick. With an adult, the
    marks of adults hold.

    Example:
        >>> sorted(variant_of("female or immature evening grosbeak", "evening grosbeak", 19).kinds)
        ['female', 'juvenile']
        >>> variant_of("a sandhill crane couple with their chicks", "sandhill crane", 2).kinds
        frozenset()
        >>> sorted(variant_of("an American Robin with leucism", "American Robin", 3).kinds)
        ['colour']
    """
    lists = sense_lists()
    words = set(words_of(" ".join((query, *terms))))
    kinds: set[str] = set()
    if words & lists.colour_variants:
        kinds.add("colour")
    if words & lists.hybrids:
        kinds.add("hybrid")
    before, after = words_of(query[:start])[::-1], words_of(query[start + len(name) :])
    subjects = {*_beside(before), *_beside(after)}
    if "adult" in subjects and "female" not in subjects:
        return Variant(kinds=frozenset(kinds))
    return Variant(kinds=frozenset(kinds | (subjects & {"male", "female", "juvenile"})))


def _beside(words: Sequence[str]) -> Iterator[str]:
    """Yield the sexes and ages among the words next to a name, nearest first."""
    for i, word in enumerate(words):
        if word in _SEX_AGE and word not in _PRONOUNS:
            yield _SEX_AGE[word]
            continue
        is_list = word == "and" and i > 0 and bool(set(words[i + 1 : i + 2]) & _SEX_AGE.keys())
        is_between = group_of(word) in (*_LOOKS, *_BUILD, "who") or word in groups()["stop"] or word == "plumage"
        if not is_between or (word in _OTHER_ANIMALS and not is_list):
            return


def fitting_sentences(sentences: Sequence[str], variant: Variant) -> list[str]:
    """Return what sentences on a species say of a variant; of the ordinary adult, only the build remains.

    Sentences on the variant stay whole. Of the others, those on another sex or age go, and of the rest only the parts
    on shape and size without a colour or pattern remain, as the last text.

    Example:
        >>> fitting_sentences(["A plump thrush with a red breast.", "Young birds are spotted."],
        ...                   Variant(kinds=frozenset({"juvenile"})))
        ['Young birds are spotted.', 'A plump thrush.']
    """
    if not variant.kinds:
        return list(sentences)
    are_alike = any(_ALIKE.search(sentence) for sentence in sentences)
    whole: list[str] = []
    build: list[str] = []
    for sentence in sentences:
        kept: list[str] = []
        subjects: frozenset[str] = frozenset()
        for clause in filter(None, (text.strip(_END) for text in _CLAUSE.split(sentence))):
            subjects = _subjects(clause) or subjects  # "the female is brown; a dark line runs through the eye"
            if _is_about(clause, subjects, variant, are_alike=are_alike):
                kept.append(clause)
            elif not subjects & {"male", "female", "juvenile"}:
                build += _build(clause)
        if kept:
            whole.append(_sentence("; ".join(kept)))
    if build:
        whole.append(_sentence("; ".join(dict.fromkeys(build))))
    return whole


def sentences_without_looks(sentences: Sequence[str], variant: Variant) -> list[str]:
    """Return the sentences without a colour or pattern, and those on the variant.

    Example:
        >>> albino = Variant(kinds=frozenset({"colour"}))
        >>> sentences_without_looks(["It lives in woods.", "It has a red breast."], albino)
        ['It lives in woods.']
    """
    if variant.is_ordinary:
        return list(sentences)
    return [
        sentence
        for sentence in sentences
        if not states_looks([sentence]) or _is_about(sentence, _subjects(sentence), variant, are_alike=False)
    ]


def states_looks(sentences: Sequence[str]) -> bool:
    """Return whether a sentence names a colour or pattern."""
    return any(group_of(word) in _LOOKS for sentence in sentences for word in words_of(sentence))


def _subjects(clause: str) -> frozenset[str]:
    return frozenset(_SEX_AGE[word] for word in words_of(clause) if word in _SEX_AGE)


def _is_about(clause: str, subjects: frozenset[str], variant: Variant, *, are_alike: bool) -> bool:
    """Return whether a clause holds for a variant as it stands."""
    kinds, lists, words = variant.kinds, sense_lists(), set(words_of(clause))
    if kinds & {"colour", "hybrid"}:
        named = ("colour" in kinds and words & lists.colour_variants) or ("hybrid" in kinds and words & lists.hybrids)
        return bool(named)
    if subjects & kinds:
        return True
    if subjects & {"male", "female", "juvenile"}:
        return False
    return "male" in kinds or ("juvenile" not in kinds and are_alike)


def _build(clause: str) -> list[str]:
    """Return the parts of a clause on shape or size, without a colour or pattern.

    Example:
        >>> _build("It has a brown back, a red head and a short, conical bill")
        ['a short, conical bill']
    """
    pieces: list[str] = []
    for piece in _PIECE.split(clause):
        text = piece.strip(_END)
        if pieces and group_of((words_of(pieces[-1]) or [""])[-1]) in (*_BUILD, *_LOOKS) and text:
            pieces[-1] += f", {text}"  # "a short, conical bill"
        elif text:
            pieces.append(text)
    found = []
    for piece in pieces:
        of = [group_of(word) for word in words_of(piece)]
        if any(group in _BUILD for group in of) and not any(group in _LOOKS for group in of):
            found.append(_START.sub("", piece))
    return [text[:1].lower() + text[1:] for text in found]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip(_END)}."
