"""Fenced text for prompts: numbered sentences between two marks that the text cannot contain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from data.files import sha256_hex
from data.lexicon.tables import BIRDS
from data.prompts import one_line
from data.records import Article, Span, Summary
from kb.distill.sections import SectionKind, section_kinds
from kb.distill.sentences import split_sentences

# About 15,000 tokens; the longest articles on birds have twice as many, mostly on other topics than looks.
MAX_CHARACTERS = 60_000
# Sections of longer articles, in the order of preference.
_PREFERENCE = (SectionKind.LOOKS, SectionKind.LEAD, SectionKind.NEUTRAL, SectionKind.OTHER)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedSentence:
    """A sentence under its number in a prompt, and the places in the article that it comes from."""

    number: int
    text: str
    spans: tuple[Span, ...]
    kind: SectionKind = SectionKind.LOOKS
    heading: str = ""


def numbered_article(article: Article, group: str = BIRDS) -> list[NumberedSentence]:
    """Return the sentences of an article, numbered from 1, without galleries, references and sounds.

    An article of more than `MAX_CHARACTERS` loses whole sections: those on other topics first, those on looks last.
    """
    sections = [(section.start, section.end, section.title) for section in article.sections]
    kinds = section_kinds(article, group)
    if not sections:
        sections, kinds = [(0, len(article.text), "")], [SectionKind.LEAD]
    wanted = [place for place, kind in enumerate(kinds) if kind is not SectionKind.NEVER]
    room = MAX_CHARACTERS
    taken: list[int] = []
    for place in sorted(wanted, key=lambda place: (_PREFERENCE.index(kinds[place]), place)):
        start, end, _ = sections[place]
        if end - start <= room or not taken:
            taken.append(place)
            room -= end - start
    found: list[NumberedSentence] = []
    for place in sorted(taken):
        start, end, title = sections[place]
        for span in split_sentences(article.text, start, min(end, start + MAX_CHARACTERS)):
            if text := one_line(article.text[span.start : span.end]):
                n, kind = len(found) + 1, kinds[place]
                found.append(NumberedSentence(number=n, text=text, spans=(span,), kind=kind, heading=title))
    return found


def numbered_summary(summary: Summary) -> list[NumberedSentence]:
    """Return the sentences of a summary, numbered from 1, with their evidence as places."""
    return [
        NumberedSentence(number=number, text=one_line(statement.text), spans=statement.evidence)
        for number, statement in enumerate(summary.statements, 1)
    ]


def fenced(noun: str, sentences: Sequence[NumberedSentence], *, title: str = "") -> str:
    """Return the sentences by line under headings, between marks with a hash of them: no text can close its fence."""
    lines = [f"# {one_line(title)}"] if title else []
    heading = ""
    for sentence in sentences:
        if sentence.heading != heading:
            heading = sentence.heading
            lines.append(f"## {one_line(heading)}")
        lines.append(f"[{sentence.number}] {sentence.text}")
    mark = sha256_hex("\n".join(lines))[:16]
    return "\n".join([f"<<<{noun} {mark}>>>", *lines, f"<<<end of {noun} {mark}>>>"])
