"""Texts, photos and web pages that the user added to species and terms.

They are results of a separate stage, `add`, which no build or update changes. In an entry they precede those of the
source: the paper's preset reads three anchors per species, and these were chosen by hand. Web pages are subjects of
their own in the ledger; the summary of a page comes after the user's own texts and before that of the article.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from data.batches import grouped
from data.records import Anchor, LeftOut, Source, Span, Statement, Summary, Taxon, Term
from kb import reasons
from kb.sources.article_source import owner_of
from kb.store.layout import Layout
from kb.store.ledger import Ledger
from kb.store.stage_outputs import DistilOutput

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
