"""What a reader's reply says, by rules that are counted: a label, a name, none of these, or nothing to be read."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Final, Literal

from data.records import Candidate, ChatReply

NONE: Final = "none"

HowRead = Literal["json", "label", "name", "none", "unread"]
"""From the JSON asked for, from a label alone, from the one candidate that is named, from words for none; or not."""

_NONE_WORDS = re.compile(r"\bnone\b|\bno candidate\b|\bnot (?:any|one) of\b", re.IGNORECASE)
_LABEL_AT_END = re.compile(r"(?:answer|label|choice|option)?\W*\b([A-Z])\b\W*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """What one pass chose: the position of a candidate in the list given, or None for none of these."""

    choice: int | None
    how: HowRead
    reason: str = ""
    margin: float | None = None


@dataclass(slots=True)
class ReadCounts:
    """How the replies to a reader were read, and what they took, over all photos."""

    by_rule: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    """Replies that a server gave."""
    cached: int = 0
    """Replies that had been kept, which cost nothing."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    """Replies of a model whose price is not known."""

    def add(self, reply: ChatReply, how: str) -> None:
        """Count a reply that was read by the rule `how`."""
        self.by_rule[how] += 1
        if reply.cached:
            self.cached += 1
            return
        self.calls += 1
        self.input_tokens += reply.input_tokens
        self.output_tokens += reply.output_tokens
        self.cost_usd += reply.cost_usd or 0.0
        self.unpriced += reply.cost_usd is None


def read_vote(reply: ChatReply, shown: Sequence[Candidate]) -> Vote:
    """Return the vote that a reply holds, by the first rule that fits.

    The rules: the key `answer` of a JSON object; a label at the very end; the one candidate whose name stands in the
    reply; words for none of these. `choice` is a position in `shown`.
    """
    labels = ascii_uppercase[: len(shown)]
    parsed = json_object(reply.text)
    if parsed is not None:
        answer = str(parsed.get("answer", "")).strip().rstrip(".").strip()
        reason = str(parsed.get("reason", "")).strip()
        if answer.lower() == NONE:
            return Vote(choice=None, how="json", reason=reason, margin=_margin(reply, NONE, labels))
        if answer.upper() in tuple(labels):
            label = answer.upper()
            return Vote(choice=labels.index(label), how="json", reason=reason, margin=_margin(reply, label, labels))
    text = reply.text.strip()
    ending = _LABEL_AT_END.search(text)
    if ending and ending.group(1) in labels:  # a capital: "a" is an article
        label = ending.group(1)
        return Vote(choice=labels.index(label), how="label", reason=text, margin=_margin(reply, label, labels))
    lowered = text.lower()
    named = [i for i, each in enumerate(shown) if any(name.lower() in lowered for name in _names(each))]
    if len(named) == 1:
        return Vote(choice=named[0], how="name", reason=text)
    if not named and _NONE_WORDS.search(text):
        return Vote(choice=None, how="none", reason=text)
    return Vote(choice=None, how="unread", reason=text)


def json_object(text: str) -> Mapping[str, object] | None:
    """Return the JSON object that stands in a reply, with or without words around it; None if there is none."""
    first, last = text.find("{"), text.rfind("}")
    if not 0 <= first < last:
        return None
    try:
        parsed = json.loads(text[first : last + 1])
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _names(candidate: Candidate) -> tuple[str, ...]:
    return tuple(name for name in (candidate.common_name, candidate.scientific_name) if name)


def _margin(reply: ChatReply, chosen: str, labels: str) -> float | None:
    """Return how much more likely the chosen label was than the next; at least so much if the server lists no other."""
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
