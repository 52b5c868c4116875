"""A finished species or term as its rows in Chroma and as its entry in the ledger."""

from __future__ import annotations

from data.codec import dumps, loads
from data.records import Anchor, SpeciesEntry, Term
from kb.store.chroma import Metadata, Row
from kb.store.layout import KINDS, CollectionKind
from kb.store.ledger import Entry, Ledger, fingerprint

Subject = SpeciesEntry | Term
Item = tuple[str, str | Anchor]
"""Item id, and the text or the anchor whose vector a collection holds."""


def subject_id(subject: Subject) -> str:
    """Return the id of a species or term."""
    return subject.term_id if isinstance(subject, Term) else subject.taxon.taxon_id


def items_of(subject: Subject, kind: CollectionKind) -> list[Item]:
    """Return what the collections of a kind hold of a subject, in their order there."""
    if isinstance(subject, Term):
        text = f"{subject.name}: {subject.definition} {subject.look_for}".strip()
        return [(subject.term_id, text)] if kind == "terms" else []
    if kind == "chunks":
        return [(chunk.chunk_id, chunk.text) for chunk in subject.chunks]
    if kind == "anchors":
        return [(anchor.anchor_id, anchor) for anchor in subject.anchors]
    if kind == "species":
        # A species without a summary is still found by its name.
        return [(subject_id(subject), subject.summary.text if subject.summary else subject.taxon.common_name)]
    return []


def encode_mark(subject: Subject, collection: str, kind: CollectionKind) -> str:
    """Return the fingerprint of what a collection holds of a subject."""
    items = [[item, content if isinstance(content, str) else None] for item, content in items_of(subject, kind)]
    return fingerprint(collection, items)


def row_id(subject_id: str, kind: CollectionKind, item_id: str) -> str:
    """Return the id of a row in Chroma; two species may share a photo, so an anchor's id names the species too."""
    return f"{subject_id}/{item_id}" if kind == "anchors" else item_id


def entry_of(subject: Subject) -> Entry:
    """Return the subject as readers get it."""
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
    return loads(Term, entry.record) if entry.kind == "term" else loads(SpeciesEntry, entry.record)


def rows_of(subject: Subject, ledger: Ledger, collection: str, kind: CollectionKind) -> list[Row]:
    """Return every row that a collection holds of a subject.

    Raises:
        StoreError: if the ledger lacks a vector.
    """
    key, items = subject_id(subject), items_of(subject, kind)
    vectors = ledger.vectors(collection, key) if items else {}
    if lost := [item for item, _ in items if item not in vectors]:
        raise ledger.damaged(f"it has no vector of {lost[0]} of {key} in {collection}")
    return [
        Row(
            id=row_id(key, kind, item),
            document="" if isinstance(content, Anchor) else content,
            metadata=_metadata(subject, kind),
            vector=vectors[item],
        )
        for item, content in items
    ]


def _metadata(subject: Subject, kind: CollectionKind) -> Metadata:
    """Return values that other programs filter by: few, since Chroma keeps and indexes a row for each of them.

    The keys are the same for every row of a collection, so that a row which is written again keeps nothing old.
    """
    if isinstance(subject, Term):
        return {"name": subject.name}
    taxon = subject.taxon
    if kind in ("chunks", "anchors"):
        return {"taxon_id": taxon.taxon_id}
    ranks = {rank: taxon.lineage.get(rank, "") for rank in ("class", "order", "family", "genus")}
    return {"scientific_name": taxon.scientific_name, "common_name": taxon.common_name, **ranks}
