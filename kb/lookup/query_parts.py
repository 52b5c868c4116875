"""Names inside a query, with the looks that the knowledge base knows of."""

from __future__ import annotations

from data.records import QueryPart
from kb.lookup.index import LookupStore, index_of


def query_parts(store: LookupStore, query: str) -> list[QueryPart]:
    """Return the species, groups and terms that a query names, in its order, with their looks."""
    index = index_of(store)
    parts = []
    for mention in index.names.find(query):
        name, looks = mention.text, ""
        if mention.kind == "term":
            term = index.terms[mention.ids[0]]
            name, looks = term.name, term.look_for
        elif mention.kind == "species":
            (entry,) = store.species(mention.ids[:1])
            name = entry.taxon.common_name
            looks = entry.summary.text if entry.summary is not None else ""
        parts.append(QueryPart(kind=mention.kind, text=mention.text, name=name, looks=looks))
    return parts
