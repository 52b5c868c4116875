"""Sentences of an article: their ends, the kinds of their sections, and chunks of whole sentences for encoders.

A sentence is a span of the unchanged text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from functools import cache
from importlib.resources import files
from itertools import accumulate

from data.contracts import TextEncoder
from data.files import sha256_hex
from data.lexicon.words import groups, word_list
from data.records import Article, Chunk, Section, Span, Summary

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
def headings(kind: str) -> re.Pattern[str]:
    """Return the pattern of the headings of a kind in `headings.txt`."""
    words = "|".join(word_list(files("kb.distill") / "headings.txt")[kind])
    return re.compile(rf"^(?:{words})(?: and [a-z]+)?$" if kind == "parts" else words, re.IGNORECASE)


def section_kinds(article: Article) -> list[SectionKind]:
    """Return the kind of every section of an article, in order: its own heading decides, then the headings above it."""
    kinds: list[SectionKind] = []
    above: list[tuple[int, SectionKind]] = []
    for section in article.sections:
        while above and above[-1][0] >= section.level:
            above.pop()
        parent = above[-1][1] if above else SectionKind.NEUTRAL
        kind = _kind(section, parent)
        above.append((section.level, kind if kind is not SectionKind.LEAD else SectionKind.NEUTRAL))
        kinds.append(kind)
    return kinds


def _kind(section: Section, parent: SectionKind) -> SectionKind:
    if section.level == 1 and not section.title:
        return SectionKind.LEAD
    if parent is SectionKind.NEVER or headings("never").search(section.title):
        return SectionKind.NEVER
    if headings("looks").search(section.title):
        return SectionKind.LOOKS
    if headings("other").search(section.title):
        return SectionKind.OTHER
    if headings("parts").search(section.title) and parent is not SectionKind.LOOKS:
        return SectionKind.NEUTRAL
    return parent


_CLAUSE_END = re.compile(r"[;:,–—]\s+")
_SPACE = re.compile(r"\s+")
_LONGEST_PIECE = 1024  # characters of a word tried at once, for linear time
Fits = Callable[[int, int], bool]


def chunks_at(spans: Iterable[tuple[int, int]], summary: Summary, subject_id: str) -> list[Chunk]:
    """Return the chunks of a summary at the spans of `chunk_spans`; ids depend on subject, text and span alone."""
    keys = (("\x1f".join((subject_id, summary.text, str(start), str(end))), start, end) for start, end in spans)
    return [
        Chunk(chunk_id=sha256_hex(key)[:20], subject_id=subject_id, text=summary.text[start:end], start=start, end=end)
        for key, start, end in keys
    ]


def chunk_spans(summary: Summary, encoders: Sequence[TextEncoder]) -> list[tuple[int, int]]:
    """Return the start and the end of each chunk of a summary, in characters of its text.

    A chunk has as many whole sentences as every encoder's token limit allows. A sentence above the limit is cut at its
    clauses, then between words, then inside a word.
    """
    text = summary.text
    limited = [encoder for encoder in encoders if encoder.max_tokens is not None]

    def fits(start: int, end: int) -> bool:
        part = text[start:end]
        return all(encoder.count_tokens(part) <= (encoder.max_tokens or 0) for encoder in limited)

    found: list[Span] = []
    for piece in (p for span in _sentence_spans(summary) for p in _cut(text, span, fits, (_CLAUSE_END, _SPACE))):
        if found and fits(found[-1].start, piece.end):
            found[-1] = Span(start=found[-1].start, end=piece.end)
        else:
            found.append(piece)
    return [(span.start, span.end) for span in found]


def _sentence_spans(summary: Summary) -> Iterator[Span]:
    position = 0
    for statement in summary.statements:
        yield from trimmed(summary.text, position, position + len(statement.text))
        position += len(statement.text) + 1


def _cut(text: str, span: Span, fits: Fits, seams: tuple[re.Pattern[str], ...]) -> Iterator[Span]:
    """Yield pieces of `span` that fit, cut at the first kind of seam that suffices."""
    if fits(span.start, span.end):
        yield span
    elif not seams:
        yield from _cut_word(span, fits)
    else:
        begin = span.start
        for seam in seams[0].finditer(text, span.start, span.end):
            for part in trimmed(text, begin, seam.end()):
                yield from _cut(text, part, fits, seams[1:])
            begin = seam.end()
        for part in trimmed(text, begin, span.end):
            yield from _cut(text, part, fits, seams[1:])


def _cut_word(span: Span, fits: Fits) -> Iterator[Span]:
    """Yield pieces of a word that fit; a single character always passes."""
    begin = span.start
    while begin < span.end:
        size = min(span.end - begin, _LONGEST_PIECE)
        while size > 1 and not fits(begin, begin + size):
            size = (size + 1) // 2
        yield Span(start=begin, end=begin + size)
        begin += size
