"""Storage of terms found on a wiki or the web, so that the next look-up needs neither."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from data.arrays import check_vectors
from data.codec import dumps
from data.contracts import TextEncoder
from data.files import writer_lock
from data.records import Term, WebPassage
from kb.distill.sentences import split_sentences
from kb.distill.terms import term_id
from kb.lookup.findings import check_encoder
from kb.lookup.index import QUESTION_ID
from kb.store.knowledge_base import KnowledgeBase
from kb.store.layout import collection_name
from kb.store.ledger import Ledger, Step, fingerprint
from kb.store.project import project
from kb.store.rows import encode_mark, entry_of, items_of
from kb.store.stage_outputs import DistilOutput

MAX_PASSAGE_WORDS = 90  # of one passage of a web search


def remember(store: KnowledgeBase, terms: Sequence[Term], encoder: TextEncoder) -> None:
    """Store terms in a knowledge base as a build would; terms of the same id are replaced.

    The open knowledge base keeps the state in which it was opened.

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
            ledger.put_vectors(name, [(key, key, vector) for key, vector in zip(texts, vectors, strict=True)])
            ledger.record(step for term in unique.values() for step in _steps(term, name))
            ledger.publish([entry_of(term) for term in unique.values()])
        project(store.layout, info, ledger)


def terms_of_passages(question: str, passages: Sequence[WebPassage]) -> list[Term]:
    """Return the passages of a web search as terms that only the same question finds, with their sources."""
    base = term_id(question).removeprefix("term:")
    return [
        Term(
            term_id=f"{QUESTION_ID}{base}-{i}", name=question, definition=shortened(passage.text), source=passage.source
        )
        for i, passage in enumerate(passages, start=1)
    ]


def shortened(text: str) -> str:
    """Return the first sentences of a text, at least one, up to `MAX_PASSAGE_WORDS` words, in one line."""
    line = " ".join(text.split())
    sentences: list[str] = []
    for span in split_sentences(line, 0, len(line)):
        sentence = line[span.start : span.end]
        if sentences and len(" ".join([*sentences, sentence]).split()) > MAX_PASSAGE_WORDS:
            break
        sentences.append(sentence)
    return " ".join(" ".join(sentences or [line]).split()[: 2 * MAX_PASSAGE_WORDS])


def _steps(term: Term, collection: str) -> list[Step]:
    mark = fingerprint(dumps(term))
    output = DistilOutput(term=term, source=term.source)
    return [
        Step(subject_id=term.term_id, stage="resolve", fingerprint=mark),
        Step(subject_id=term.term_id, stage="distil", fingerprint=mark, output=dumps(output)),
        Step(
            subject_id=term.term_id,
            stage="encode",
            space=collection,
            fingerprint=encode_mark(term, collection, "terms"),
        ),
    ]
