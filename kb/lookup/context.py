"""Look-ups in a knowledge base: what the words of a query mean, and which species fit a description.

Nothing is made up: a passage is put together from summaries and definitions that the knowledge base holds, or that a
wiki or a web search gave, with their sources; where nothing fits, it says so.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np

from data.contracts import ChatModel, TextEncoder, WebSearch
from data.errors import KnowledgeBaseLocked, MissingRequirement, NotCached, SourceError
from data.records import Context, TaxonMatch, Term
from kb.checklist.avilist import fold
from kb.lookup.bm25 import tokens
from kb.lookup.findings import Findings, look_up, vector_of
from kb.lookup.passages import composed
from kb.lookup.word_index import LookupIndex, LookupStore, add_terms, held_terms, index_of

# Search: shares of words and vectors; a name counts more than any description.
WORDS_SHARE = 0.65
VECTOR_SHARE = 0.35
MIN_SIMILARITY = 0.35

N_PASSAGES = 3  # of a web search
QUESTION = (
    "What do the terms in this search for photos mean, and which visible features show that a photo fits? {query}"
)
AT_ONCE = 8  # queries whose passages a model writes at the same time

_log = logging.getLogger(__name__)


class Explainer(Protocol):
    """Says what words of a query mean, as `kb.lookup.wiki_terms.WikiTerms` does out of a wiki."""

    def explain(self, query: str, *, known: Collection[str]) -> list[Term]:
        """Return terms for words of the query other than `known`, each with its source."""


# --- context -----------------------------------------------------------------------------------------------------


def context(
    store: LookupStore,
    query: str,
    encoder: TextEncoder,
    *,
    wiki: Explainer | None = None,
    search: WebSearch | None = None,
    chat: ChatModel | None = None,
    is_chat_a_must: bool = False,
    prompts: Path | None = None,
    keep: bool = True,
) -> Context:
    """Return what is known of the words of a query, as a short passage with its sources.

    Terms are defined, with what to look for in a picture; species (by either name, also in the plural and inside a
    sentence) are described by their summaries; of a genus, family or order, or of all birds that are called so, it says
    which species are known. A query that names nothing is compared to terms and summaries as a whole, and answered only
    where the match is clear. Words that the knowledge base does not explain are looked up in the wiki; where neither
    finds anything, the web is searched. What was learnt is kept, so that the same words need no wiki the next time. The
    glossary that ships answers like the knowledge base, for the terms that a knowledge base on disk lacks.

    Args:
        store: an open knowledge base.
        query: free text, such as the query of a rerank job.
        encoder: the sentence encoder that the knowledge base was built with.
        wiki: what else explains words; without it the knowledge base alone answers.
        search: asked where nothing else was found.
        chat: writes the passage out of the texts found, and of nothing else; without it they are put together as they
            are. A sentence that its sources do not bear out is dropped.
        is_chat_a_must: raise where the chat model fails; else the passage is put together, and a warning is logged.
        prompts: a folder whose `context.md` replaces our prompt for the model.
        keep: write what was learnt into the knowledge base. Where it is locked or cannot be written, the answer is
            given all the same, and a warning is logged.

    Raises:
        ConfigError: for prompts that cannot be filled.
        SourceError: if wiki or search fail for good, or the chat model where it is a must; to decline is no failure.
        CostStop: from the chat model or the search.
        NotCached: from the search, or the chat model where it is a must.

    Example:
        >>> import kb, recognize
        >>> from kb.sources.starter import StarterSource
        >>> source, encoders = StarterSource(with_vectors=False), recognize.load_encoders("starter")
        >>> terms = [term for term in source.terms() if term.name in ("amplexus", "cere")]
        >>> _ = kb.build("frogs.kb", source.drawn_taxa()[:1], source, encoders, terms=terms)
        >>> found = kb.context(kb.open("frogs.kb"), "Two frogs in amplexus", encoders.sentence)
        >>> found.found, [term.name for term in found.terms]
        (True, ['amplexus'])

    Source:
        Divide and Conquer, section 3.1, expert context injection. Differs: the knowledge base and the wiki are asked
        before the web; the passage is composed from what they hold unless there is a model; each sentence of a model is
        checked against the texts that it was given.
    """
    return next(
        contexts(
            store,
            [query],
            encoder,
            wiki=wiki,
            search=search,
            chat=chat,
            is_chat_a_must=is_chat_a_must,
            prompts=prompts,
            keep=keep,
        )
    )


def contexts(
    store: LookupStore,
    queries: Sequence[str],
    encoder: TextEncoder,
    *,
    wiki: Explainer | None = None,
    search: WebSearch | None = None,
    chat: ChatModel | None = None,
    is_chat_a_must: bool = False,
    prompts: Path | None = None,
    keep: bool = True,
) -> Iterator[Context]:
    """Yield the context of each query in order, as `context` gives it; the model writes several passages at a time.

    A model that fails is not asked for the queries after that.
    """
    from kb.distill.prompts import DistilPrompts
    from kb.lookup.writing import written

    loaded = DistilPrompts(prompts) if chat is not None else None  # before anything is paid for
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for start in range(0, len(queries), AT_ONCE):
            answers = []
            for query in queries[start : start + AT_ONCE]:
                found, learnt = gathered(store, query, encoder, wiki=wiki, search=search)
                if learnt and keep:
                    _keep(store, learnt, encoder)
                answers.append((composed(store, query, found), found))
            if chat is None:
                yield from (answer for answer, _ in answers)
                continue
            pending: dict[str, Future[Context]] = {}
            for answer, found in answers:
                if answer.query not in pending:  # asked twice at once, it would be paid for twice
                    pending[answer.query] = pool.submit(written, answer, found, store, chat, prompts=loaded)
            for answer, _ in answers:
                try:
                    yield pending[answer.query].result()
                except (SourceError, NotCached) as error:
                    if is_chat_a_must:
                        raise
                    if chat is not None:
                        _log.warning("no model writes the passages, they are put together from the texts: %s", error)
                    chat = None
                    yield answer


def gathered(
    store: LookupStore,
    query: str,
    encoder: TextEncoder,
    *,
    wiki: Explainer | None = None,
    search: WebSearch | None = None,
) -> tuple[Findings, list[Term]]:
    """Return what was found on a query, and those of its terms that the knowledge base did not hold."""
    from kb.lookup.learning import named_once, terms_of_passages

    found = look_up(store, query, encoder)
    learnt: list[Term] = []
    if wiki is not None and not found.is_by_description:
        known = [mention.text for mention in found.mentions]
        learnt = named_once(wiki.explain(query, known=known), held_terms(store))
    if search is not None and query.strip() and not found and not learnt:
        passages = search.search(QUESTION.format(query=query), n=N_PASSAGES)
        passages = [passage for passage in passages if passage.text.strip()]
        learnt = terms_of_passages(query, passages[:N_PASSAGES])
    return (replace(found, terms=(*found.terms, *learnt)) if learnt else found), learnt


def _keep(store: LookupStore, learnt: Sequence[Term], encoder: TextEncoder) -> None:
    from kb.lookup.learning import remember
    from kb.store.knowledge_base import KnowledgeBase

    add_terms(store, learnt)
    if not isinstance(store, KnowledgeBase):  # one in memory
        return
    try:
        remember(store, learnt, encoder)
    except (KnowledgeBaseLocked, MissingRequirement) as error:
        _log.warning("what was learnt is not kept: %s", error)


# --- search ------------------------------------------------------------------------------------------------------


def search(store: LookupStore, text: str, encoder: TextEncoder, *, n: int = 10) -> list[TaxonMatch]:
    """Return up to `n` species that free text names or describes, best first, ties by name.

    The score has three parts, each higher for better: a name in the text (1 to 2 points: as written, as the beginning
    of a name, or with a slip of the pen), the words of name and summary by BM25 (up to 0.65), and the likeness of text
    and summary as vectors (up to 0.35).

    Args:
        store: an open knowledge base.
        text: a name, a part of one, or a description such as "red crest and black face".
        encoder: the sentence encoder that the knowledge base was built with.
        n: how many at most.

    Example:
        >>> import kb, recognize
        >>> from kb.sources.starter import StarterSource
        >>> source, encoders = StarterSource(with_vectors=False), recognize.load_encoders("starter")
        >>> _ = kb.build("birds.kb", source.drawn_taxa()[:4], source, encoders)
        >>> kb.search(kb.open("birds.kb"), "red shoulder patch", encoders.sentence, n=1)[0].common_name
        'Red-winged Blackbird'
    """
    if n < 1:
        raise ValueError(f"expected n of at least 1, got {n}")
    if not text.strip():
        return []
    index = index_of(store)
    row_of = {taxon.taxon_id: row for row, taxon in enumerate(index.taxa)}
    words = tokens(text)
    scores = WORDS_SHARE * index.summaries.scores(words).astype(np.float64)
    vector = vector_of(encoder, text)
    for taxon_id, similarity in store.query_species(vector, max(50, 5 * n)) if vector is not None and row_of else []:
        row = row_of.get(taxon_id)
        if row is None:  # Chroma is ahead of the store while a build goes on
            continue
        if scores[row] > 0 or similarity >= MIN_SIMILARITY:
            scores[row] += VECTOR_SHARE * max(similarity, 0.0)
    for taxon_id, points in _name_points(index, text).items():
        scores[row_of[taxon_id]] += points
    rows = sorted(np.flatnonzero(scores > 0), key=lambda row: (-scores[row], index.taxa[row].common_name))
    return [
        TaxonMatch(
            taxon_id=index.taxa[row].taxon_id,
            scientific_name=index.taxa[row].scientific_name,
            common_name=index.taxa[row].common_name,
            rank=index.taxa[row].rank,
            score=round(float(scores[row]), 6),
        )
        for row in rows[:n]
    ]


def _name_points(index: LookupIndex, text: str) -> dict[str, float]:
    """Return taxon_id -> points for species that the text names."""
    wanted = fold(text)
    points: dict[str, float] = {}
    for mention in index.names.find(text):
        if mention.kind == "species":
            points[mention.ids[0]] = 2.0 if fold(mention.text) == wanted else 1.5
        elif mention.kind == "group":
            points |= {taxon_id: max(points.get(taxon_id, 0.0), 1.0) for taxon_id in mention.ids}
    if len(wanted) >= 3:
        for taxon in index.taxa:
            if any(fold(name).startswith(wanted) for name in (*taxon.common_names, taxon.scientific_name)):
                points[taxon.taxon_id] = max(points.get(taxon.taxon_id, 0.0), 1.2)
    if not points and len(text.split()) <= 5:
        points = {taxon_id: likeness for taxon_id, likeness in index.names.closest(text)}
    return points
