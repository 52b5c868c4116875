"""Look-up index of an open knowledge base: names, words of summaries and terms, stored answers, shipped glossary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from data.records import Source, Taxon, Term, WebAnswer
from data.starter.knowledge import LICENCE, read_terms
from kb.checklist.names import fold
from kb.lookup.bm25 import BM25, WHOLE_WORD, stem, tokens
from kb.lookup.kept import Arrays, as_arrays, as_postings, kept
from kb.lookup.mentions import NameFinder
from kb.store.knowledge_base import KnowledgeBase
from kb.store.stage_outputs import removed

QueryKey = tuple[str, ...]
_NEGATIONS = frozenset(("no", "not", "neither", "nor"))
# Words around the contents of a query.
_EMPTY = frozenset(
    tokens("photo photograph picture image showing shown seen visible clearly performing doing exhibiting engaged")
)
_COMMON_STEM = 5  # letters shared by forms of one word: albino, albinism


def query_key(query: str, names: NameFinder) -> QueryKey:
    """Return the contents of a query: species by id, other words by stem, without "photo of", "showing", "a".

    The order of words counts, except between species and terms alone.
    """
    words = list(WHOLE_WORD.finditer(query))
    ids: dict[int, str] = {}  # place of a word -> the name that it belongs to
    are_names = True
    for mention in names.find(query):
        end = mention.start + len(mention.text)
        places = [i for i, word in enumerate(words) if mention.start <= word.start() < end]
        if mention.kind == "species":
            ids |= dict.fromkeys(places, mention.ids[0])
        elif mention.kind == "term" and len(places) == 1 and _is_form_of(mention.text, mention.ids[0]):
            ids[places[0]] = mention.ids[0]
    key: list[str] = []
    for i, word in enumerate(words):
        if i in ids:
            if ids.get(i - 1) != ids[i]:
                key.append(ids[i])
        elif word[0].lower() in _NEGATIONS:
            key.append(word[0].lower())
            are_names = False
        elif found := [token for token in tokens(word[0]) if token not in _EMPTY]:
            key += found
            are_names = False
    return tuple(sorted(key) if are_names else key)


def _is_form_of(word: str, term_id: str) -> bool:
    """Return whether a word is a form of a term's own name, not only another name of it."""
    name = term_id.removeprefix("term:")
    return "-" not in name and stem(word.lower())[:_COMMON_STEM] == stem(name)[:_COMMON_STEM]


@dataclass(frozen=True, slots=True)
class LookupIndex:
    """Names, words of summaries (rows as in `taxa`) and words of terms (rows as in `word_ids`)."""

    taxa: list[Taxon]
    summaries: BM25
    names: NameFinder
    terms: dict[str, Term]
    """All terms by id, the store's before those of the glossary."""
    term_words: BM25
    word_ids: tuple[str, ...]
    answers: dict[QueryKey, WebAnswer]
    """Answers of web searches, by the words of their queries."""

    def answer_to(self, query: str) -> WebAnswer | None:
        """Return the stored answer to the same query, or one of the same meaning."""
        return self.answers.get(query_key(query, self.names))


class Lookup:
    """The look-up index of one open knowledge base, with the terms learnt since, then the shipped glossary."""

    def __init__(self, store: KnowledgeBase) -> None:
        self._taxa = store.taxa()
        self._summaries = _words_of_summaries(store, self._taxa)
        self._stored = {term.term_id: term for term in store.terms()}
        self._glossary = glossary_of(store)
        self.index = self._build()

    @property
    def stored_terms(self) -> list[Term]:
        """Terms of the store and learnt terms, sorted by name, without the glossary."""
        return sorted(self._stored.values(), key=lambda term: term.name)

    def learn(self, terms: Iterable[Term]) -> None:
        """Add terms to the index; on disk, the open store keeps the state in which it was opened."""
        self._stored |= {term.term_id: term for term in terms}
        self.index = self._build()

    def _build(self) -> LookupIndex:
        terms = [*self.stored_terms, *(term for term in self._glossary if term.term_id not in self._stored)]
        words = [term for term in terms if not isinstance(term, WebAnswer)]
        names = NameFinder(self._taxa, words)
        answers = sorted((term for term in terms if isinstance(term, WebAnswer)), key=lambda answer: answer.asked_on)
        return LookupIndex(
            taxa=self._taxa,
            summaries=self._summaries,
            names=names,
            terms={term.term_id: term for term in terms},
            term_words=BM25(tokens(" ".join((t.name, *t.aliases, t.definition, t.look_for))) for t in words),
            word_ids=tuple(term.term_id for term in words),
            answers={query_key(answer.name, names): answer for answer in answers},
        )


def index_of(store: KnowledgeBase) -> LookupIndex:
    """Return the look-up index of an open knowledge base, with all terms learnt so far."""
    return store.derived(Lookup).index


def _words_of_summaries(store: KnowledgeBase, taxa: Sequence[Taxon]) -> BM25:
    """Return the index of the names and summaries of all species, from its file if there is one."""

    def make() -> Arrays:
        texts = store.summary_texts()
        above = ([taxon.lineage.get(rank, "") for rank in ("family", "order")] for taxon in taxa)
        words = (
            tokens(" ".join((*taxon.common_names, taxon.scientific_name, *groups, text)))
            for taxon, groups, text in zip(taxa, above, texts, strict=True)
        )
        made = BM25(words, typical=[bool(text) for text in texts])  # species of which only names are known are short
        return {**as_arrays(made.postings), "norm": made.norm}

    held = kept(store, "summaries", make)
    return BM25.kept(as_postings(held), held["norm"])


def glossary_of(store: KnowledgeBase) -> list[Term]:
    """Return the glossary terms that the user of a knowledge base did not remove."""
    removed_names = {fold(name) for name in removed(store.ledger)}
    return [term for term in shipped_terms() if fold(term.name) not in removed_names]


@cache
def shipped_terms() -> tuple[Term, ...]:
    """Return the shipped terms, each with the glossary as its source."""
    return tuple(
        replace(term, source=Source(title=f"{term.name}, in Fieldmark's glossary", licence=LICENCE))
        for term in read_terms()
    )
