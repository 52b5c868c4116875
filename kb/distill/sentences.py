"""Sentences of an article: their ends, and the kinds of their sections.

A sentence is a span of the unchanged text.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache
from importlib.resources import files
from itertools import accumulate

from data.lexicon.words import groups, word_list
from data.records import Article, Section, Span

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


class SectionKind(Enum):
    """Kind of a section, by its value for a summary of looks."""

    LEAD = "lead"
    LOOKS = "looks"
    NEUTRAL = "neutral"
    OTHER = "other"
    """Behaviour, range, names: looks are mentioned in passing."""
    NEVER = "never"
    """References, galleries, sounds: never used."""


@cache
def pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of the words below a heading of `patterns.txt`."""
    words = "|".join(word_list(files("kb.distill") / "patterns.txt")[name])
    shape = rf"^(?:{words})(?: and [a-z]+)?$" if name == "parts" else words
    return re.compile(shape, re.NOFLAG if name == "seams" else re.IGNORECASE)


def sections_of(article: Article) -> list[tuple[Section, SectionKind]]:
    """Return the sections of an article with their kinds: its own heading decides, then the headings above it.

    The text of an article without sections is its lead.
    """
    found: list[tuple[Section, SectionKind]] = []
    above: list[tuple[int, SectionKind]] = []
    for section in article.sections or (Section(title="", level=1, start=0, end=len(article.text)),):
        while above and above[-1][0] >= section.level:
            above.pop()
        parent = above[-1][1] if above else SectionKind.NEUTRAL
        kind = _kind(section, parent)
        above.append((section.level, kind if kind is not SectionKind.LEAD else SectionKind.NEUTRAL))
        found.append((section, kind))
    return found


def _kind(section: Section, parent: SectionKind) -> SectionKind:
    if section.level == 1 and not section.title:
        return SectionKind.LEAD
    if parent is SectionKind.NEVER or pattern("never").search(section.title):
        return SectionKind.NEVER
    if pattern("looks").search(section.title):
        return SectionKind.LOOKS
    if pattern("other").search(section.title):
        return SectionKind.OTHER
    if pattern("parts").search(section.title) and parent is not SectionKind.LOOKS:
        return SectionKind.NEUTRAL
    return parent
