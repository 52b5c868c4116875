"""Chroma rows and ledger entries of species and terms."""

from __future__ import annotations

from data.codec import dumps, loads
from data.files import sha256_hex
from data.records import HIGHER_RANKS, Anchor, SpeciesEntry, Term, WebAnswer
from kb.store.chroma import Metadata
from kb.store.layout import KINDS, CollectionKind
from kb.store.ledger import Entry, fingerprint

ANSWER_ID = "term:answer-"
"""Prefix of the ids of answers of a web search."""
Subject = SpeciesEntry | Term
Item = tuple[str, str | Anchor]
"""Item id, and the text or anchor that is encoded."""


def subject_id(subject: Subject) -> str:
    """Return the id of a species or term."""
    return subject.term_id if isinstance(subject, Term) else subject.taxon.taxon_id


def items_of(subject: Subject, kind: CollectionKind) -> list[Item]:
    """Return the items of a subject in collections of a kind, in order."""
    if isinstance(subject, Term):
        text = f"{subject.name}: {subject.definition} {subject.look_for}".strip()
        if isinstance(subject, WebAnswer):
            text = subject.name  # answers are found by their query
        return [(subject.term_id, text)] if kind == "terms" else []
    if kind == "chunks":
        return [(chunk.chunk_id, chunk.text) for chunk in subject.chunks]
    if kind == "anchors":
        return [(anchor.anchor_id, anchor) for anchor in subject.anchors]
    if kind == "species":
        # A species without a summary can be found by its name.
        return [(subject_id(subject), subject.summary.text if subject.summary else subject.taxon.common_name)]
    return []


def encode_mark(subject: Subject, collection: str, kind: CollectionKind, views: str = "") -> str:
    """Return the fingerprint of the items of a subject in a collection, and for anchors a hash of their views."""
    items = [[item, content if isinstance(content, str) else None] for item, content in items_of(subject, kind)]
    return fingerprint(collection, items) + (end_of_mark(views) if kind == "anchors" else "")


def end_of_mark(views: str) -> str:
    """Return the end of the encode marks of anchors, after the fingerprint."""
    return f"/{sha256_hex(views)[:12]}" if views else ""


def row_id(subject_id: str, kind: CollectionKind, item_id: str) -> str:
    """Return the id of a row in Chroma; that of an anchor names the species, since two species may share a photo."""
    return f"{subject_id}/{item_id}" if kind == "anchors" else item_id


def entry_of(subject: Subject) -> Entry:
    """Return the ledger's entry of a subject."""
    if isinstance(subject, Term):
        name, document = subject.name, subject.definition
    else:
        name, document = subject.taxon.scientific_name, subject.summary.text if subject.summary else ""
    return Entry(
        subject_id=subject_id(subject),
        kind="term" if isinstance(subject, Term) else "taxon",
        name=name,
        document=document,
        record=dumps(subject),
        items={kind: [item for item, _ in items] for kind in KINDS if (items := items_of(subject, kind))},
    )


def subject_of(entry: Entry) -> Subject:
    """Return the species or term of an entry."""
    return term_of(entry.record) if entry.kind == "term" else loads(SpeciesEntry, entry.record)


def term_of(record: str) -> Term:
    """Return the term, or the answer of a web search, in a line of JSON.

    Raises:
        StoreError: if it is neither.
    """
    term = loads(Term, record)
    return loads(WebAnswer, record) if term.term_id.startswith(ANSWER_ID) else term


def texts_of(subject: Subject, kind: CollectionKind) -> dict[str, tuple[str, Metadata]]:
    """Return row id -> document and metadata of a subject in collections of a kind.

    Only species and terms have documents: Chroma's full-text index of those of chunks, which are parts of the summary,
    once per encoder, takes .7 times their vectors.
    """
    metadata = _metadata(subject, kind)
    return {
        row_id(subject_id(subject), kind, item): (str(content) if kind in ("species", "terms") else "", metadata)
        for item, content in items_of(subject, kind)
    }


def _metadata(subject: Subject, kind: CollectionKind) -> Metadata:
    """Return few values, since Chroma indexes each; the same keys in every row, so that an upsert replaces them all."""
    if isinstance(subject, WebAnswer):
        return {"name": subject.name, "model": subject.model, "asked_on": subject.asked_on}
    if isinstance(subject, Term):
        return {"name": subject.name}
    taxon = subject.taxon
    if kind in ("chunks", "anchors"):
        return {"taxon_id": taxon.taxon_id}
    ranks = {rank: taxon.lineage.get(rank, "") for rank in HIGHER_RANKS}
    return {"scientific_name": taxon.scientific_name, "common_name": taxon.common_name, **ranks}
