"""What look-ups derive from a knowledge base, once: its names, the words of its summaries and of its terms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol
from weakref import WeakKeyDictionary

from data.arrays import FloatArray
from data.records import SpeciesEntry, Taxon, Term
from kb.checklist.avilist import fold
from kb.lookup.bm25 import BM25, tokens
from kb.lookup.mentions import NameFinder

QUESTION_ID = "term:question-"


class LookupStore(Protocol):
    """What look-ups need of a knowledge base."""

    @property
    def taxon_ids(self) -> tuple[str, ...]:
        """All species, sorted by id."""

    def taxa(self) -> list[Taxon]:
        """Return the taxa of all species in the order of `taxon_ids`."""

    def summary_texts(self) -> list[str]:
        """Return the summaries of all species in the order of `taxon_ids`; empty where there is none."""

    def species(self, taxon_ids: Sequence[str]) -> list[SpeciesEntry]:
        """Return the entries of these species, in this order."""

    def terms(self) -> list[Term]:
        """Return all terms, sorted by name."""

    def query_species(self, vector: FloatArray, n: int) -> list[tuple[str, float]]:
        """Return up to `n` `(taxon_id, cosine)`, best first."""

    def query_terms(self, vector: FloatArray, n: int) -> list[tuple[str, float]]:
        """Return up to `n` `(term_id, cosine)`, best first."""


@dataclass(frozen=True, slots=True)
class LookupIndex:
    """Names, words of summaries (rows as in `taxa`), and words of terms (rows as in `word_ids`)."""

    taxa: list[Taxon]
    names: NameFinder
    summaries: BM25
    terms: dict[str, Term]
    term_words: BM25
    word_ids: tuple[str, ...]
    questions: dict[str, tuple[str, ...]]
    """Folded question -> ids of the terms that hold what a web search said on it; they are no names."""


_INDICES: WeakKeyDictionary[LookupStore, LookupIndex] = WeakKeyDictionary()
_LEARNT: WeakKeyDictionary[LookupStore, dict[str, Term]] = WeakKeyDictionary()


def index_of(store: LookupStore) -> LookupIndex:
    """Return the index of a store; it is made once and lives as long, but for terms that are learnt.

    Terms of the glossary that ships are among its terms, after those of the store, which win where they share a name.
    """
    from kb.lookup.glossary import glossary_of

    index = _INDICES.get(store)
    if index is None:
        taxa, held = store.taxa(), held_terms(store)
        known = {term.term_id for term in held}
        terms = [*held, *(term for term in glossary_of(store) if term.term_id not in known)]
        questions: dict[str, list[str]] = {}
        for term in terms:
            if is_question(term):
                questions.setdefault(fold(term.name), []).append(term.term_id)
        words = [term for term in terms if not is_question(term)]
        index = LookupIndex(
            taxa=taxa,
            names=NameFinder(taxa, words),
            summaries=BM25(
                tokens(" ".join((*_searchable_names(taxon), text)))
                for taxon, text in zip(taxa, store.summary_texts(), strict=True)
            ),
            terms={term.term_id: term for term in terms},
            term_words=BM25(tokens(" ".join((t.name, *t.aliases, t.definition, t.look_for))) for t in words),
            word_ids=tuple(term.term_id for term in words),
            questions={key: tuple(ids) for key, ids in questions.items()},
        )
        _INDICES[store] = index
    return index


def held_terms(store: LookupStore) -> list[Term]:
    """Return the terms of a store and those that look-ups in it learnt since it was opened, by name."""
    terms = {term.term_id: term for term in store.terms()} | _LEARNT.get(store, {})
    return sorted(terms.values(), key=lambda term: term.name)


def add_terms(store: LookupStore, terms: Iterable[Term]) -> None:
    """Let look-ups in an open store know these terms too; on disk it keeps to the state in which it was opened."""
    _LEARNT.setdefault(store, {}).update((term.term_id, term) for term in terms)
    _INDICES.pop(store, None)


def is_question(term: Term) -> bool:
    """Return whether a term holds an answer to a whole question instead of the meaning of a word."""
    return term.term_id.startswith(QUESTION_ID)


def _searchable_names(taxon: Taxon) -> Iterable[str]:
    groups = (taxon.lineage[rank] for rank in ("family", "order") if rank in taxon.lineage)
    return (*taxon.common_names, taxon.scientific_name, *groups)
