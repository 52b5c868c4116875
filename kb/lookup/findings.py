"""Terms, species and groups that a query names or clearly describes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data.arrays import rank_descending
from data.contracts import TextEncoder
from data.lexicon.word_groups import group_of, tokens
from data.records import QueryPart, SpeciesEntry, Term, WebAnswer
from kb.lookup.lookup_index import LookupIndex, check_encoder, index_of, vector_of
from kb.lookup.mentions import Mention
from kb.lookup.senses import sense_words
from kb.lookup.variants import fitting_sentences, in_its_plumage, sex_age_part, variant_of
from kb.store.knowledge_base import KnowledgeBase

MAX_SPECIES, MAX_TERMS = 4, 6
# A query without names matches a text with nearly all of its words, or with half of them and a similar vector. Tuned on
# 71 questions that describe a term and 98 queries that describe none, with the vectors of the starter and of
# all-MiniLM-L6-v2: at .5 neither answers any of the 98 (docs/results.md).
TERM_COVERAGE = 0.9
TERM_COVERAGE_WITH_VECTOR = 0.5
TERM_SIMILARITY = 0.5
TERM_WORDS = 3
SPECIES_COVERAGE = 0.9
SPECIES_WORDS = 3
_GENERIC = frozenset(tokens("photo photograph picture image bird species animal showing seen view close-up closeup"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Results of a look-up; `mentions` are the matching words of the query, in order."""

    mentions: tuple[Mention, ...] = ()
    terms: tuple[Term, ...] = ()
    species: tuple[SpeciesEntry, ...] = ()
    groups: tuple[Mention, ...] = ()
    answer: WebAnswer | None = None
    """Answer of a search model to this query."""
    is_by_description: bool = False
    """The query has no names, but describes the term or species found."""

    def __bool__(self) -> bool:
        return bool(self.terms or self.species or self.groups or self.answer)


def look_up(store: KnowledgeBase, query: str, encoder: TextEncoder) -> Findings:
    """Return the terms, species and groups that a query names or describes, and a stored answer to it.

    A term that every reader knows ("tagged") is left out where the query has other words.
    """
    check_encoder(store, encoder)
    index = index_of(store)
    named = index.names.find(query)
    mentions = [mention for mention in named if not _needs_no_definition(mention, query)]
    is_by_description = not named
    if is_by_description:
        mentions = _described(store, index, query, encoder)
    return Findings(
        mentions=tuple(mentions),
        terms=tuple(index.terms[i] for i in _ids(mentions, "term")[:MAX_TERMS]),
        species=tuple(store.species(_ids(mentions, "species")[:MAX_SPECIES])),
        answer=index.answer_to(query),
        groups=tuple({mention.ids: mention for mention in mentions if mention.kind == "group"}.values()),
        is_by_description=is_by_description and bool(mentions),
    )


def query_parts(store: KnowledgeBase, query: str) -> list[QueryPart]:
    """Return the species, groups and terms in a query, in its order, with the looks that may hold for the variant.

    A species is followed by its sex or age, if the query names one that the summary tells from others.
    """
    index = index_of(store)
    parts = []
    mentions = index.names.find(query)
    terms = [index.terms[mention.ids[0]].name for mention in mentions if mention.kind == "term"]
    for mention in mentions:
        name, looks, sex_age = mention.text, "", None
        if mention.kind == "term":
            term = index.terms[mention.ids[0]]
            name, looks = term.name, term.look_for
        elif mention.kind == "species":
            (entry,) = store.species(mention.ids[:1])
            name = entry.taxon.common_name
            sentences = [statement.text for statement in entry.summary.statements] if entry.summary else []
            variant = variant_of(query, mention.text, mention.start, terms=terms)
            looks = " ".join(fitting_sentences(sentences, in_its_plumage(variant, entry.taxon, sentences)))
            sex_age = sex_age_part(query, mention, entry)
        taxon_ids = () if mention.kind == "term" else mention.ids
        parts.append(QueryPart(kind=mention.kind, text=mention.text, name=name, looks=looks, taxon_ids=taxon_ids))
        if sex_age is not None:
            parts.append(sex_age)
    return parts


def _needs_no_definition(mention: Mention, query: str) -> bool:
    is_everyday = mention.kind == "term" and mention.text.lower() in sense_words("needs-no-definition")
    return is_everyday and set(tokens(mention.text)) != set(tokens(query))


def _ids(mentions: Sequence[Mention], kind: str) -> list[str]:
    return list(dict.fromkeys(i for mention in mentions if mention.kind == kind for i in mention.ids))


def _described(store: KnowledgeBase, index: LookupIndex, query: str, encoder: TextEncoder) -> list[Mention]:
    """Return the term, or the few species, that a query without names clearly describes."""
    words = [word for word in dict.fromkeys(tokens(query)) if word not in _GENERIC]
    if len(words) < 2:
        return []
    term = _described_term(store, index, words, query, encoder)
    if term is not None:
        return [Mention(kind="term", text=query, ids=(term,), start=0)]
    if len(words) < SPECIES_WORDS:
        return []
    scores, coverage = index.summaries.match(words)
    rows = np.flatnonzero(coverage >= SPECIES_COVERAGE)
    if not 1 <= len(rows) <= MAX_SPECIES:
        return []
    ids = tuple(index.taxa[rows[i]].taxon_id for i in rank_descending(scores[rows]))
    return [Mention(kind="species", text=query, ids=ids, start=0)]


def _described_term(
    store: KnowledgeBase, index: LookupIndex, words: Sequence[str], query: str, encoder: TextEncoder
) -> str | None:
    if not index.word_ids:
        return None
    term_ids = index.word_ids
    scores, coverage = index.term_words.match(words)
    vector = vector_of(encoder, query)
    similar = {} if vector is None else dict(store.query_terms(vector, len(index.terms)))
    order = rank_descending(scores + np.asarray([max(similar.get(i, 0.0), 0.0) for i in term_ids], dtype=np.float32))
    best = int(order[0])
    # Colours are too common to make a match alone.
    distinctive = [word for word in words if group_of(word) != "colour"]
    n_shared = round(float(index.term_words.match(distinctive)[1][best]) * len(distinctive))
    by_words = coverage[best] >= TERM_COVERAGE
    by_vector = similar.get(term_ids[best], 0.0) >= TERM_SIMILARITY and coverage[best] >= TERM_COVERAGE_WITH_VECTOR
    if n_shared < TERM_WORDS or not (by_words or by_vector):
        return None
    # With two equal matches, the query describes neither.
    if len(order) > 1 and coverage[order[1]] >= coverage[best] and scores[order[1]] >= 0.9 * scores[best]:
        return None
    return term_ids[best]
