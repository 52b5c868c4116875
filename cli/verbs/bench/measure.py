"""Times of the steps of look-ups, and of other vector indexes with the same vectors."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

import kb
import recognize
from data.contracts import Encoders
from data.starter.drawings import drawings_of
from kb.store.knowledge_base import KnowledgeBase
from kb.store.peers import PEERS, installed

SHOWN: Final = "agelaius-phoeniceus"  # a drawing that ships
DESCRIPTION: Final = "red crest, black face and a thick bill"
QUERY: Final = "a duck with a blue speculum"
TOP: Final = 10
N_QUERIES: Final = 100  # fewer would make recall a matter of chance

Times = dict[str, float]


def measure_steps(store: KnowledgeBase, encoders: Encoders, runs: int) -> dict[str, Times]:
    """Return step -> median and slowest seconds, after a run that does not count."""
    found = {"open": _times(lambda: _open(store.path), runs)}
    if len(store.taxon_ids):
        photo = drawings_of(SHOWN, "query")[0].png()
        preset = "default" if encoders.profile == "starter" else "vr-rag-v1"
        recognizer = recognize.Recognizer(store, encoders, preset=preset)
        found["identify a photo"] = _times(lambda: list(recognizer.identify([photo])), runs)
    found["search"] = _times(lambda: kb.search(store, DESCRIPTION, encoders.sentence), runs)
    found["context"] = _times(lambda: kb.context(store, QUERY, encoders.sentence), runs)
    return found


def _open(path: Path) -> None:
    with kb.open(path) as store:
        for space in store.info.text_image:
            store.chunk_vectors(space)
        for space in store.info.anchor_spaces:
            store.anchor_vectors(space)


def _times(work: Callable[[], object], runs: int) -> Times:
    work()
    seconds = []
    for _ in range(runs):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return {"median_s": median(seconds), "slowest_s": max(seconds)}


def measure_peers(store: KnowledgeBase) -> dict[str, Times]:
    """Return index -> median seconds, recall of the exact nearest ten, and seconds of filling; this store first.

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
    answers: dict[str, list[set[int]]] = {}
    found: dict[str, Times] = {}

    def run(name: str, search: Callable[[int], set[int]], fill_s: float) -> None:
        search(0)
        seconds, answers[name] = [], []
        for query in range(len(queries)):
            began = time.perf_counter()
            answers[name].append(search(query))
            seconds.append(time.perf_counter() - began)
        pairs = zip(answers[name], answers["Fieldmark"], strict=True)
        recall = float(np.mean([len(rows & exact) / n for rows, exact in pairs]))
        found[name] = {"median_s": median(seconds), "recall": recall, "fill_s": fill_s}

    run("Fieldmark", lambda i: {row_of[key] for key, _ in store.query_species(queries[i], n)}, 0.0)
    for name in installed():
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            began = time.perf_counter()
            search = PEERS[name](table.vectors, Path(folder))
            fill_s = time.perf_counter() - began
            run(name, lambda i, search=search: set(search(queries[i], n).tolist()), fill_s)  # type: ignore[misc]
    return found
