"""Reuse of web answers: share of reworded queries that find the stored answer, and of other queries that must not.

    python -m benchmarks.near_queries --queries ../shared/benchmarks/inquire_queries_*.csv

Each query is reworded ("A photo of ..."), turned into a variant (albino, female, ...), into the same with another
species, and compared with all other queries. Cosine of the starter's sentence vectors is the alternative.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import numpy as np

import kb
import recognize
from benchmarks.context import read
from cli.common.settings import resolve
from data.contracts import TextEncoder
from kb.lookup.lookup_index import index_of, query_key
from kb.shipped import unpack_shipped
from kb.store.knowledge_base import KnowledgeBase
from training.tables import markdown

VARIANTS = ("albino", "leucistic", "juvenile", "female", "hybrid")
COSINES = (0.8, 0.9, 0.95)
Pairs = list[tuple[str, str]]


def reworded(query: str) -> list[str]:
    """Return the query in other words of the same meaning."""
    bare = re.sub(r"^(an?|the) ", "", query, flags=re.IGNORECASE)
    return [f"A photo of {query}", f"picture showing {bare}", query.lower(), f"the {bare}", f"{query}."]


def variants(query: str) -> list[str]:
    """Return the query for variants of its subject."""
    bare = re.sub(r"^(an?|the) ", "", query, flags=re.IGNORECASE)
    return [f"{word} {bare}" for word in VARIANTS if word not in query.lower()]


def other_species(store: KnowledgeBase, query: str) -> list[str]:
    """Return the query with another species of the same knowledge base in the place of each of its species."""
    taxa = index_of(store).taxa
    found = []
    for mention in index_of(store).names.find(query):
        if mention.kind == "species":
            row = next(row for row, taxon in enumerate(taxa) if taxon.taxon_id in mention.ids)
            found.append(query.replace(mention.text, taxa[row - 1].common_name))
    return found


def main() -> None:
    """Print the share of pairs taken for the same query."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=Path, nargs="+", required=True, help="files of queries of INQUIRE")
    encoders = recognize.load_encoders("starter")
    queries = [query for query, _ in read(parser.parse_args().queries)]
    with kb.open(unpack_shipped(resolve().home, encoders)) as store:
        kinds: dict[str, Pairs] = {
            "reworded": [(query, other) for query in queries for other in reworded(query)],
            "variant": [(query, other) for query in queries for other in variants(query)],
            "other species": [(query, other) for query in queries for other in other_species(store, query)],
            "other query": [(a, b) for i, a in enumerate(queries) for b in queries[:i]],
        }
        keys = {text: query_key(text) for pairs in kinds.values() for pair in pairs for text in pair}
    lines: list[list[object]] = []
    for kind, pairs in kinds.items():
        cosines = _cosines(encoders.sentence, pairs)
        same = sum(keys[a] == keys[b] for a, b in pairs)
        similar = (int((cosines >= least).sum()) for least in COSINES)
        lines.append([kind, *(f"{n:,}" for n in (len(pairs), same, *similar))])
    sys.stdout.write("\n".join(markdown(["", "pairs", "same key", *(f"cosine {c}" for c in COSINES)], lines)) + "\n")


def _cosines(encoder: TextEncoder, pairs: Pairs) -> np.ndarray:
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    vectors = dict(zip(texts, encoder.encode_texts(texts), strict=True))
    return np.asarray([float(vectors[a] @ vectors[b]) for a, b in pairs])


if __name__ == "__main__":
    main()
