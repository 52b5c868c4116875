"""Prompts for distilling and for context, the schema of replies, and fenced texts that cannot close their fence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from data.files import sha256_hex
from data.lexicon.words import BIRDS
from data.prompts import Prompts, one_line
from data.records import Article, Span, Summary
from kb.distill.sentences import SectionKind, section_kinds, split_sentences

_ARTICLE: Final = ("common_name", "scientific_name", "open", "close", "target_words", "max_words")
_GROUP: Final = (*_ARTICLE, "noun", "parts", "apart")
PLACEHOLDERS: Final = {
    "distil": _ARTICLE,
    "summarise": _ARTICLE,
    "refine": _ARTICLE,
    "distil_group": _GROUP,
    "summarise_group": _GROUP,
    "refine_group": _GROUP,
    "repair": ("problems",),
    "names_kept": (),
    "context": ("query", "texts", "fence", "max_words"),
    "search": ("query",),
}


class DistilPrompts(Prompts):
    """The prompts by name, each replaced by `NAME.md` of `folder` if it exists.

    Raises:
        ConfigError: if the folder has no prompts, an unknown one, or one with an unknown placeholder.
    """

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__("kb", PLACEHOLDERS, folder)
        self._replaced = {path.stem for path in folder.glob("*.md")} if folder is not None else set()

    def name_for(self, step: str, group: str) -> str:
        """Return the name of the prompt of a step: `distil_group` outside birds, unless the user gave only `distil`."""
        name = f"{step}_group"
        is_for_all = step in self._replaced and name not in self._replaced
        return step if group == BIRDS or is_for_all else name


def cited_texts_schema(name: str, *, cited: str) -> dict[str, object]:
    """Return the JSON schema of a list `name` of texts, each with the numbers `cited` that support it."""

    def record(properties: dict[str, object]) -> dict[str, object]:
        return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}

    text = record({"text": {"type": "string"}, cited: {"type": "array", "items": {"type": "integer"}}})
    return record({name: {"type": "array", "items": text}})


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


def numbered_article(article: Article) -> list[NumberedSentence]:
    """Return the sentences of an article, numbered from 1, without galleries, references and sounds.

    An article of more than `MAX_CHARACTERS` loses whole sections: those on other topics first, those on looks last.
    """
    sections = [(section.start, section.end, section.title) for section in article.sections]
    kinds = section_kinds(article)
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
