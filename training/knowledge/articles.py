"""What encyclopaedia articles say of looks: the sentences of their leads and of their sections on looks.

The articles are read to check claims; no sentence of theirs goes further than this.
"""

from __future__ import annotations

import json
from pathlib import Path

from data.records import Source
from kb.distill.sections import SectionKind, section_kinds
from kb.distill.sentences import split_sentences
from kb.sources.mediawiki.html.parse import parse_article


def read_articles(path: Path) -> dict[str, list[str]]:
    """Return scientific name -> the sentences on looks of its article, from JSON lines with `title` and `html`."""
    found: dict[str, list[str]] = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            found[row["scientific_name"]] = _sentences(row["html"], row["title"])
    return found


def _sentences(html: str, title: str) -> list[str]:
    article = parse_article(html, source=Source(title=title))
    sentences: list[str] = []
    for section, kind in zip(article.sections, section_kinds(article), strict=True):
        if kind in (SectionKind.LOOKS, SectionKind.LEAD):
            spans = split_sentences(article.text, section.start, section.end)
            sentences += [article.text[span.start : span.end] for span in spans]
    return sentences
