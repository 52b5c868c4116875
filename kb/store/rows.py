"""A finished species or term as its rows in Chroma and as its entry in the ledger."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from data.arrays import FloatArray
from data.codec import dumps, loads
from data.errors import StoreError
from data.records import Anchor, Source, SpeciesEntry, Term
from kb.store.chroma import Metadata, Row
from kb.store.layout import CollectionKind, KnowledgeBaseInfo, collection_names
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


def row_id(subject: Subject, kind: CollectionKind, item_id: str) -> str:
    """Return the id of a row in Chroma; two species may share a photo, so an anchor's id names the species too."""
    return f"{subject_id(subject)}/{item_id}" if kind == "anchors" else item_id


def entry_of(subject: Subject, info: KnowledgeBaseInfo) -> Entry:
    """Return the subject as readers get it, with its rows in all collections."""
    rows = {
        name: [row_id(subject, kind, item) for item, _ in items]
        for name, (kind, _) in collection_names(info).items()
        if (items := items_of(subject, kind))
    }
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
        rows=rows,
    )


def subject_of(entry: Entry) -> Subject:
    """Return the species or term of an entry."""
    return loads(Term, entry.record) if entry.kind == "term" else loads(SpeciesEntry, entry.record)


def rows_of(subject: Subject, ledger: Ledger, collection: str, kind: CollectionKind) -> list[Row]:
    """Return every row that a collection holds of a subject.

    Raises:
        StoreError: if the ledger lacks a vector.
    """
    items = items_of(subject, kind)
    vectors = ledger.vectors(collection, subject_id(subject)) if items else {}
    rows = []
    for position, (item, content) in enumerate(items):
        if item not in vectors:
            lost = f"the ledger has no vector of {item} of {subject_id(subject)} in {collection}"
            raise StoreError(lost, hint="kb verify says what else is lost, and what to do")
        rows.append(
            Row(
                id=row_id(subject, kind, item),
                document=content.caption if isinstance(content, Anchor) else content,
                metadata=_metadata(subject, kind, position, item),
                vector=vectors[item],
            )
        )
    return rows


def vectors_mark(vectors: Mapping[str, FloatArray], items: Sequence[str]) -> str:
    """Return one hash of these items' vectors, which tells whether a store still holds them as they were made."""
    digest = hashlib.sha256()
    for item in items:
        digest.update(f"{item}\n".encode())
        digest.update(np.ascontiguousarray(vectors[item], dtype="<f4").tobytes())
    return digest.hexdigest()[:32]


def _metadata(subject: Subject, kind: CollectionKind, position: int, item: str) -> Metadata:
    # Plain values: other programs filter by them. `record` holds the whole, so that Chroma alone can tell all. Chunks
    # and anchors get no more than they need: Chroma keeps a row for each value, and they are most of its rows.
    found: dict[str, str | int | float | bool] = {"item_id": item, "position": position}
    if isinstance(subject, Term):
        return found | {"name": subject.name, "record": dumps(subject), **_credit(subject.source)}
    taxon = subject.taxon
    found |= {"taxon_id": taxon.taxon_id, "scientific_name": taxon.scientific_name, "common_name": taxon.common_name}
    if kind == "chunks":
        found |= {"start": subject.chunks[position].start, "end": subject.chunks[position].end}
    elif kind == "anchors":
        anchor = subject.anchors[position]
        found |= {"sha256": anchor.sha256 or "", "file": anchor.file, "page_url": anchor.page_url or ""}
        found |= {"author": anchor.author or "", "licence": anchor.licence or ""}
    else:
        found |= {**taxon.lineage, "record": dumps(subject), **_credit(subject.source)}
    return found


def _credit(source: Source | None) -> dict[str, str | int]:
    if source is None:
        return {}
    found: dict[str, str | int] = {"title": source.title, "url": source.url or "", "licence": source.licence or ""}
    return found if source.revision is None else {**found, "revision": source.revision}
