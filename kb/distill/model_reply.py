"""Checks of a model's reply: form, cited sentences, claims, names and lengths."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from data.foreign_json import json_object
from data.lexicon.appearance import appearance
from data.lexicon.tables import BIRDS
from data.lexicon.word_groups import words_of
from data.prompts import one_line
from data.records import Statement
from kb.distill.claims import swapped, swapped_sides, unsupported
from kb.distill.fencing import NumberedSentence
from kb.distill.prompts import cited_texts_schema
from kb.distill.species_names import NameHider
from kb.distill.subjects import title_subject
from kb.distill.visual import describes_looks

SCHEMA = cited_texts_schema("statements", cited="sentences")
_MARKUP = re.compile(r"<<<|>>>|```|https?://|</?[a-z]+>|\bwww\.|^[#*\[{]", re.IGNORECASE)
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
    for colour, (owner, real) in swapped(nameless, evidence, hider.group).items():
        raise _Dropped("sexes mixed up", f"says {colour} of {owner or 'all'}, its sentences of {real or 'all'}")
    for colour, (side, other) in swapped_sides(nameless, evidence, hider.group).items():
        raise _Dropped("sexes mixed up", f"says {colour} of the {side}, its sentences of the {other}")
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
    if hider.group == BIRDS:  # read as measured
        return passage
    known = appearance(hider.group).kept_apart
    sides = {known[word] for word in words_of(heading) if word in known}
    named = title_subject(heading, hider.group) or (sides.pop() if len(sides) == 1 else None)
    return f"{named}: {passage}" if named else passage
