"""Texts and photos that the user added to species and terms.

They are results of a separate stage, `add`, which no build or update changes. In an entry they precede those of the
source: the paper's preset reads three anchors per species, and these were chosen by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from data.records import Anchor, Source, Span, Statement, Summary, Taxon, Term
from kb.store.ledger import Ledger

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
    """Return one summary of the added texts and the article, whose spans point into `joined_text`.

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
            statements += [replace(statement, evidence=_moved(statement.evidence, start)) for statement in new]
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


def joined_text(own: Sequence[str], article: str | None) -> str:
    """Return added texts and article as one text."""
    return BETWEEN_TEXTS.join([*own, *([article] if article is not None else [])])


def joined_anchors(addition: Addition, anchors: Sequence[Anchor]) -> tuple[Anchor, ...]:
    """Return the added photos, then the other photos of the source."""
    own = {anchor.anchor_id for anchor in addition.anchors}
    return (*addition.anchors, *(anchor for anchor in anchors if anchor.anchor_id not in own))


def with_own_names(taxon: Taxon, addition: Addition | None) -> Taxon:
    """Return the taxon with the added English names after its own."""
    names = dict.fromkeys((*taxon.common_names, *(addition.common_names if addition else ())))
    return replace(taxon, common_names=tuple(names))


def _moved(spans: Sequence[Span], by: int) -> tuple[Span, ...]:
    return tuple(Span(start=span.start + by, end=span.end + by) for span in spans)
