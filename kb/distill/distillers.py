"""Distillers by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, get_args, runtime_checkable

from data.contracts import ChatModel
from data.errors import MissingRequirement, UsageError
from data.prompts import one_line
from data.records import Article, Span, Statement, Summary, Taxon
from kb.distill import DEFAULT, DISTILLERS, DistillerName
from kb.distill.extractive import ExtractiveDistiller
from kb.distill.model import Distilled, Mode, ModelDistiller
from kb.distill.prompts import DistilPrompts, numbered_article

MODES: tuple[Mode, ...] = get_args(Mode)
WORDS_PER_CHUNK = 50  # our choice; mostly within CLIP's 77 tokens
_WORD = re.compile(r"\S+")


class Distiller(Protocol):
    """Makes the summary of a species' looks from an article."""

    @property
    def name(self) -> str:
        """Name and version; part of the fingerprint of every summary."""

    def distil(self, article: Article, taxon: Taxon) -> Summary | None:
        """Return the summary, or None if the article does not describe the species."""


@runtime_checkable
class AsyncDistiller(Protocol):
    """Makes summaries with a model; several articles may wait for replies at once."""

    @property
    def name(self) -> str:
        """Name and version, model and prompts; part of the fingerprint of every summary."""

    async def distil_async(self, article: Article, taxon: Taxon) -> Distilled:
        """Return the summary, or None if the article does not describe the species."""


AnyDistiller = Distiller | AsyncDistiller


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeArticleDistiller:
    """Takes all of an article, as in VR-RAG, Table 5."""

    name: str
    """Name and version; part of the fingerprint of every summary."""
    statements: Callable[[Article], list[Statement]]

    def distil(self, article: Article, taxon: Taxon) -> Summary | None:
        """Return every statement, or None for an empty article."""
        found = tuple(self.statements(article))
        return Summary(statements=found, stage="summary", scope="article", distiller=self.name) if found else None


def _sentences(article: Article) -> list[Statement]:
    """Return the sentences of an article, without galleries, references and sounds."""
    return [Statement(text=each.text, evidence=each.spans) for each in numbered_article(article)]


def _runs_of_words(article: Article) -> list[Statement]:
    """Return runs of 50 words of an article, regardless of sentences."""
    words = [found.span() for found in _WORD.finditer(article.text)]
    runs = (words[i : i + WORDS_PER_CHUNK] for i in range(0, len(words), WORDS_PER_CHUNK))
    spans = [Span(start=run[0][0], end=run[-1][1]) for run in runs]
    texts = ((one_line(article.text[span.start : span.end]), span) for span in spans)
    return [Statement(text=text, evidence=(span,)) for text, span in texts if text]


_WITHOUT_MODEL: dict[str, Distiller] = {
    "extractive": ExtractiveDistiller(),
    "article": WholeArticleDistiller(name="article/1", statements=_sentences),
    "chunks": WholeArticleDistiller(name="chunks/1", statements=_runs_of_words),
}


def make_distiller(
    name: str, *, chat: ChatModel | None = None, prompts: Path | None = None, keep_names: bool = False
) -> AnyDistiller:
    """Return a distiller by name, with the prompts in a folder instead of ours, if one is given.

    Raises:
        MissingRequirement: if the distiller needs a language model and none is given.
        UsageError: for an unknown name, or prompts or `keep_names` for a distiller without a model.
    """
    if name in _WITHOUT_MODEL:
        if prompts is not None:
            raise UsageError(f"The distiller {name} uses no model, so it has no prompts")
        if keep_names:
            raise UsageError(
                f"keep_names is for distillers with a model, not for {name}", hint="Add --distiller model."
            )
        return _WITHOUT_MODEL[name]
    mode = next((mode for mode in MODES if mode == name), None)
    if mode is None:
        raise UsageError(f"Unknown distiller {name!r}", hint=f"Choose one of {', '.join(DISTILLERS)}.")
    if chat is None:
        raise MissingRequirement(
            f"The distiller {name} needs a language model, and none is configured",
            hint="Set [llm.text] in fieldmark.toml (model, base_url, api_key_env); in Python: chat=",
        )
    return ModelDistiller(chat, mode=mode, prompts=DistilPrompts(prompts), keep_names=keep_names)


def kind_of(distiller_name: str) -> str:
    """Return the kind in a name such as `extractive/1` or `model/1 gpt-4o@... prompts ...`."""
    return distiller_name.partition("/")[0]


def name_for(distiller: AnyDistiller, taxon: Taxon | None) -> str:
    """Return the name of a distiller in the fingerprint of a page on this taxon; None for the page of a term."""
    named = getattr(distiller, "name_for", None)
    return str(named(taxon)) if taxon is not None and named is not None else distiller.name


def distiller_for(
    known: str | None, given: AnyDistiller | DistillerName | None, *, chat: ChatModel | None = None
) -> AnyDistiller:
    """Return the distiller of a build or update; the kind of the last build is kept by default.

    Raises:
        MissingRequirement: if the distiller needs a model and none is given.
        UsageError: for an unknown name.
    """
    if given is not None and not isinstance(given, str):
        return given
    name = given or known or DEFAULT
    if given is None and chat is not None and known not in MODES:
        name = "model"
    if given is None and name not in DISTILLERS:  # a custom distiller made it
        hint = f"Choose one of {', '.join(DISTILLERS)}."
        raise UsageError(f"The knowledge base was distilled by an unknown distiller, {name!r}", hint=hint)
    return make_distiller(name, chat=chat)
