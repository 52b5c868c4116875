"""Results of stages as records in the ledger: pages, summaries, photos, additions, and the sources of pages.

What the user added to species and terms are results of a stage of their own, `add`, which no build or update changes.
In an entry it precedes that of the source: the paper's preset reads three anchors per species, and these were chosen by
hand. Web pages are subjects of their own in the ledger; the summary of a page comes after the user's own texts and
before that of the article.

A build, an update or an addition changes the results of stages long before it publishes new entries; until then
readers see the old entries, and evidence must be read from the old texts, which are recorded too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from data.batches import grouped
from data.codec import dumps, loads
from data.records import Anchor, LeftOut, Source, Span, Statement, Summary, Taxon, Term, WebAnswer
from kb import reasons
from kb.sources.article_source import ArticleSource, owner_of
from kb.store.layout import Layout
from kb.store.ledger import Ledger, Step, ledger_so_far

FACT = "distiller"
"""Fact with the kind of distiller of the last build."""


ORIGIN = "source:"
"""Prefix of the facts that say how to open each source again; they hold no secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOutput:
    """A fetched page; its body is stored in `articles/` under `sha256`."""

    sha256: str
    media_type: Literal["text/html", "text/plain", "application/json"]
    source: Source
    properties: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    """Language code -> title of the same article."""
    retrieved_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DistilOutput:
    """A summary or term, and the hash of the plain text in `articles/` that its evidence points into."""

    summary: Summary | None = None
    term: WebAnswer | Term | None = None
    source: Source | None = None
    text_sha256: str | None = None
    draft: Summary | None = None
    """Summary of the first of two passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorOutput:
    """The anchors of a species, and the skipped photos with reasons."""

    anchors: tuple[Anchor, ...] = ()
    skipped: tuple[LeftOut, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    """File -> version of the photos examined, for sources with versions."""


def anchors_of(step: Step) -> AnchorOutput:
    """Return the anchors of a species; a failed step keeps the earlier ones."""
    return loads(AnchorOutput, step.output) if step.output is not None else AnchorOutput()


def removed(ledger: Ledger) -> frozenset[str]:
    """Return the names of the species and terms that the user removed."""
    marked = (reasons.REMOVED, f"term: {reasons.REMOVED}")
    return frozenset(name for name, reason, _ in ledger.left_out() if reason in marked)


def draft_text(ledger: Ledger, taxon_id: str) -> str | None:
    """Return the summary of the first of two passes, or None if there was only one.

    Source: VR-RAG, section 3 and table 5: the Wikipedia summary, which is then refined.
    """
    draft = ledger.outputs("distil", DistilOutput, ids=[taxon_id]).get(taxon_id, DistilOutput()).draft
    return None if draft is None else draft.text


def last_distiller(path: Path) -> str | None:
    """Return the kind of distiller of the last build of the knowledge base at `path`, or None."""
    with ledger_so_far(Layout(path).ledger) as ledger:
        return None if ledger is None else ledger.fact(FACT)


def note_origin(ledger: Ledger, source: ArticleSource) -> None:
    """Record in the ledger how to open a source again, under its name."""
    if source.origin:
        ledger.set_fact(ORIGIN + source.name, json.dumps(dict(source.origin), sort_keys=True))


def read_origins(ledger: Ledger) -> dict[str, Mapping[str, str]]:
    """Return name of a source -> how to open it again, sorted by name."""
    return {key.removeprefix(ORIGIN): json.loads(value) for key, value in ledger.facts(ORIGIN)}


STAGE = "add"
BETWEEN_TEXTS = "\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedText:
    """A text of `length` characters, stored in `articles/` under `sha256`."""

    sha256: str
    length: int
    source: Source
    summary: Summary | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """Everything added to one subject."""

    texts: tuple[AddedText, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    common_names: tuple[str, ...] = ()
    term: Term | None = None


def additions(ledger: Ledger) -> dict[str, Addition]:
    """Return subject_id -> addition."""
    return ledger.outputs(STAGE, Addition)


def joined_summary(addition: Addition, summary: Summary | None) -> Summary | None:
    """Return one summary of the added texts and the article; its spans point into these texts, joined into one.

    A sentence that an earlier text has, word for word, is left out: pages copy each other.
    """
    start = 0
    statements: list[Statement] = []
    parts: list[Summary] = []
    for part, length in [*((text.summary, text.length) for text in addition.texts), (summary, 0)]:
        if part is not None:
            parts.append(part)
            known = {statement.text for statement in statements}
            new = [statement for statement in part.statements if statement.text not in known]
            for statement in new:
                spans = (Span(start=span.start + start, end=span.end + start) for span in statement.evidence)
                statements.append(replace(statement, evidence=tuple(spans)))
        start += length + len(BETWEEN_TEXTS)
    if not parts:
        return None
    distillers = dict.fromkeys(part.distiller for part in parts)
    return replace(parts[-1], statements=tuple(statements), distiller=" + ".join(distillers))


def source_of(statement: Statement, texts: Sequence[AddedText], article: Source | None) -> Source | None:
    """Return the source of a statement of `joined_summary`: the text with its last evidence, else the article.

    The evidence may begin with the sentence that names the subject.
    """
    if not statement.evidence:
        return article
    place, end = statement.evidence[-1].start, 0
    for text in texts:
        end += text.length + len(BETWEEN_TEXTS)
        if place < end:
            return text.source
    return article


def with_own_names(taxon: Taxon, addition: Addition | None) -> Taxon:
    """Return the taxon with the added English names after its own."""
    names = dict.fromkeys((*taxon.common_names, *(addition.common_names if addition else ())))
    return replace(taxon, common_names=tuple(names))


def held_pages(ledger: Ledger) -> dict[str, dict[str, DistilOutput]]:
    """Return species or term -> its distilled pages by id; a page that is gone does not count."""
    pages = ledger.subject_names("page")
    found: dict[str, dict[str, DistilOutput]] = {}
    for group in grouped(pages, 500):
        fetched = ledger.steps("fetch", ids=group)
        for key, output in ledger.outputs("distil", DistilOutput, ids=group).items():
            if key not in fetched or fetched[key].status != "left-out":
                found.setdefault(owner_of(key), {})[key] = output
    return found


def note_empty_pages(ledger: Ledger) -> None:
    """Report pages that were distilled to nothing as left out, until they say something."""
    if not (names := ledger.subject_names("page")):
        return
    noted = {name for name, reason, _ in ledger.left_out() if reason == reasons.NO_DESCRIPTION}
    with ledger.transaction():
        for pages in held_pages(ledger).values():
            for key, output in pages.items():
                if output.summary is None and output.term is None:
                    ledger.set_left_out([LeftOut(name=names[key], reason=reasons.NO_DESCRIPTION)])
                elif names[key] in noted:
                    ledger.drop_left_out([names[key]])


def with_pages(addition: Addition, pages: Mapping[str, DistilOutput], layout: Layout) -> Addition:
    """Return an addition with the texts of pages after its own; pages without a summary add nothing."""
    texts = []
    for output in pages.values():
        if output.summary is not None and output.text_sha256 is not None and output.source is not None:
            length = len(layout.articles.read(output.text_sha256).decode())
            texts.append(
                AddedText(sha256=output.text_sha256, length=length, source=output.source, summary=output.summary)
            )
    return replace(addition, texts=(*addition.texts, *texts))


TEXTS = "texts"
"""Name of the results, in the ledger's table of stages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTexts:
    """The texts of a species: added by the user, from web pages, and the hash of that of the article."""

    texts: tuple[AddedText, ...] = ()
    article: str | None = None


def texts_now(
    layout: Layout, ledger: Ledger, pages: Mapping[str, Mapping[str, DistilOutput]], taxon_id: str
) -> PublishedTexts:
    """Return the texts of a species by the present results of the stages; `pages` are those of all species."""
    added = ledger.outputs(STAGE, Addition, ids=[taxon_id]).get(taxon_id, Addition())
    output = ledger.outputs("distil", DistilOutput, ids=[taxon_id]).get(taxon_id, DistilOutput())
    texts = with_pages(added, pages.get(taxon_id, {}), layout).texts
    return PublishedTexts(texts=tuple(replace(text, summary=None) for text in texts), article=output.text_sha256)


def note_texts(
    layout: Layout, ledger: Ledger, pages: Mapping[str, Mapping[str, DistilOutput]], taxon_ids: Iterable[str]
) -> None:
    """Record the present texts of species, in the transaction that publishes their entries."""
    ledger.record(
        Step(subject_id=key, stage=TEXTS, fingerprint="", output=dumps(texts_now(layout, ledger, pages, key)))
        for key in taxon_ids
    )


def texts_of(layout: Layout, ledger: Ledger, taxon_id: str) -> PublishedTexts:
    """Return the texts of a published species; those of the stages where a text was lost, until the next build."""
    if (step := ledger.step(taxon_id, TEXTS)) is not None and step.output is not None:
        return loads(PublishedTexts, step.output)
    return texts_now(layout, ledger, held_pages(ledger), taxon_id)
