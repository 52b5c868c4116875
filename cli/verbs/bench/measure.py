"""Times of the steps of look-ups."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final

import kb
import recognize
from data.contracts import Encoders
from data.starter.drawings import drawings_of
from kb.store.knowledge_base import KnowledgeBase

SHOWN: Final = "agelaius-phoeniceus"  # a drawing that ships
DESCRIPTION: Final = "red crest, black face and a thick bill"
QUERY: Final = "a duck with a blue speculum"

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
