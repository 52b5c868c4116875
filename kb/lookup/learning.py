"""Storage of a wiki's terms and a search model's answers, so that the next look-up needs neither."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from data.arrays import check_vectors
from data.codec import dumps
from data.contracts import TextEncoder
from data.files import writer_lock
from data.records import Term
from kb.lookup.lookup_index import check_encoder
from kb.store.knowledge_base import KnowledgeBase
from kb.store.layout import collection_name
from kb.store.ledger import Ledger, Step, fingerprint
from kb.store.project import project
from kb.store.rows import encode_mark, entry_of, items_of
from kb.store.stage_outputs import DistilOutput


def remember(store: KnowledgeBase, terms: Sequence[Term], encoder: TextEncoder) -> None:
    """Store terms and answers as a build would; the open knowledge base keeps the state in which it was opened.

    Raises:
        SpaceMismatch: for another encoder.
        KnowledgeBaseLocked: if another process is writing to it.
        MissingRequirement: if the disk is full or read-only.
    """
    if not terms:
        return
    info = store.layout.require()
    check_encoder(store, encoder)
    name = collection_name("terms", info.sentence)
    texts = {term.term_id: str(text) for term in terms for _, text in items_of(term, "terms")}
    vectors = check_vectors(encoder.encode_texts(list(texts.values())), dim=encoder.dim)
    unique = {term.term_id: term for term in terms}
    with writer_lock(store.layout.lock), closing(Ledger(store.layout.ledger)) as ledger:
        with ledger.transaction():
            ledger.add_subjects((key, "term", term.name, dumps(term)) for key, term in unique.items())
            ledger.vectors.put(name, [(key, key, vector) for key, vector in zip(texts, vectors, strict=True)])
            ledger.record(step for term in unique.values() for step in _steps(term, name))
            ledger.publish([entry_of(term) for term in unique.values()])
        project(store.layout, info, ledger)


def _steps(term: Term, space: str) -> list[Step]:
    mark = fingerprint(dumps(term))
    output = DistilOutput(term=term, source=term.source)
    return [
        Step(subject_id=term.term_id, stage="resolve", fingerprint=mark),
        Step(subject_id=term.term_id, stage="distil", fingerprint=mark, output=dumps(output)),
        Step(subject_id=term.term_id, stage="encode", space=space, fingerprint=encode_mark(term, space, "terms")),
    ]
