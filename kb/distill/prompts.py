"""Prompts for distilling and for context, the schema of replies, and fenced texts that cannot close their fence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from data.files import sha256_hex
from data.lexicon.words import BIRDS
from data.prompts import Prompts, one_line
from data.records import Article, Section, Span
from kb.distill.sentences import SectionKind, sections_of, split_sentences

_ARTICLE: Final = ("common_name", "scientific_name", "open", "close", "target_words", "max_words")
_STEPS: Final = ("distil", "summarise", "refine")
PLACEHOLDERS: Final = {
    **dict.fromkeys(_STEPS, _ARTICLE),
    **{f"{step}_group": (*_ARTICLE, "noun", "parts", "apart") for step in _STEPS},
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
    wanted = [each for each in sections_of(article) if each[1] is not SectionKind.NEVER]
    room = MAX_CHARACTERS
    taken: list[tuple[Section, SectionKind]] = []
    for section, kind in sorted(wanted, key=lambda each: _PREFERENCE.index(each[1])):
        if (length := section.end - section.start) <= room or not taken:
            taken.append((section, kind))
            room -= length
    found: list[NumberedSentence] = []
    for section, kind in sorted(taken, key=lambda each: each[0].start):
        for span in split_sentences(article.text, section.start, min(section.end, section.start + MAX_CHARACTERS)):
            if text := one_line(article.text[span.start : span.end]):
                n = len(found) + 1
                found.append(NumberedSentence(number=n, text=text, spans=(span,), kind=kind, heading=section.title))
    return found


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
