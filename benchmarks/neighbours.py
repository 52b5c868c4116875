"""Recall of Chroma's index, with its default graph and ours.

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
from pathlib import Path

import numpy as np

import kb.store.chroma
import recognize
from data.arrays import FloatArray
from data.records import FetchedPage, PageRef
from kb.sources.starter import StarterSource
from kb.store.chroma import Collections, Row
from kb.store.layout import KnowledgeBaseInfo, Layout

TOP = 30


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


def recall(collections: Collections, name: str, vectors: FloatArray, queries: FloatArray) -> tuple[float, float]:
    """Return the share of the exact top 30 found by Chroma, ties counted as found, and the seconds per query."""
    scores = queries @ vectors.T  # (n_queries, n_texts)
    least = np.sort(scores, axis=1)[:, -TOP]
    began = time.perf_counter()
    found = [collections.query(name, query, TOP) for query in queries]
    seconds = (time.perf_counter() - began) / len(queries)
    hits = [sum(score >= bar - 1e-5 for _, score in row) for row, bar in zip(found, least, strict=True)]
    return float(np.mean(hits)) / TOP, seconds


def main() -> None:
    """Fill a collection for each search width and print its recall."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=300)
    args = parser.parse_args()
    encoders = recognize.load_encoders("starter")
    texts = texts_of(args.texts)
    vectors = encoders.sentence.encode_texts(texts)
    dice = np.random.default_rng(0)
    chosen = [texts[i].split() for i in dice.choice(len(texts), size=args.queries, replace=False)]
    halves = [" ".join(dice.choice(words, size=max(2, len(words) // 2), replace=False)) for words in chosen]
    queries = encoders.sentence.encode_texts(halves)
    sys.stdout.write(f"{len(texts):,} texts, {vectors.shape[1]} dimensions, {len(queries)} queries, top {TOP}\n")
    rows = [Row(id=f"{i:06d}", document=text, metadata={"n": i}, vector=vectors[i]) for i, text in enumerate(texts)]
    space = encoders.sentence.space
    info = KnowledgeBaseInfo(
        id="0", schema=1, profile="starter", source="-", languages=("en",), text_image=(), visual=space, sentence=space
    )
    ours = kb.store.chroma.SEARCHED
    with tempfile.TemporaryDirectory() as folder:
        for label, graph in (("Chroma's default", {"space": ours["space"]}), ("ours", ours)):
            kb.store.chroma.SEARCHED = graph
            with Collections(Layout(Path(folder, label)), info) as collections:
                name = next(name for name, (kind, _) in collections.names.items() if kind == "species")
                began = time.perf_counter()
                collections.upsert(name, rows)
                filled = time.perf_counter() - began
                share, seconds = recall(collections, name, vectors, queries)
            sys.stdout.write(
                f"{label:<16}  recall {share:.4f}, {1000 * seconds:.1f} ms per query, filled in {filled:.0f} s\n"
            )


if __name__ == "__main__":
    main()
