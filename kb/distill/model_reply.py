"""Checks of a model's reply: form, cited sentences, claims, names and lengths."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from data.records import Statement
from kb.distill.claims import swapped, unsupported
from kb.distill.fencing import Numbered, one_line
from kb.distill.trimming import NameHider
from kb.distill.visual import describes_looks

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "statements": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "sentences": {"type": "array", "items": {"type": "integer"}},
                },
                "required": ["text", "sentences"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["statements"],
    "additionalProperties": False,
}
_THINKING = re.compile(r"<think>.*?</think>", re.DOTALL)
_MARKUP = re.compile(r"<<<|>>>|```|https?://|</?[a-z]+>|\bwww\.|^[#*\[{]", re.IGNORECASE)
MIN_WORDS = 2
MAX_WORDS_A_STATEMENT = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Rules for a reply."""

    max_words: int
    is_refined: bool
    """Only looks, without the name of the species."""


@dataclass(slots=True)
class Checked:
    """The usable part of a reply, with the problems for a retry and the number of repairs by kind."""

    statements: tuple[Statement, ...] = ()
    problems: list[str] = field(default_factory=list)
    repairs: Counter[str] = field(default_factory=Counter)
    is_readable: bool = True


def checked(text: str, sentences: Sequence[Numbered], article: str, rules: Rules, hider: NameHider) -> Checked:
    """Return the valid statements of a reply.

    Repaired: text around the JSON; white space; unknown sentence numbers beside known ones; the species' name in a
    refined statement. Dropped: empty and repeated statements, and refined ones without looks. Dropped and reported as a
    problem: statements without a known sentence, with colours or numbers that their sentences lack or give to another
    sex, with markup or addresses, or too long. A reply above `max_words` loses its last statements, also a problem.

    Args:
        text: the reply.
        sentences: the sentences in the prompt.
        article: text of the article.
        rules: limits of the pass.
        hider: hides the names of the species.
    """
    result = Checked()
    items = _items(text, result)
    by_number = {sentence.number: sentence for sentence in sentences}
    kept: list[Statement] = []
    for place, (words, numbers) in enumerate(items, 1):
        statement = _statement(place, words, numbers, by_number, article, rules, hider, result)
        if statement is None:
            continue
        if any(statement.text == other.text for other in kept):
            result.repairs["said twice"] += 1
            continue
        kept.append(statement)
    n_words = sum(len(statement.text.split()) for statement in kept)
    if n_words > rules.max_words:
        result.problems.append(f"- it has {n_words} words, expected at most {rules.max_words}")
    while len(kept) > 1 and n_words > rules.max_words:
        n_words -= len(kept.pop().text.split())
        result.repairs["cut to length"] += 1
    result.statements = tuple(kept)
    return result


def _items(text: str, result: Checked) -> list[tuple[str, list[int]]]:
    payload = _json(text, result)
    statements = payload.get("statements") if isinstance(payload, dict) else None
    if not isinstance(statements, list):
        result.is_readable = False
        result.problems.append('- it is not a JSON object such as {"statements": [{"text": ..., "sentences": [...]}]}')
        return []
    items: list[tuple[str, list[int]]] = []
    for place, item in enumerate(statements, 1):
        words = item.get("text") if isinstance(item, dict) else None
        numbers = item.get("sentences") if isinstance(item, dict) else None
        if not isinstance(words, str) or not isinstance(numbers, list):
            result.problems.append(f"- statement {place} lacks its text or its list of sentences")
            result.repairs["out of form"] += 1
            continue
        items.append((words, [number for number in numbers if isinstance(number, int) and number is not True]))
    return items


def _json(text: str, result: Checked) -> object:
    bare = _THINKING.sub("", text).strip()
    try:
        found: object = json.loads(bare)
        return found
    except ValueError:
        pass
    try:
        found = json.loads(bare[bare.index("{") : bare.rindex("}") + 1])
    except ValueError:
        return None
    result.repairs["text around the JSON"] += 1
    return found


def _statement(
    place: int,
    words: str,
    numbers: Sequence[int],
    by_number: dict[int, Numbered],
    article: str,
    rules: Rules,
    hider: NameHider,
    result: Checked,
) -> Statement | None:
    text = one_line(words)
    known = [by_number[number] for number in dict.fromkeys(numbers) if number in by_number]
    if len(text.split()) < MIN_WORDS:
        result.repairs["empty"] += 1
        return None
    spans = tuple(dict.fromkeys(span for sentence in known for span in sentence.spans))
    # Names are not claims: a red wren need not be red.
    nameless = hider.hide(text) if hider.names_in(text) else text
    fault = _fault(text, nameless, known, [hider.hide(article[span.start : span.end]) for span in spans])
    if fault is None and rules.is_refined:
        if not describes_looks(nameless):
            result.repairs["not visual"] += 1
            return None
        if nameless != text:
            text = nameless
            result.repairs["own name"] += 1
    if fault is not None:
        kind, words = fault
        result.repairs[kind] += 1
        result.problems.append(f"- statement {place} {words}")
        return None
    if len(known) < len(set(numbers)):
        result.repairs["unknown sentence numbers"] += 1
    return Statement(text=_with_stop(text), evidence=spans)


def _fault(text: str, nameless: str, known: Sequence[Numbered], evidence: Sequence[str]) -> tuple[str, str] | None:
    """Return kind and description of the fault of a statement, or None."""
    if not known:
        return "unsupported", "cites no known sentence"
    if _MARKUP.search(text):
        return "markup", "contains markup or an address; use plain words"
    if len(text.split()) > MAX_WORDS_A_STATEMENT:
        return "too long", f"has more than {MAX_WORDS_A_STATEMENT} words"
    # Parts and shades may be paraphrased; colours and numbers may not.
    lacking = [word for word, kind in unsupported(nameless, evidence).items() if kind in ("colour", "number")]
    if lacking:
        return "unsupported", f"has words that its sentences lack: {', '.join(lacking)}"
    for colour, (owner, real) in swapped(nameless, evidence).items():
        return "sexes mixed up", f"says {colour} of {owner or 'all'}, its sentences of {real or 'all'}"
    return None


def _with_stop(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else text.rstrip(" ,;:") + "."
