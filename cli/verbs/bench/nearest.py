"""Time, recall and memory of nearest neighbours: this store, and other vector indexes with the same vectors."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

import kb
from cli.verbs.bench.memory import anonymous_mib, growth
from cli.verbs.bench.peers import PEERS, Search, installed
from data.arrays import FloatArray, as_unit_rows
from kb.store.knowledge_base import KnowledgeBase

TOP: Final = 10
N_QUERIES: Final = 100  # fewer would make recall a matter of chance
_ROUNDING: Final = 1e-6  # of a cosine in float32; rows that are as near count as found

Measures = dict[str, float | None]


def measure_peers(store: KnowledgeBase) -> dict[str, Measures]:
    """Return index -> median seconds, recall of the exact nearest ten, seconds of filling and MiB; this store first.

    `memory_mib` is what the system cannot take back, `mapped_mib` the part of a file that it can.
    """
    table = store.species_vectors()
    vectors, row_of = table.vectors, {taxon_id: row for row, taxon_id in enumerate(table.ids)}
    if not row_of:
        return {}
    queries = queries_near(vectors)
    with ExitStack() as opened:
        mapped_mib = vectors.nbytes / 2**20 if isinstance(vectors, np.memmap) else 0.0
        own = _measured(lambda: _own(opened.enter_context(kb.open(store.path)), row_of), vectors, queries)
    found: dict[str, Measures] = {"Fieldmark": {**own, "mapped_mib": mapped_mib}}
    for name in installed():
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            peer = _measured(partial(PEERS[name], vectors, Path(folder)), vectors, queries)
        found[name] = {**peer, "mapped_mib": 0.0}
    return found


def queries_near(vectors: FloatArray) -> FloatArray:
    """Return up to 100 of the rows with noise, as unit rows."""
    dice = np.random.default_rng(0)
    chosen = vectors[dice.choice(len(vectors), size=min(N_QUERIES, len(vectors)), replace=False)]
    return as_unit_rows(chosen + dice.normal(scale=0.5 / np.sqrt(chosen.shape[1]), size=chosen.shape))


def recall_of(answers: Sequence[Sequence[int]], vectors: FloatArray, queries: FloatArray) -> float:
    """Return the mean share of the ten nearest rows among the answers to each query; equally near ones count too."""
    n, shares = min(TOP, len(vectors)), []
    for rows, query in zip(answers, queries, strict=True):
        scores = vectors @ query
        least = np.partition(scores, -n)[-n] - _ROUNDING
        shares.append(sum(row >= 0 and scores[row] >= least for row in set(rows)) / n)
    return float(np.mean(shares))


def _own(store: KnowledgeBase, row_of: Mapping[str, int]) -> Search:
    """Return the search of the store, with the row of each species that it finds."""
    store.species_vectors()
    return lambda vector, n: np.array([row_of[taxon_id] for taxon_id, _ in store.query_species(vector, n)])


def _measured(open_index: Callable[[], Search], vectors: FloatArray, queries: FloatArray) -> Measures:
    """Return the figures of an index, without what it maps."""
    n = min(TOP, len(vectors))
    before, began = anonymous_mib(), time.perf_counter()
    search = open_index()
    fill_s = time.perf_counter() - began
    search(queries[0], n)
    memory_mib = growth(before, anonymous_mib())
    seconds, answers = [], []
    for query in queries:
        began = time.perf_counter()
        rows = search(query, n)
        seconds.append(time.perf_counter() - began)
        answers.append(rows.tolist())
    recall = recall_of(answers, vectors, queries)
    return {"median_s": median(seconds), "recall": recall, "fill_s": fill_s, "memory_mib": memory_mib}
