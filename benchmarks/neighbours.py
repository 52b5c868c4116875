"""Recall, time and memory of indexes beside the exact product, and of the graphs that look-ups ask.

    python -m benchmarks.neighbours [--texts 20000] [--queries 300]
    python -m benchmarks.neighbours --graphs 5 --queries 1000
    python -m benchmarks.neighbours --rows 1000,10000,100000,1000000 [--dim 384] [--top 10]

With `--graphs`, the graphs of look-ups are filled that many times with the shipped species and terms, in other orders.

The texts are like those of a knowledge base: statements of the starter knowledge, pairs of statements of one species,
and pairs across species until there are enough. Queries are half of the words of a text. With `--rows`, made-up rows in
groups of 50, and queries near a row; each index is in a process of its own. FAISS and USearch are measured where they
are installed (`faiss-cpu`, `usearch`). A *first pass* ranks rows of float16 or int8 and scores the best ten times
`--top` of them exactly, with NumPy, NumKong (which comes with USearch) or FAISS.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from importlib import import_module
from importlib.util import find_spec
from itertools import combinations, zip_longest
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import kb
import recognize
from benchmarks.memory import anonymous_mib, growth
from benchmarks.peers import PEERS, Fill, Search, installed
from data.arrays import FloatArray, IntArray, as_unit_rows, rank_descending
from data.records import FetchedPage, PageRef
from kb.sources.starter import StarterSource
from kb.store.chroma import Chroma, Row
from kb.store.generations import whole_table
from kb.store.layout import collection_name
from kb.store.ledger import Ledger

TOP: Final = 30
GRAPHS: Final = {
    "Chroma, as it comes": {},
    "Chroma, a wide graph": {"ef_search": 1_500, "max_neighbors": 48, "ef_construction": 300},
}
# They take minutes to fill with a million rows.
GRAPH_PEERS: Final = ("ChromaDB", "FAISS HNSW", "USearch", "USearch int8")
BATCH: Final = 2_000  # rows written or multiplied at a time
CANDIDATES: Final = 10  # times the rows to find are scored exactly after a first pass


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
    import chromadb  # takes seconds, which ways without it need not wait for

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


def measure_graphs(n: int, n_queries: int) -> None:
    """Print how often the graphs that look-ups ask miss the best match of the shipped species and terms."""
    encoders = recognize.load_encoders("starter")
    with tempfile.TemporaryDirectory() as home, kb.open(home=Path(home), encoders=encoders) as store:
        dice = random.Random(0)
        texts = [words for text in store.summary_texts() if len(words := text.split()) > 5]
        halves = [" ".join(dice.sample(words, len(words) // 2)) for words in dice.choices(texts, k=n_queries)]
        queries = encoders.sentence.encode_texts(halves)
        with closing(Ledger(store.layout.ledger, read_only=True)) as ledger:
            for kind in ("species", "terms"):
                name = collection_name(kind, store.info.sentence)
                table = whole_table(store.layout, ledger, name)
                exact = np.sort(queries @ table.vectors.T)[:, ::-1]
                for seed in range(n):
                    order = np.random.default_rng(seed).permutation(len(table.ids))
                    rows = [Row(id=str(i), document="", metadata={"n": 1}, vector=table.vectors[i]) for i in order]
                    with (
                        tempfile.TemporaryDirectory() as folder,
                        Chroma(store.info, Path(folder), Path(folder)) as graph,
                    ):
                        graph.upsert(name, rows)
                        found = [list(map(int, ids)) for ids in graph.nearest(name, queries, 26)]
                    scores = [
                        np.sort(table.vectors[at] @ query)[::-1] for at, query in zip(found, queries, strict=True)
                    ]
                    missed = sum(got[0] < best[0] - 1e-6 for got, best in zip(scores, exact, strict=True))
                    hits = [np.mean(got[:10] >= best[9] - 1e-6) for got, best in zip(scores, exact, strict=True)]
                    sys.stdout.write(
                        f"{kind}, {len(rows):,} rows: the best match was missed by {missed} of {n_queries:,} queries,"
                        f" recall@10 {np.mean(hits):.4f}\n"
                    )


def report_time(began: float, n_queries: int, end: str = "") -> None:
    """Print the milliseconds of a query since `began`."""
    sys.stdout.write(f"  {1000 * (time.perf_counter() - began) / n_queries:.1f} ms per query{end}\n")


def made_up(n: int, dim: int, path: Path) -> FloatArray:
    """Write `n` unit rows in groups of 50 to a file, and return them mapped."""
    dice = np.random.default_rng(0)
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, dim))
    for start in range(0, n, 50):
        part = rows[start : start + 50]
        part[:] = dice.normal(size=dim) + dice.normal(scale=0.7, size=part.shape)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    rows.flush()
    vectors: FloatArray = np.load(path, mmap_mode="r")
    return vectors


def blocks(n: int) -> Iterator[slice]:
    """Yield slices of `BATCH` rows."""
    yield from (slice(start, start + BATCH) for start in range(0, n, BATCH))


def first_pass(dtype: type[np.float16 | np.int8], by: str = "numpy") -> Fill:
    """Return a function that fills an index of small numbers, multiplied by NumPy or NumKong, and rescored.

    NumPy multiplies them as float32, block by block.
    """

    def fill(vectors: FloatArray, folder: Path) -> Search:
        del folder
        small = np.empty(vectors.shape, dtype=dtype)
        scale = np.ones(len(vectors), dtype=np.float32)
        for rows in blocks(len(vectors)):
            small[rows], scale[rows] = smaller(vectors[rows], dtype)

        def by_numpy(query: FloatArray) -> FloatArray:
            scores = np.empty(len(small), dtype=np.float32)
            # Memory that is used again, since new memory costs as much as the work.
            block = np.empty((BATCH, vectors.shape[1]), dtype=np.float32)
            for rows in blocks(len(small)):
                part = block[: len(small[rows])]
                np.copyto(part, small[rows])
                np.matmul(part, query, out=scores[rows])
            return scores

        def by_numkong(query: FloatArray) -> FloatArray:
            few = smaller(query[None, :], dtype)[0]
            scores: FloatArray = np.asarray(import_module("numkong").cdist(few, small, "dot"))[0].astype(np.float32)
            return scores

        multiply = by_numpy if by == "numpy" else by_numkong
        return lambda query, n: rank_descending(multiply(query) * scale, n)

    return rescored(fill)


def smaller(vectors: FloatArray, dtype: type[np.float16 | np.int8]) -> tuple[NDArray[np.float16 | np.int8], FloatArray]:
    """Return the rows in small numbers, and the factor of each row."""
    scale = np.ones(len(vectors), dtype=np.float32)
    if dtype is np.float16:
        return vectors.astype(np.float16), scale
    scale = np.abs(vectors).max(axis=1) / np.float32(127)
    return np.rint(vectors / scale[:, None]).astype(np.int8), scale


def rescored(fill: Fill) -> Fill:
    """Return the same index, whose best `CANDIDATES` times `n` rows are ranked by the exact product."""

    def fill_both(vectors: FloatArray, folder: Path) -> Search:
        search = fill(vectors, folder)

        def search_both(query: FloatArray, n: int) -> IntArray:
            rows = np.sort(search(query, min(CANDIDATES * n, len(vectors))))
            return rows[rank_descending(vectors[rows] @ query, n)]

        return search_both

    return fill_both


def exact_product(vectors: FloatArray, folder: Path) -> Search:
    """Return the search of look-ups, which reads the mapped rows."""
    del folder
    return lambda query, n: rank_descending(vectors @ query, n)


def nearest(vectors: FloatArray, queries: FloatArray, top: int) -> list[IntArray]:
    """Return the `top` rows of each query by the exact product, for which the rows are read once."""
    parts = [vectors[rows] @ queries.T for rows in blocks(len(vectors))]
    return [rank_descending(scores, top) for scores in np.concatenate(parts).T]


def ways() -> dict[str, Fill]:
    """Return name -> function that fills it, of every way that can be measured here."""
    peers = {name: PEERS[name] for name in installed()}
    by_numkong = {
        "float16 first pass, NumKong": first_pass(np.float16, "numkong"),
        "int8 first pass, NumKong": first_pass(np.int8, "numkong"),
    }
    return {
        "exact product": exact_product,
        "float16 first pass": first_pass(np.float16),
        "int8 first pass": first_pass(np.int8),
        **(by_numkong if find_spec("numkong") else {}),
        **peers,
        **{f"{name} first pass": rescored(peers[name]) for name in ("FAISS float16", "FAISS int8") if name in peers},
    }


def measure_rows(name: str, path: Path, n_queries: int, top: int) -> None:
    """Print recall, time and memory of one way with the rows of a file."""
    vectors: FloatArray = np.load(path, mmap_mode="r")
    dice = np.random.default_rng(1)
    queries = as_unit_rows(
        vectors[dice.choice(len(vectors), size=n_queries)]
        + dice.normal(scale=0.5 / vectors.shape[1] ** 0.5, size=(n_queries, vectors.shape[1]))
    )
    exact = nearest(vectors, queries, top)
    before, began, began_work = anonymous_mib(), time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        search = ways()[name](vectors, Path(folder))
        filled_s, filled_work = time.perf_counter() - began, time.process_time() - began_work
        seconds, hits = [], []
        worked = []  # seconds of processor time, which other work on the machine hardly changes
        search(queries[0], top)
        taken = growth(before, anonymous_mib())
        for query, best in zip(queries, exact, strict=True):
            began, began_work = time.perf_counter(), time.process_time()
            rows = search(query, top)
            worked.append(time.process_time() - began_work)
            seconds.append(time.perf_counter() - began)
            hits.append(len(set(rows.tolist()) & set(best.tolist())) / top)
        memory = "unknown" if taken is None else f"{taken:.0f} MiB"
        sys.stdout.write(
            f"{len(vectors):>9,} {name:28} recall {np.mean(hits):.4f} {1000 * np.median(seconds):8.2f} ms,"
            f" {1000 * np.median(worked):8.2f} ms of processor time, filled in {filled_s:6.1f} s,"
            f" {filled_work:6.1f} s of processor time, {memory}\n"
        )


def compare_rows(sizes: Sequence[int], dim: int, n_queries: int, most: int, top: int) -> None:
    """Measure every way with made-up rows, each in a process of its own."""
    missing = PEERS.keys() - installed()
    sys.stdout.write(f"not installed: {', '.join(sorted(missing)) or 'none'}\n")
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rows.npy")
            made_up(n, dim, path)
            for name in ways():
                if n > most and name in GRAPH_PEERS:
                    continue
                command = [sys.executable, "-m", "benchmarks.neighbours", "--way", name, "--file", str(path)]
                subprocess.run([*command, "--queries", str(n_queries), "--top", str(top)], check=True)


def main() -> None:
    """Print recall and time of each way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--rows", help="numbers of made-up rows, instead of texts")
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--top", type=int, default=TOP, help="rows to find of made-up rows")
    parser.add_argument("--most", type=int, default=200_000, help="rows up to which indexes with graphs are filled")
    parser.add_argument("--way", help="measure this way with the rows of --file")
    parser.add_argument("--file", type=Path)
    parser.add_argument("--graphs", type=int, help="fill the graphs of look-ups so many times")
    args = parser.parse_args()
    if args.graphs:
        measure_graphs(args.graphs, args.queries)
        return
    if args.way:
        measure_rows(args.way, args.file, args.queries, args.top)
        return
    if args.rows:
        compare_rows([int(n) for n in args.rows.split(",")], args.dim, args.queries, args.most, args.top)
        return
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
