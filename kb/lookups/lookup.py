"""Look-ups in a knowledge base: what the words of a query mean, and which species fit a description.

Nothing is made up: a passage is put together from summaries and definitions that the knowledge base holds, with their
sources; where nothing fits, it says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from data.arrays import FloatArray, rank_descending
from data.contracts import TextEncoder
from data.records import Context, Source, SpeciesEntry, TaxonMatch, Term, TermNote
from kb.lookups.bm25 import tokens
from kb.lookups.index import LookupIndex, LookupStore, index_of
from kb.lookups.names import Mention
from kb.taxa import fold

MAX_SPECIES = 4
MAX_TERMS = 6
MAX_GROUP_MEMBERS = 8
MAX_SENTENCES = 4
MAX_SENTENCE_WORDS = 70

# When a query names nothing, only a text that holds nearly all of its words may answer. Set on queries about other
# things ("sunglasses on a table"), which must find nothing; a table of them is in the tests.
TERM_COVERAGE = 0.9
TERM_COVERAGE_WITH_VECTOR = 0.5
TERM_SIMILARITY = 0.6
SPECIES_COVERAGE = 0.9
SPECIES_WORDS = 3

# Search: shares of words and vectors; a name counts more than any description.
WORDS_SHARE = 0.65
VECTOR_SHARE = 0.35
MIN_SIMILARITY = 0.35
_GENERIC = frozenset(tokens("photo photograph picture image bird species animal showing seen view close-up closeup"))


# --- context -----------------------------------------------------------------------------------------------------


def context(store: LookupStore, query: str, encoder: TextEncoder) -> Context:
    """Return what the knowledge base knows of the words of a query, as a short passage with its sources.

    Terms are defined, with what to look for in a picture; species (by either name, also in the plural and inside a
    sentence) are described by their summaries; of a genus, family or order it says which species are known. A query
    that names nothing is compared to terms and summaries as a whole, and answered only where the match is clear.

    Args:
        store: an open knowledge base.
        query: free text, such as the query of a rerank job.
        encoder: the sentence encoder that the knowledge base was built with.

    Example:
        >>> import kb, recognize
        >>> from kb.starter_source import StarterSource
        >>> source, encoders = StarterSource(with_vectors=False), recognize.load_encoders("starter")
        >>> terms = [term for term in source.terms() if term.name in ("amplexus", "cere")]
        >>> _ = kb.build("frogs.kb", source.drawn_taxa()[:1], source, encoders, terms=terms)
        >>> found = kb.context(kb.open("frogs.kb"), "Water frogs in amplexus position", encoders.sentence)
        >>> found.found, [term.name for term in found.terms]
        (True, ['amplexus'])

    Source:
        Divide and Conquer, section 3.1, expert context injection. Differs: composed from the knowledge base without a
        model.
    """
    index = index_of(store)
    mentions = index.names.find(query)
    if not mentions:
        mentions = _by_description(store, index, query, encoder)
    if not mentions:
        return Context(query=query)
    terms = [index.terms[i] for i in _ids(mentions, "term")[:MAX_TERMS]]
    entries = store.species(_ids(mentions, "species")[:MAX_SPECIES])
    parts = [_term_passage(term) for term in terms]
    parts += [_species_passage(entry) for entry in entries]
    parts += [_group_passage(store, mention) for mention in mentions if mention.kind == "group"]
    sources = [term.source for term in terms] + [entry.source for entry in entries if entry.summary is not None]
    return Context(
        query=query,
        passage=" ".join(parts),
        terms=tuple(TermNote(name=t.name, definition=t.definition, look_for=t.look_for) for t in terms),
        sources=tuple(_unique(sources)),
        found=True,
    )


def _ids(mentions: Sequence[Mention], kind: str) -> list[str]:
    return list(dict.fromkeys(i for mention in mentions if mention.kind == kind for i in mention.ids))


def _unique(sources: Iterable[Source | None]) -> list[Source]:
    return list(dict.fromkeys(source for source in sources if source is not None))


def _term_passage(term: Term) -> str:
    name = term.name[:1].upper() + term.name[1:]
    look_for = f" What to look for: {_ended(term.look_for)}" if term.look_for else ""
    return f"{name}: {_ended(term.definition)}{look_for}"


def _species_passage(entry: SpeciesEntry) -> str:
    taxon = entry.taxon
    name = f"{taxon.common_name} ({taxon.scientific_name})" if taxon.common_names else taxon.scientific_name
    if entry.summary is None:
        return f"{name}: in this knowledge base, but without a description."
    sentences: list[str] = []
    words = 0
    for statement in entry.summary.statements[:MAX_SENTENCES]:
        words += len(statement.text.split())
        if sentences and words > MAX_SENTENCE_WORDS:
            break
        sentences.append(statement.text)
    return f"{name}: {' '.join(sentences)}"


def _group_passage(store: LookupStore, mention: Mention) -> str:
    shown = [entry.taxon.common_name for entry in store.species(mention.ids[:MAX_GROUP_MEMBERS])]
    more = len(mention.ids) - len(shown)
    tail = f" and {more} more" if more else ""
    name = mention.text[:1].upper() + mention.text[1:]
    return f"{name}: this knowledge base has {', '.join(shown)}{tail}."


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", '."', ".”")) else text + "."


def _by_description(store: LookupStore, index: LookupIndex, query: str, encoder: TextEncoder) -> list[Mention]:
    """Return the term, or the few species, that a query without names clearly describes."""
    words = [word for word in dict.fromkeys(tokens(query)) if word not in _GENERIC]
    if len(words) < 2:
        return []
    term = _described_term(store, index, words, query, encoder)
    if term is not None:
        return [Mention(kind="term", text=query, ids=(term,), start=0)]
    if len(words) < SPECIES_WORDS:
        return []
    held = index.summaries.coverage(words)
    rows = np.flatnonzero(held >= SPECIES_COVERAGE)
    if not 1 <= len(rows) <= MAX_SPECIES:
        return []
    scores = index.summaries.scores(words)[rows]
    ids = tuple(index.taxa[rows[i]].taxon_id for i in rank_descending(scores))
    return [Mention(kind="species", text=query, ids=ids, start=0)]


def _described_term(
    store: LookupStore, index: LookupIndex, words: Sequence[str], query: str, encoder: TextEncoder
) -> str | None:
    if not index.terms:
        return None
    term_ids = list(index.terms)
    held = index.term_words.coverage(words)
    scores = index.term_words.scores(words)
    similar = dict(store.query_terms(vector, len(term_ids)) if (vector := _vector(encoder, query)) is not None else [])
    order = rank_descending(scores + np.asarray([max(similar.get(i, 0.0), 0.0) for i in term_ids], dtype=np.float32))
    best = int(order[0])
    n_held = round(float(held[best]) * len(words))
    by_words = held[best] >= TERM_COVERAGE and n_held >= min(3, len(words))
    by_vector = similar.get(term_ids[best], 0.0) >= TERM_SIMILARITY and held[best] >= TERM_COVERAGE_WITH_VECTOR
    if n_held < 2 or not (by_words or by_vector):
        return None
    # Two terms that fit alike: the query describes neither.
    if len(order) > 1 and held[order[1]] >= held[best] and scores[order[1]] >= 0.9 * scores[best]:
        return None
    return term_ids[best]


def _vector(encoder: TextEncoder, text: str) -> FloatArray | None:
    """Return the unit vector of a text, or None where the encoder understands nothing of it."""
    vector: FloatArray = encoder.encode_texts([text])[0]
    return vector if bool(np.any(vector)) else None


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
        >>> from kb.starter_source import StarterSource
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
    vector = _vector(encoder, text)
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
