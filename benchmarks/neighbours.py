"""Recall and time of Chroma's own index, beside the exact product that look-ups use.

    python -m benchmarks.neighbours [--texts 20000] [--queries 300]

The texts are like those of a knowledge base: statements of the starter knowledge, pairs of statements of one species,
and pairs across species until there are enough. Queries are half of the words of a text.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from itertools import combinations, zip_longest
from typing import Any, Final

import chromadb
import numpy as np

import recognize
from data.arrays import FloatArray, rank_descending
from data.records import FetchedPage, PageRef
from kb.sources.starter import StarterSource

TOP: Final = 30
GRAPHS: Final = {
    "Chroma, as it comes": {},
    "Chroma, a wide graph": {"ef_search": 1_500, "max_neighbors": 48, "ef_construction": 300},
}
BATCH: Final = 2_000  # rows written at a time


def texts_of(n: int) -> list[str]:
    """Return `n` distinct texts of the starter knowledge, cycling through the species."""
    source = StarterSource(with_vectors=False)
    pages = [page for _, page in source.locate(source.taxa()) if isinstance(page, PageRef)]
    of_species: list[list[str]] = []
    for _, fetched in source.fetch(pages):
        assert isinstance(fetched, FetchedPage)
        sentences = [s.strip() for s in source.parse(fetched).text.split(". ") if s.strip()]
        of_species.append([*sentences, *(f"{a}. {b}" for a, b in combinations(sentences, 2))])
    texts = dict.fromkeys(text for row in zip_longest(*of_species) for text in row if text)
    dice, own = random.Random(0), list(texts)
    while len(texts) < n:
        texts.setdefault(f"{dice.choice(own)} {dice.choice(own)}")
    return list(texts)[:n]


def in_chroma(folder: str, graph: dict[str, Any], vectors: FloatArray, queries: FloatArray) -> list[list[int]]:
    """Return the rows that Chroma finds for each query, and print its times."""
    client: Any = chromadb.PersistentClient(folder)
    configuration: Any = {"hnsw": {"space": "ip", **graph}}
    collection = client.create_collection("texts", embedding_function=None, configuration=configuration)
    began = time.perf_counter()
    for start in range(0, len(vectors), BATCH):
        part = vectors[start : start + BATCH]
        collection.upsert(ids=[str(row) for row in range(start, start + len(part))], embeddings=part)
    filled = time.perf_counter() - began
    began = time.perf_counter()
    answers = [collection.query(query_embeddings=query[None, :], n_results=TOP) for query in queries]
    report_time(began, len(queries), f", filled in {filled:.0f} s")
    client.close()
    return [[int(row) for row in answer["ids"][0]] for answer in answers]


def report_time(began: float, n_queries: int, end: str = "") -> None:
    """Print the milliseconds of a query since `began`."""
    sys.stdout.write(f"  {1000 * (time.perf_counter() - began) / n_queries:.1f} ms per query{end}\n")


def main() -> None:
    """Print recall and time of each way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=300)
    args = parser.parse_args()
    encoder = recognize.load_encoders("starter").sentence
    texts = texts_of(args.texts)
    vectors = encoder.encode_texts(texts)
    dice = np.random.default_rng(0)
    chosen = [texts[i].split() for i in dice.choice(len(texts), size=args.queries, replace=False)]
    halves = [" ".join(dice.choice(words, size=max(2, len(words) // 2), replace=False)) for words in chosen]
    queries = encoder.encode_texts(halves)
    sys.stdout.write(f"{len(texts):,} texts, {vectors.shape[1]} dimensions, {len(queries)} queries, top {TOP}\n")
    sys.stdout.write("exact product\n")
    began = time.perf_counter()
    exact = [rank_descending(vectors @ query, TOP) for query in queries]
    report_time(began, len(queries))
    for label, graph in GRAPHS.items():
        sys.stdout.write(f"{label}\n")
        with tempfile.TemporaryDirectory() as folder:
            found = in_chroma(folder, graph, vectors, queries)
        # Ties count as found.
        hits = [
            sum(float(vectors[row] @ query) >= float(vectors[best[-1]] @ query) - 1e-5 for row in rows)
            for rows, best, query in zip(found, exact, queries, strict=True)
        ]
        missed = [len(set(best[:1]) - set(rows)) for rows, best in zip(found, exact, strict=True)]
        sys.stdout.write(f"  recall {np.mean(hits) / TOP:.4f}; the best match was missed by {sum(missed)} queries\n")


if __name__ == "__main__":
    main()
