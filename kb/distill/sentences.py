"""Sentence boundaries, with abbreviations, initials and units; a sentence is a span of the unchanged text."""

from __future__ import annotations

import re
from itertools import accumulate

from data.lexicon.word_groups import groups
from data.records import Span

# Abbreviations: a full stop after them never ends a sentence.
_NEVER_ENDS = groups()["abbreviation-inside"]
# Abbreviations that may end a sentence, depending on the next word; case matters: "M. Smith", "20 m. The".
_MAY_END = groups()["abbreviation-at-end"]
# Possessive quantifiers and the look-behind keep the time linear in runs of dots or spaces.
_BOUNDARY = re.compile(
    r"""
    (?P<paragraph>\n)                                      # a line break always ends a sentence
    | (?<![.!?…])(?P<mark>[.!?…]++)(?P<closing>["'”’)\]]*+(?:\[\w{1,4}\])*+)(?=\s++(?P<next>\S{1,8})|\s*+$)
    | (?<=[a-z)][a-z)])(?P<glued>\.)(?=[A-Z][a-z]+[ ,])    # "grey.Males are": the space was forgotten
    """,
    re.VERBOSE,
)
_LAST_WORD = re.compile(r"[^\s([{\"“‘'/–—-]+$")
_OPENING = {"(": ")", "[": "]"}
_INITIAL = re.compile(r"(?:[A-Za-z]\.)*[A-Za-z]$")


def split_sentences(text: str, start: int = 0, end: int | None = None) -> list[Span]:
    """Return the sentences of `text[start:end]` as spans into `text`, in order, in linear time.

    A line break ends a sentence. A full stop does not, after an abbreviation, initial or shortened scientific name,
    inside brackets, or before a lower-case letter.
    """
    stop = len(text) if end is None else end
    part = text[start:stop]
    inside = _bracketed(part)
    spans: list[Span] = []
    begin = 0
    for found in _BOUNDARY.finditer(part):
        is_stop = found["paragraph"] is None
        if is_stop and (inside[found.start()] or (found["glued"] is None and not _ends_here(part, begin, found))):
            continue
        spans += trimmed(text, start + begin, start + found.end())
        begin = found.end()
    spans += trimmed(text, start + begin, stop)
    return spans


def trimmed(text: str, start: int, end: int) -> list[Span]:
    """Return the span of `text[start:end]` without surrounding white space; empty if there is nothing else."""
    part = text[start:end]
    left = len(part) - len(part.lstrip())
    stripped = part.strip()
    return [Span(start=start + left, end=start + left + len(stripped))] if stripped else []


def _ends_here(part: str, begin: int, found: re.Match[str]) -> bool:
    """Return whether the sentence that starts at `begin` ends with this run of full stops."""
    following = found["next"]
    if following is None:
        return True
    first = following.lstrip("\"'“‘([")[:1]
    if first.islower():
        return False
    if found["mark"] != "." or found["closing"]:
        return True
    # Only the tail, for linear time: no abbreviation is longer.
    word_match = _LAST_WORD.search(part[max(begin, found.start() - 24) : found.start()])
    word = word_match[0] if word_match else ""
    if word.lower() in _NEVER_ENDS:
        # "sp." and "no." may end a sentence, but a long sentence does less harm than one cut in half.
        return False
    if word.lower() in ("c", "p"):
        return not (first.isdigit() or first in "~<>")
    if _INITIAL.match(word) and len(word) <= 5 and word not in _MAY_END:
        return False  # "J. Smith", "P. c. collaris", "U.S.A. Today"
    return word not in _MAY_END or first.isupper() or first in '"“('


def _bracketed(part: str) -> list[bool]:
    """Return for every character whether it is inside brackets that close in the same paragraph."""
    steps = [0] * (len(part) + 1)
    stack: list[tuple[str, int]] = []
    for position, sign in enumerate(part):
        if sign == "\n":
            stack.clear()
        elif sign in _OPENING:
            stack.append((_OPENING[sign], position))
        elif stack and sign == stack[-1][0]:
            steps[stack.pop()[1]] += 1
            steps[position] -= 1
    return list(map(bool, accumulate(steps)))
