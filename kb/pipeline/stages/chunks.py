"""Chunks of whole sentences of a summary, for encoders with a limit of tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from data.contracts import TextEncoder
from data.files import sha256_hex
from data.records import Chunk, Span, Summary
from kb.distill.sentences import trimmed

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

    ends = accumulate((len(statement.text) + 1 for statement in summary.statements), initial=0)
    sentences = (span for start, end in pairwise(ends) for span in trimmed(text, start, end - 1))
    found: list[Span] = []
    for piece in (part for span in sentences for part in _cut(text, span, fits, (_CLAUSE_END, _SPACE))):
        if found and fits(found[-1].start, piece.end):
            found[-1] = Span(start=found[-1].start, end=piece.end)
        else:
            found.append(piece)
    return [(span.start, span.end) for span in found]


def _cut(text: str, span: Span, fits: Fits, seams: tuple[re.Pattern[str], ...]) -> Iterator[Span]:
    """Yield pieces of `span` that fit, cut at the first kind of seam that suffices."""
    if fits(span.start, span.end):
        yield span
    elif not seams:
        yield from _cut_word(span, fits)
    else:
        ends = [seam.end() for seam in seams[0].finditer(text, span.start, span.end)]
        for begin, end in pairwise((span.start, *ends, span.end)):
            for part in trimmed(text, begin, end):
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
