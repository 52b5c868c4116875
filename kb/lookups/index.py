"""What look-ups derive from a knowledge base, once: its names, the words of its summaries and of its terms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol
from weakref import WeakKeyDictionary

from data.arrays import FloatArray
from data.records import SpeciesEntry, Taxon, Term
from kb.lookups.bm25 import BM25, tokens
from kb.lookups.names import NameFinder


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
    """Names, words of summaries (rows as in `taxa`), and words of terms (rows as in `terms`)."""

    taxa: list[Taxon]
    names: NameFinder
    summaries: BM25
    terms: dict[str, Term]
    term_words: BM25


_INDICES: WeakKeyDictionary[LookupStore, LookupIndex] = WeakKeyDictionary()


def index_of(store: LookupStore) -> LookupIndex:
    """Return the index of a store; an open knowledge base does not change, so it is made once and lives as long."""
    index = _INDICES.get(store)
    if index is None:
        taxa, terms = store.taxa(), store.terms()
        index = LookupIndex(
            taxa=taxa,
            names=NameFinder(taxa, terms),
            summaries=BM25(
                tokens(" ".join((*_searchable_names(taxon), text)))
                for taxon, text in zip(taxa, store.summary_texts(), strict=True)
            ),
            terms={term.term_id: term for term in terms},
            term_words=BM25(tokens(" ".join((t.name, *t.aliases, t.definition, t.look_for))) for t in terms),
        )
        _INDICES[store] = index
    return index


def _searchable_names(taxon: Taxon) -> Iterable[str]:
    groups = (taxon.lineage[rank] for rank in ("family", "order") if rank in taxon.lineage)
    return (*taxon.common_names, taxon.scientific_name, *groups)
