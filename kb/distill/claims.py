"""Claims of a sentence checked against its evidence, word by word, and with them the reply of a model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from data.codec import json_object
from data.lexicon.appearance import appearance
from data.lexicon.marks import every_mark
from data.lexicon.words import BIRDS, column, equations, group_of, variants, words_of
from data.prompts import one_line
from data.records import Statement
from data.words import NUMBERS
from kb.distill.prompts import NumberedSentence, cited_texts_schema
from kb.distill.subjects import NameHider, side_named, title_subject
from kb.distill.visual import describes_looks

ClaimKind = Literal["colour", "number", "part", "shade"]
SexAge = str  # sex, stage of life, or part of a plant; empty for adults and the species in general
# Part words that claim nothing by themselves.
_EMPTY_PARTS = frozenset((
    "plumage", "appearance", "body", "feather", "feathering", "morph", "marking", "markings", "hue", "shade", "outline",
    "colour", "color", "colouration", "coloration", "colouring", "coloring", "silhouette", "side",
))  # fmt: skip
_SHADES = frozenset(
    ("dark", "pale", "bright", "dull", "drab", "darker", "paler", "brighter", "duller", "pallid", "coloured", "colored")
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NUMBER_WORDS = {word: str(value) for value, word in enumerate(NUMBERS, start=1)}
_FIRST_YEAR = re.compile(r"\bfirst[- ](?:year|winter|summer|plumage)\b", re.IGNORECASE)
# Before a sex or age that is only compared with: "duller than the male", "unlike the young".
_BEFORE_COMPARED = frozenset(("than", "to", "from", "unlike", "like", "resembles", "resemble", "resembling", "as"))
_REACH = 3
_STAGES = frozenset(("larva", "pupa"))  # so unlike the adult that no colour of theirs holds for the species in general
_PREFIX = 4  # letters that two shades share: black and blackish


def claims(text: str, group: str = BIRDS) -> dict[str, ClaimKind]:
    """Return word -> kind for each colour, part and number in a sentence, in the words of a group of organisms."""
    found: dict[str, ClaimKind] = {}
    for word in words_of(text):
        name = group_of(word, group)
        if name == "colour":
            found[word] = "shade" if word in _SHADES else "colour"
        elif name == "part" and not _EMPTY_PARTS & {word, *variants(word)}:
            found[word] = "part"
    return found | dict.fromkeys(_NUMBER.findall(text), "number")


def unsupported(text: str, evidence: Iterable[str], group: str = BIRDS) -> dict[str, ClaimKind]:
    """Return the claims of a sentence that its evidence does not make, by word.

    Plurals, comparatives, synonyms of the lexicon, shades of a colour and number words count as the same.
    """
    passages = list(evidence)
    words = {word for passage in passages for word in words_of(passage)}
    forms = {form for word in words for form in _forms(word, group)}
    colours = {form[:_PREFIX] for form in forms if len(form) >= _PREFIX and group_of(form, group) == "colour"}
    numbers = {number for passage in passages for number in _NUMBER.findall(passage)}
    numbers |= {_NUMBER_WORDS[word] for word in words & _NUMBER_WORDS.keys()}

    def is_stated(word: str, kind: ClaimKind) -> bool:
        if kind == "number":
            return word in numbers
        return bool(_forms(word, group) & forms) or (
            kind != "part" and len(word) >= _PREFIX and word[:_PREFIX] in colours
        )

    return {word: kind for word, kind in claims(text, group).items() if not is_stated(word, kind)}


@cache
def _synonyms(group: str) -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for one, other in equations("synonym", group):
        table.setdefault(one, set()).add(other)
        table.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in table.items()}


def _forms(word: str, group: str) -> frozenset[str]:
    plain = {word, *variants(word)}
    return frozenset(plain.union(*(_synonyms(group).get(form, frozenset()) for form in plain)))


def sexes_ages(text: str, group: str = BIRDS) -> set[SexAge]:
    """Return the sexes and stages of life in a text, including the ones compared with."""
    owners = column("sexes", "claim", group=group)
    named = {owners[word] for word in words_of(text) if word in owners}
    return named | {"juvenile"} if _FIRST_YEAR.search(text) else named


def colours_by_sex_age(text: str, group: str = BIRDS) -> dict[str, set[SexAge]]:
    """Return colour -> the sexes and stages with that colour; `""` if none is named before it.

    Of plants, the leaves, flowers or fruits next to the colour.
    """
    owners = column("sexes", "claim", group=group)
    if group == "plants":
        return _of_marks(((mark.look_word, owners.get(mark.part_word, "")) for mark in every_mark(text, group)), group)
    found: dict[str, set[SexAge]] = {}
    words = words_of(text)
    owner: SexAge = ""
    for i, word in enumerate(words):
        if word in owners and not _BEFORE_COMPARED & set(words[max(0, i - _REACH) : i]):
            joined = i >= 2 and words[i - 1] == "and" and words[i - 2] in owners  # "males and females have"
            owner = "both" if joined else owners[word]
        elif group_of(word, group) == "colour" and word not in _SHADES:
            found.setdefault(word, set()).add(owner)
    return found


def _colours_by_side(text: str, group: str) -> dict[str, set[str]]:
    return _of_marks(((mark.look_word, mark.side and f"the {mark.side}") for mark in every_mark(text, group)), group)


def mixed_up(text: str, evidence: Iterable[str], group: str = BIRDS) -> list[tuple[str, str, str]]:
    """Return colour, its owner in the sentence and its owner in the evidence for each difference.

    Owners are sexes, stages and sides; empty for the species in general.
    """
    passage = " ".join(evidence)
    return [
        (colour, owner, min(known))
        for colours in (colours_by_sex_age, _colours_by_side)
        for evident in [colours(passage, group)]
        for colour, owners in colours(text, group).items()
        for owner in sorted(owners - {"both"})
        if (known := evident.get(colour, set()))
        and (known <= _STAGES if owner == "" else known.isdisjoint((owner, "", "both")))
    ]


def _of_marks(marks: Iterable[tuple[str, str]], group: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for look, kind in marks:
        if look and group_of(look, group) == "colour":
            found.setdefault(look, set()).add(kind)
    return found


SCHEMA = cited_texts_schema("statements", cited="sentences")
_MARKUP = re.compile(r"<<<|>>>|```|https?://|</?[a-z]+>|\bwww\.|^[#*\[{]", re.IGNORECASE)
# Faults that make an empty result a failure; without them, the article does not describe the species.
FAULTS = frozenset(("unsupported", "sexes mixed up", "markup", "too long", "malformed"))
MIN_WORDS = 2
MAX_WORDS_A_STATEMENT = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Rules for a reply."""

    max_words: int
    is_refined: bool
    """Only looks, without the name of the species."""
    keeps_names: bool = False
    """The name of the species may stay."""


@dataclass(slots=True)
class CheckedReply:
    """The usable part of a reply, with the problems for a retry and the number of repairs by kind."""

    statements: tuple[Statement, ...] = ()
    problems: list[str] = field(default_factory=list)
    repairs: Counter[str] = field(default_factory=Counter)
    is_readable: bool = True

    @property
    def is_useless(self) -> bool:
        """Whether it is not of the requested form, or no part of it can be used."""
        return not self.is_readable or (not self.statements and not FAULTS.isdisjoint(self.repairs))


def check_reply(
    text: str, sentences: Sequence[NumberedSentence], article: str, rules: Rules, hider: NameHider
) -> CheckedReply:
    """Return the valid statements of a reply.

    Repaired: text around the JSON; white space; unknown sentence numbers; the species' name in a refined statement.
    Dropped: empty and repeated statements, and refined ones without looks. Dropped and reported as a problem: those
    without a known sentence, with colours or numbers that it lacks or gives to another sex, with markup, or too long.
    """
    result = CheckedReply()
    by_number = {sentence.number: sentence for sentence in sentences}
    statements: list[Statement] = []
    for place, item in enumerate(_items(text, result), 1):
        try:
            statement = _statement(item, by_number, article, rules, hider, result.repairs)
        except _Dropped as fault:
            result.repairs[fault.kind] += 1
            if fault.problem:
                result.problems.append(f"- statement {place} {fault.problem}")
            continue
        if any(statement.text == other.text for other in statements):
            result.repairs["repeated"] += 1
        else:
            statements.append(statement)
    n_words = sum(len(statement.text.split()) for statement in statements)
    if n_words > rules.max_words:
        result.problems.append(f"- it has {n_words} words, expected at most {rules.max_words}")
    while len(statements) > 1 and n_words > rules.max_words:
        n_words -= len(statements.pop().text.split())
        result.repairs["cut to length"] += 1
    result.statements = tuple(statements)
    return result


def _items(text: str, result: CheckedReply) -> list[object]:
    payload, is_wrapped = json_object(text)
    if payload is not None and is_wrapped:
        result.repairs["text around the JSON"] += 1
    statements = None if payload is None else payload.get("statements")
    if isinstance(statements, list):
        return statements
    result.is_readable = False
    result.problems.append('- it is not a JSON object such as {"statements": [{"text": ..., "sentences": [...]}]}')
    return []


class _Dropped(Exception):
    """A statement is dropped; a problem that the model can correct is reported to it."""

    def __init__(self, kind: str, problem: str = "") -> None:
        super().__init__(kind)
        self.kind, self.problem = kind, problem


def _statement(
    item: object,
    by_number: dict[int, NumberedSentence],
    article: str,
    rules: Rules,
    hider: NameHider,
    repairs: Counter[str],
) -> Statement:
    """Return a valid statement of a reply, or raise `_Dropped`."""
    words, cited = (item.get("text"), item.get("sentences")) if isinstance(item, dict) else (None, None)
    if not isinstance(words, str) or not isinstance(cited, list):
        raise _Dropped("malformed", "lacks its text or its list of sentences")
    text = one_line(words)
    if len(text.split()) < MIN_WORDS:
        raise _Dropped("empty")
    numbers = dict.fromkeys(number for number in cited if type(number) is int)
    known = [by_number[number] for number in numbers if number in by_number]
    if not known:
        raise _Dropped("unsupported", "cites no known sentence")
    if _MARKUP.search(text):
        raise _Dropped("markup", "contains markup or an address; use plain words")
    if len(text.split()) > MAX_WORDS_A_STATEMENT:
        raise _Dropped("too long", f"has more than {MAX_WORDS_A_STATEMENT} words")
    spans = tuple(dict.fromkeys(span for sentence in known for span in sentence.spans))
    headings = {span: sentence.heading for sentence in known for span in sentence.spans}
    evidence = [_under_heading(hider.hide(article[span.start : span.end]), headings[span], hider) for span in spans]
    # Names are not claims: a red wren need not be red.
    nameless = hider.hide(text) if hider.names_in(text) else text
    # Parts and shades may be paraphrased; colours and numbers may not.
    lacks = unsupported(nameless, evidence, hider.group)
    if lacking := [word for word, kind in lacks.items() if kind in ("colour", "number")]:
        raise _Dropped("unsupported", f"has words that its sentences lack: {', '.join(lacking)}")
    for colour, owner, real in mixed_up(nameless, evidence, hider.group):
        raise _Dropped("sexes mixed up", f"says {colour} of {owner or 'all'}, its sentences of {real or 'all'}")
    if rules.is_refined and not describes_looks(nameless, hider.group):
        raise _Dropped("not visual")
    if rules.is_refined and nameless != text and not rules.keeps_names:
        text = nameless
        repairs["own name"] += 1
    if len(known) < len(numbers):
        repairs["unknown sentence numbers"] += 1
    ended = text if text.endswith((".", "!", "?")) else text.rstrip(" ,;:") + "."
    return Statement(text=ended, evidence=spans)


def _under_heading(passage: str, heading: str, hider: NameHider) -> str:
    """Return a passage after the stage or side that its heading names: below "Larva", "it" is the larva."""
    named = title_subject(heading, hider.group) or side_named(heading, appearance(hider.group).kept_apart)
    return f"{named}: {passage}" if named else passage
