"""Names that a query without a match may have meant."""

from __future__ import annotations

from kb.checklist.names import fold
from kb.lookup.descriptions.wording import is_listed, is_one_slip
from kb.lookup.index import index_of
from kb.lookup.plain_words import is_plain
from kb.store.knowledge_base import KnowledgeBase

MIN_LETTERS = 5
"""Letters of the shortest misspelt name: shorter ones are one letter away from too many words."""
MIN_LIKENESS = 0.85
"""Least likeness of a misspelt name of a species, which may have several wrong letters."""
MAX_NAME_WORDS = 3
MAX_QUERY_WORDS = 20
"""Longer queries get no suggestions: each run of their words would be compared with all names."""


def suggestions(store: KnowledgeBase, query: str, *, n: int = 3) -> list[str]:
    """Return up to `n` names of terms and species that are spelt like words of a query, in the query's order.

    Everyday words and names that the knowledge base has are not misspelt.

    Example:
        >>> import kb, recognize
        >>> from kb.sources.starter import StarterSource
        >>> source, encoders = StarterSource(with_vectors=False), recognize.load_encoders("starter")
        >>> _ = kb.build("birds.kb", source.drawn_taxa()[:4], source, encoders)
        >>> with kb.open("birds.kb") as store:
        ...     suggestions(store, "frogs in amplexsus")
        ['amplexus']
    """
    index = index_of(store)
    words = query.split()
    if len(words) > MAX_QUERY_WORDS:
        return []
    names = {taxon.taxon_id: taxon.common_name for taxon in index.taxa}
    terms = [(fold(name), name) for i in index.word_ids for name in (index.terms[i].name, *index.terms[i].aliases)]
    known = {word for mention in index.names.find(query) for word in mention.text.split()}
    found: dict[str, None] = {}
    for first in range(len(words)):
        for run in (words[first:end] for end in range(first + 1, min(first + MAX_NAME_WORDS, len(words)) + 1)):
            if known.intersection(run) or all(map(is_plain, run)):
                continue
            typed = fold(" ".join(run))
            if len(typed) >= MIN_LETTERS and not is_listed(typed):
                found |= dict.fromkeys(name for key, name in terms if is_one_slip(typed, key))
                near = index.names.closest(typed, 1, at_least=MIN_LIKENESS)
                found |= dict.fromkeys(names[taxon_id] for taxon_id, likeness in near if likeness < 1)
    return list(found)[:n]
