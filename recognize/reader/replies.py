"""Parsing of a reader's replies: a label, a name, none of these, or unreadable."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Final, Literal

from data.codec import json_object
from data.records import Candidate, ChatReply

NONE: Final = "none"

ReadRule = Literal["json", "label", "name", "none", "unread", "failed"]
"""Rule that read a reply: JSON, a label, the name of one candidate, words for none, unreadable, or no reply."""

_NONE_WORDS = re.compile(r"\bnone\b|\bno candidate\b|\bnot (?:any|one) of\b", re.IGNORECASE)
_NOT = r"(?:\bnot|n't|\bnor|\bneither|\bnever)\s+(?:(?:an?|the|candidate|label|option)\s+)?"
_NEGATED = re.compile(_NOT + "$", re.IGNORECASE)
# The key "answer" in invalid JSON, for example with an unescaped quote in the reason.
_ANSWER_KEY = re.compile(r'"answer"\s*:\s*"([^"]*)"', re.IGNORECASE)
# Labels are capitals, since "a" is an article; "A or B" is not an answer.
_OR = r"[.):*?]*\s*(?:,|/|;|\?|(?i:or|and|vs)\b)\W*(?:candidate\s+)?[A-Z]\b"
_EITHER = rf"(?!{_OR})"
_ENDS_WITH_TWO = re.compile(rf"\b[A-Z]{_OR}\W*\Z")
_STATED_LABEL = re.compile(rf"(?i:\b(?:answer|label|choice|option)\b\W*(?:is\b\W*)?)\b([A-Z])\b{_EITHER}")
_LABEL_FIRST = re.compile(rf"^\W*([A-Z])(?:[.):*]{_EITHER}|$)")
_LABELLED_LINE = re.compile(r"^\W*([A-Z])(?:[.):*]|\W*$)", re.MULTILINE)
# Neither the article "A" nor the pronoun "I".
_LABEL = re.compile(r"\b(?![AI]['’])(?![AI]\s+(?!(?:and|but|nor|not|or|over|rather|than)\b)[a-z])([A-Z])\b")
_SENTENCE_END = re.compile(r"[.!?:;]\s+|\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The choice of one model call: a position in the list of candidates, or None for none of these."""

    choice: int | None
    rule: ReadRule
    reason: str = ""
    """Reason of the choice, or of the missing reply."""
    margin: float | None = None


def read_sample(reply: ChatReply, shown: Sequence[Candidate]) -> Sample:
    """Return the choice in a reply, a position in `shown`, by the first rule that applies.

    The rules: the key `answer` of a JSON object; a single label at the start, at the end or after the word answer; the
    only candidate that is named and not negated; words for none of these. The rest of a reply with a key `answer` is
    ignored.
    """
    labels = ascii_uppercase[: len(shown)]
    answer, reason, is_json = _answer_and_reason(reply.text)
    if answer is None:
        return Sample(choice=None, rule="unread", reason=reason)
    if is_json and answer.lower() == NONE:
        return Sample(choice=None, rule="json", reason=reason, margin=_margin(reply, NONE, labels))
    if is_json and answer.upper() in tuple(labels):
        label = answer.upper()
        return Sample(choice=labels.index(label), rule="json", reason=reason, margin=_margin(reply, label, labels))
    found = _label_in(answer, labels)
    if found is not None:
        return Sample(choice=labels.index(found), rule="label", reason=reason, margin=_margin(reply, found, labels))
    named, says_none = _named_in(answer, shown), _NONE_WORDS.search(answer) is not None
    if len(named) == 1 and not says_none:
        return Sample(choice=named[0], rule="name", reason=reason)
    if says_none and not named:
        return Sample(choice=None, rule="none", reason=reason)
    return Sample(choice=None, rule="unread", reason=reason)


def _answer_and_reason(text: str) -> tuple[str | None, str, bool]:
    """Return the answer and the reason in a reply, and whether it is JSON; plain text is both answer and reason.

    JSON without the key is not an answer: its reason may name candidates that it rules out. Neither are two answers, or
    one that is no text.
    """
    parsed = {key.lower(): value for key, value in (json_object(text)[0] or {}).items()}
    plain = text.strip()
    keys = {_plain(key) for key in _ANSWER_KEY.findall(plain)}
    if len(keys) > 1:
        return None, plain, True
    if "answer" in parsed:
        answer = parsed["answer"]
        return _plain(answer) if isinstance(answer, str) else None, str(parsed.get("reason", "")).strip(), True
    if keys:
        return keys.pop(), plain, True
    is_json = bool(parsed) or plain.startswith(("{", "```json"))
    return None if is_json else plain, plain, is_json


def _plain(answer: str) -> str:
    return answer.strip().rstrip(".").strip()


def _label_in(text: str, labels: str) -> str | None:
    """Return the single label that a text gives as its answer."""
    last = next((part for part in reversed(_SENTENCE_END.split(text)) if part.strip()), "")
    found = set(_STATED_LABEL.findall(text))
    lists_several = len(set(_LABELLED_LINE.findall(text))) > 1
    if not found and not lists_several:
        found = set(_LABEL_FIRST.findall(text))
    if not found and not _ENDS_WITH_TWO.search(text) and not (lists_several and _LABELLED_LINE.search(last)):
        mentioned = [match for match in _LABEL.finditer(last) if match.group(1) in labels]
        is_at_end = bool(mentioned) and not re.search(r"\w", last[mentioned[-1].end() :])
        if is_at_end and len(mentioned) == 1 and not _NEGATED.search(last[: mentioned[0].start()]):
            found = {mentioned[0].group(1)}
    return found.pop() if len(found) == 1 and found <= set(labels) else None


def _named_in(text: str, shown: Sequence[Candidate]) -> list[int]:
    """Return the candidates named in a text as whole words, outside a longer name and not negated.

    Hyphens count as blanks, and "gray" as "grey".
    """
    rest = _folded(text)
    named: set[int] = set()
    names = [(_folded(name), i) for i, each in enumerate(shown) for name in _names(each)]
    for name, i in sorted(names, key=lambda pair: -len(pair[0])):
        pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        if any(not _NEGATED.search(rest[: match.start()]) for match in pattern.finditer(rest)):
            named.add(i)
        rest = pattern.sub("#", rest)  # "Winter Wren" does not name the Wren
    return sorted(named)


def _folded(text: str) -> str:
    return " ".join(text.lower().replace("-", " ").replace("’", "'").replace("gray", "grey").split())


def _names(candidate: Candidate) -> tuple[str, ...]:
    return tuple(name for name in (candidate.common_name, candidate.scientific_name) if name)


def _margin(reply: ChatReply, chosen: str, labels: str) -> float | None:
    """Return the log-probability of the chosen label minus that of the next one, or a lower bound if none is listed."""
    others = {label.lower() for label in (*labels, NONE)} - {chosen.lower()}
    for token in reversed(reply.logprobs or ()):
        if _bare(token.token) != chosen.lower():
            continue
        ranked = [logprob for text, logprob in token.top if _bare(text) in others]
        if ranked:
            return token.logprob - max(ranked)
        return token.logprob - min((logprob for _, logprob in token.top), default=token.logprob)
    return None


def _bare(token: str) -> str:
    return token.strip(" \n\"'.").lower()
