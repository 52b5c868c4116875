"""Parsing of plain and Markdown texts into prose with sections."""

from __future__ import annotations

import re

from data.records import Section
from kb.sources.mediawiki.html.parse import Passage, clean, join_passages

_HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$")
_PLAIN_HEADING = re.compile(r"^([A-Z][\w ,&-]{2,50}):$")
_MARKDOWN_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")


def parse_text(body: str) -> tuple[str, tuple[Section, ...]]:
    """Return the text and sections of a plain or Markdown text; each paragraph becomes a line, as in parsed pages."""
    passages = [Passage("", 1)]
    for block in re.split(r"\n\s*\n", body.replace("\r\n", "\n").replace("\r", "\n")):
        lines: list[str] = []
        for line in block.split("\n"):
            stripped = line.strip()
            heading = _HEADING.match(stripped)
            plain = _PLAIN_HEADING.match(stripped) if not lines else None
            if heading or plain:
                _add_block(passages, lines)
                lines = []
                # The first heading of a file is its title, not a section.
                title, level = (heading[2], max(2, len(heading[1]))) if heading else (plain[1] if plain else "", 2)
                is_title = (
                    heading is not None and len(heading[1]) == 1 and len(passages) == 1 and not passages[0].blocks
                )
                if not is_title:
                    passages.append(Passage(clean(title), level))
            elif stripped:
                lines.append(re.sub(r"^(?:[-*+]|\d+[.)])\s+", "", stripped))
        _add_block(passages, lines)
    return join_passages(passages)


def _add_block(passages: list[Passage], lines: list[str]) -> None:
    text = clean(_MARKDOWN_LINK.sub(r"\1", " ".join(lines)).replace("**", "").replace("__", "").replace("`", ""))
    text = re.sub(r"(?<!\w)[*_]([^*_]+)[*_](?!\w)", r"\1", text)
    if text:
        passages[-1].blocks.append(text)
