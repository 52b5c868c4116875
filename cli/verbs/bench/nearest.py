"""Time, recall and memory of nearest neighbours: this store, and other vector indexes with the same vectors."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

import kb
from cli.verbs.bench.memory import anonymous_mib, growth
from cli.verbs.bench.peers import PEERS, installed
from kb.store.knowledge_base import KnowledgeBase

TOP: Final = 10
N_QUERIES: Final = 100  # fewer would make recall a matter of chance

Measures = dict[str, float | None]


def measure_peers(store: KnowledgeBase) -> dict[str, Measures]:
    """Return index -> median seconds, recall of the exact nearest ten, seconds of filling and MiB; this store first.

    `memory_mib` is what the system cannot take back, `mapped_mib` the part of a file that it can.

    Queries are vectors of up to 100 descriptions with noise, the same for all.
    """
    table = store.species_vectors()
    if not table.ids:
        return {}
    dice = np.random.default_rng(0)
    chosen = np.asarray(table.vectors[dice.choice(len(table.ids), size=min(N_QUERIES, len(table.ids)), replace=False)])
    noisy = chosen + dice.normal(scale=0.5 / np.sqrt(chosen.shape[1]), size=chosen.shape)
    queries = (noisy / np.linalg.norm(noisy, axis=1, keepdims=True)).astype(np.float32)
    row_of = {taxon_id: row for row, taxon_id in enumerate(table.ids)}
    n = min(TOP, len(table.ids))
    exact: list[set[int]] = []
    found: dict[str, Measures] = {}

    def run(name: str, open_index: Callable[[], Callable[[int], set[int]]], mapped_mib: float = 0.0) -> None:
        before, began = anonymous_mib(), time.perf_counter()
        search = open_index()
        fill_s = time.perf_counter() - began
        search(0)
        memory_mib = growth(before, anonymous_mib())
        seconds, answers = [], []
        for query in range(len(queries)):
            began = time.perf_counter()
            answers.append(search(query))
            seconds.append(time.perf_counter() - began)
        if not found:
            exact.extend(answers)
        recall = float(np.mean([len(rows & best) / n for rows, best in zip(answers, exact, strict=True)]))
        found[name] = {
            "median_s": median(seconds),
            "recall": recall,
            "fill_s": fill_s,
            "memory_mib": memory_mib,
            "mapped_mib": mapped_mib,
        }

    with ExitStack() as opened:

        def own() -> Callable[[int], set[int]]:
            again = opened.enter_context(kb.open(store.path))
            again.species_vectors()
            return lambda i: {row_of[key] for key, _ in again.query_species(queries[i], n)}

        run("Fieldmark", own, table.vectors.nbytes / 2**20 if isinstance(table.vectors, np.memmap) else 0.0)
    for name in installed():
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:

            def peer(name: str = name, folder: str = folder) -> Callable[[int], set[int]]:
                search = PEERS[name](table.vectors, Path(folder))
                return lambda i: set(search(queries[i], n).tolist())

            run(name, peer)
    return found
