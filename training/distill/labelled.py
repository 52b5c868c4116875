"""Hand-labelled sentences, matched with their articles and checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from data.codec import from_json
from data.errors import BadInput
from data.files import sha256_hex
from data.records import Article, Source, Span, Taxon
from kb.sources.mediawiki.article_parser import parse_article

Half = Literal["tuning", "held-out"]
Stratum = Literal["looks", "lead", "other", "never"]
SentenceClass = Literal["visual", "mixed", "song", "range", "taxonomy", "behaviour", "other"]
VISUAL: frozenset[SentenceClass] = frozenset(("visual", "mixed"))
DIGEST_DIGITS = 16
ARTICLES_FILE = "articles.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSentence:
    """Position of a sentence in an article's plain text, and its class."""

    start: int
    end: int
    digest: str
    """First digits of the sentence's sha256."""
    stratum: Stratum
    """Kind of its section when the sample was drawn."""
    class_: SentenceClass

    @property
    def span(self) -> Span:
        """Position in the text."""
        return Span(start=self.start, end=self.end)

    @property
    def is_visual(self) -> bool:
        """Whether it describes looks, alone or beside other subjects."""
        return self.class_ in VISUAL


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledArticle:
    """Labels of one article."""

    title: str
    html_sha256: str
    half: Half
    sentences: tuple[LabelledSentence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A labelled article of the data."""

    article: Article
    taxon: Taxon
    html_sha256: str


def read_labels() -> list[LabelledArticle]:
    """Return the labels in `labels/`, by title."""
    lines = files("training.distill.labels").joinpath("sentences.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    for row in rows:
        for sentence in row["sentences"]:
            sentence["class_"] = sentence.pop("class")
    return [from_json(LabelledArticle, row) for row in rows]


def read_pages(data: Path) -> dict[str, Page]:
    """Return title -> page of the articles in `data/articles.jsonl` (`title`, `scientific_name`, `html`).

    Raises:
        BadInput: if there is no such file.
    """
    path = data / ARTICLES_FILE
    if not path.is_file():
        raise BadInput(f"File not found: {path}.", hint="Give the folder of the labelled articles with --data.")
    pages = {}
    with path.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            title = row["title"]
            source = Source(title=title, url=f"https://wiki.example/{title}", revision=1)
            taxon = Taxon(
                taxon_id="-",
                scientific_name=row["scientific_name"],
                rank="species",
                common_names=(title,),
                lineage={"class": "Aves"},
            )
            article = parse_article(row["html"], source=source)
            pages[title] = Page(article=article, taxon=taxon, html_sha256=sha256_hex(row["html"]))
    return pages


def read_fitting(data: Path) -> tuple[list[LabelledArticle], dict[str, Page]]:
    """Return the labels and their pages.

    Raises:
        BadInput: if the articles are missing or differ from the labelled ones.
    """
    labels, pages = read_labels(), read_pages(data)
    if problems := misplaced(labels, pages):
        raise BadInput("The labels do not fit the articles:\n" + "\n".join(problems))
    return labels, pages


def misplaced(labels: list[LabelledArticle], pages: Mapping[str, Page]) -> list[str]:
    """Return the labels that do not fit their articles, in words."""
    problems: list[str] = []
    for article in labels:
        page = pages.get(article.title)
        if page is None:
            problems.append(f"{article.title}: article not found")
        elif page.html_sha256 != article.html_sha256:
            problems.append(f"{article.title}: its HTML differs from the labelled HTML")
        else:
            text = page.article.text
            problems += [
                f"{article.title} {sentence.start}:{sentence.end}: its text differs from the labelled sentence"
                for sentence in article.sentences
                if sha256_hex(text[sentence.start : sentence.end])[:DIGEST_DIGITS] != sentence.digest
            ]
    return problems
