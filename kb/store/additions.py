"""A user's own texts and photos of a species or term, beside those of a source.

They lie in a stage of their own, `add`, so that no build and no update touches them. In an entry a user's own texts and
photos come first: the paper's preset reads three anchors a species, and these were chosen by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from data.codec import loads
from data.records import Anchor, Source, Span, Summary, Taxon, Term
from kb.store.ledger import Ledger

STAGE = "add"
BETWEEN_TEXTS = "\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedText:
    """A text; it lies in `articles/` under `sha256` and has `length` characters."""

    sha256: str
    length: int
    source: Source
    summary: Summary | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """All that was added to one subject."""

    texts: tuple[AddedText, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    common_names: tuple[str, ...] = ()
    term: Term | None = None


def additions(ledger: Ledger) -> dict[str, Addition]:
    """Return subject_id -> what was added by hand, of all subjects that something was added to."""
    return {key: loads(Addition, step.output) for key, step in ledger.steps(STAGE).items() if step.output is not None}


def joined_summary(addition: Addition, summary: Summary | None) -> Summary | None:
    """Return the summaries of the user's own texts and of the article as one; spans point into the joined texts."""
    start = 0
    statements = []
    parts: list[Summary] = []
    for text in addition.texts:
        if text.summary is not None:
            parts.append(text.summary)
            statements += [replace(s, evidence=_moved(s.evidence, start)) for s in text.summary.statements]
        start += text.length + len(BETWEEN_TEXTS)
    if summary is not None:
        parts.append(summary)
        statements += [replace(s, evidence=_moved(s.evidence, start)) for s in summary.statements]
    if not parts:
        return None
    distillers = dict.fromkeys(part.distiller for part in parts)
    return replace(parts[-1], statements=tuple(statements), distiller=" + ".join(distillers))


def joined_text(own: Sequence[str], article: str | None) -> str:
    """Return the text that the spans of `joined_summary` point into."""
    return BETWEEN_TEXTS.join([*own, *([article] if article is not None else [])])


def joined_anchors(addition: Addition, anchors: Sequence[Anchor]) -> tuple[Anchor, ...]:
    """Return the user's own photos, then those of the source that are others."""
    own = {anchor.anchor_id for anchor in addition.anchors}
    return (*addition.anchors, *(anchor for anchor in anchors if anchor.anchor_id not in own))


def with_own_names(taxon: Taxon, addition: Addition | None) -> Taxon:
    """Return the taxon with the English names that the user gave it behind those that it has."""
    names = dict.fromkeys((*taxon.common_names, *(addition.common_names if addition else ())))
    return replace(taxon, common_names=tuple(names))


def _moved(spans: Sequence[Span], by: int) -> tuple[Span, ...]:
    return tuple(Span(start=span.start + by, end=span.end + by) for span in spans)
