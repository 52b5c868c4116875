"""Fenced text for prompts: numbered sentences between two marks that the text cannot contain."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from data.files import sha256_hex
from data.records import Article, Span, Summary
from kb.distill.sections import SectionKind, section_kinds
from kb.distill.sentences import split_sentences

# About 15,000 tokens; the longest articles on birds have twice as many, most of it on matters that no photo shows.
MAX_CHARACTERS = 60_000
# What is left out first where an article is longer.
_LAST_TO_GO = (SectionKind.LOOKS, SectionKind.LEAD, SectionKind.NEUTRAL, SectionKind.OTHER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """A sentence that a model is shown under its number, and the places of the article where what it says stands."""

    number: int
    text: str
    spans: tuple[Span, ...]
    kind: SectionKind = SectionKind.LOOKS
    heading: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """A text between its two marks, ready for a prompt."""

    open: str
    close: str
    text: str


def numbered_article(article: Article) -> list[Numbered]:
    """Return the sentences of an article with their numbers from 1 on; galleries, references and sounds are left out.

    An article of more than `MAX_CHARACTERS` loses whole sections: those on other matters first, those on looks last.
    """
    sections = [(section.start, section.end, section.title) for section in article.sections]
    kinds = section_kinds(article)
    if not sections:
        sections, kinds = [(0, len(article.text), "")], [SectionKind.LEAD]
    wanted = [place for place, kind in enumerate(kinds) if kind is not SectionKind.NEVER]
    room = MAX_CHARACTERS
    taken: list[int] = []
    for place in sorted(wanted, key=lambda place: (_LAST_TO_GO.index(kinds[place]), place)):
        start, end, _ = sections[place]
        if end - start <= room or not taken:
            taken.append(place)
            room -= end - start
    found: list[Numbered] = []
    for place in sorted(taken):
        start, end, title = sections[place]
        for span in split_sentences(article.text, start, min(end, start + MAX_CHARACTERS)):
            text = one_line(article.text[span.start : span.end])
            if text:
                found.append(
                    Numbered(number=len(found) + 1, text=text, spans=(span,), kind=kinds[place], heading=title)
                )
    return found


def numbered_summary(summary: Summary) -> list[Numbered]:
    """Return the sentences of a summary with their numbers; the places are those that they rest on."""
    return [
        Numbered(number=number, text=one_line(statement.text), spans=statement.evidence)
        for number, statement in enumerate(summary.statements, 1)
    ]


def fenced(noun: str, sentences: Sequence[Numbered], *, title: str = "") -> Fence:
    """Return the sentences a line each between two marks, with the headings that they stand under.

    Every line in between begins with a number or a sign of ours, and the marks bear a hash of what they enclose: no
    text can hold the line that would end it.

    Example:
        >>> fence = fenced("article", [Numbered(number=1, text="It is red.", spans=())])
        >>> fence.text.splitlines()[1], fence.text.endswith(fence.close)
        ('[1] It is red.', True)
    """
    lines = list(_lines(sentences, title))
    mark = sha256_hex("\n".join(lines))[:16]
    start, end = f"<<<{noun} {mark}>>>", f"<<<end of {noun} {mark}>>>"
    return Fence(open=start, close=end, text="\n".join([start, *lines, end]))


def one_line(text: str) -> str:
    """Return a text in one line, without characters that show nothing: they could hide or break what we write."""
    shown = (" " if unicodedata.category(sign) in ("Cc", "Zl", "Zp", "Zs") else sign for sign in text)
    return " ".join("".join(sign for sign in shown if unicodedata.category(sign) not in ("Cf", "Co", "Cn")).split())


def _lines(sentences: Sequence[Numbered], title: str) -> Iterable[str]:
    if title:
        yield f"# {one_line(title)}"
    heading = ""
    for sentence in sentences:
        if sentence.heading != heading:
            heading = sentence.heading
            yield f"## {one_line(heading)}"
        yield f"[{sentence.number}] {sentence.text}"
