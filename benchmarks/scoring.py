"""Time of scoring 11,131 species, relative to the bare matrix products: `python -m benchmarks.scoring`.

The knowledge base is random unit vectors of the paper's sizes: two chunks per species in three spaces of 768
dimensions, and three anchors per species in 1,024. The baseline is the bare product: for one photo a single pass over
the matrices. `plain loop` scores photo by photo with one sort each. `ratio` compares the best seconds of both,
`processor` the best processor seconds, which depend less on other work on the machine (set OPENBLAS_NUM_THREADS=1,
since waiting threads count as working).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from data.arrays import FloatArray
from data.contracts import VectorTable
from recognize.scoring.knowledge import Knowledge, Queries
from recognize.scoring.presets import WEIGHTS, default
from recognize.scoring.ranking import Ranking
from recognize.scoring.vr_rag import vr_rag_v1, vr_rag_v2

M = 100
_PAUSE_S = 0.2  # threads of OpenBLAS keep a core busy for a tenth of a second after the last product


def main() -> None:
    """Print a table of times and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--species", type=int, default=11_131, help="number of species")
    parser.add_argument("--photos", type=int, default=1_000, help="number of photos")
    parser.add_argument("--repeats", type=int, default=5, help="number of runs")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    knowledge = _make(rng, arguments.species)
    texts, anchors = tuple(t.vectors for t in knowledge.chunks), knowledge.anchors.vectors
    weights = WEIGHTS["starter"]["several"]
    presets: dict[str, tuple[Callable[[Queries], list[Ranking]], tuple[FloatArray, ...]]] = {
        f"vr-rag-v1, m={M}": (lambda q: vr_rag_v1(knowledge, q, m=M), texts),
        "vr-rag-v1, m=30": (lambda q: vr_rag_v1(knowledge, q), texts),
        f"vr-rag-v2, m={M}": (lambda q: vr_rag_v2(knowledge, q), knowledge.blends),
        f"default, m={M}": (lambda q: default(knowledge, q, weights=weights, m=M), (*texts, anchors)),
    }
    lines = [f"{'':24}{'photos':>8}{'bare s':>10}{'ours s':>10}{'ratio':>8}{'processor':>11}{'ms/photo':>10}"]
    for n in (1, arguments.photos):
        queries = Queries(text_image=tuple(_unit(rng, n, 768) for _ in range(3)), visual=_unit(rng, n, 1024))
        for name, (score, matrices) in presets.items():
            sides = (*queries.text_image, queries.visual)
            pairs = list(zip(sides, matrices, strict=False))
            repeats = arguments.repeats * (20 if n == 1 else 1)
            pause_s = _PAUSE_S if n > 1 else 0.0
            bare, ours = _side_by_side(partial(_products, pairs), partial(score, queries), repeats, pause_s=pause_s)
            lines.append(
                f"{name:24}{n:8}{bare.wall:10.4f}{ours.wall:10.4f}{ours.wall / bare.wall:8.2f}"
                f"{ours.processor / bare.processor:11.2f}{1000 * ours.wall / n:10.2f}"
            )
    n = min(100, arguments.photos)
    queries = Queries(text_image=tuple(_unit(rng, n, 768) for _ in range(3)), visual=_unit(rng, n, 1024))
    loop, ours = _side_by_side(lambda: _plain_loop(knowledge, queries), lambda: vr_rag_v1(knowledge, queries, m=M), 1)
    lines.append(
        f"{'plain loop, v1':24}{n:8}{'':10}{loop.wall:10.4f}{loop.wall / ours.wall:7.1f}x"
        f"{loop.processor / ours.processor:10.1f}x{1000 * loop.wall / n:10.2f}"
    )
    sys.stdout.write("\n".join(lines) + "\n")


def _unit(rng: np.random.Generator, n: int, dim: int) -> FloatArray:
    rows = rng.standard_normal((n, dim), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def _make(rng: np.random.Generator, n_species: int) -> Knowledge:
    def table(per_species: int, dim: int) -> VectorTable:
        owners = np.repeat(np.arange(n_species), per_species)
        return VectorTable(ids=tuple(map(str, range(len(owners)))), owners=owners, vectors=_unit(rng, len(owners), dim))

    chunks, images = (tuple(table(per, 768) for _ in range(3)) for per in (2, 1))
    return Knowledge(n_species=n_species, names=("a", "b", "c"), chunks=chunks, anchors=table(3, 1024), images=images)


def _products(pairs: list[tuple[FloatArray, FloatArray]]) -> None:
    for queries, matrix in pairs:
        queries @ matrix.T


class Seconds(NamedTuple):
    """Minimum times of several runs."""

    wall: float
    processor: float


def _side_by_side(
    bare: Callable[[], object], ours: Callable[[], object], repeats: int, *, pause_s: float = 0.0
) -> tuple[Seconds, Seconds]:
    """Return the seconds of both, run in turn with a pause before each run."""
    times: tuple[list[Seconds], list[Seconds]] = ([], [])
    bare()
    ours()
    for _ in range(repeats):
        for side, run in zip(times, (bare, ours), strict=True):
            time.sleep(pause_s)
            wall, processor = time.perf_counter(), time.process_time()
            run()
            side.append(Seconds(time.perf_counter() - wall, time.process_time() - processor))
    first, second = (Seconds(*map(min, zip(*side, strict=True))) for side in times)
    return first, second


def _plain_loop(knowledge: Knowledge, queries: Queries) -> None:
    for photo in range(len(queries)):
        pairs = zip(knowledge.chunks, queries.text_image, strict=True)
        text = np.mean([table.vectors @ query[photo] for table, query in pairs], axis=0)
        pool = np.argsort(-text, kind="stable")[:M]
        visual = [
            float(np.mean(knowledge.anchors.vectors[3 * owner : 3 * owner + 3] @ queries.visual[photo]))
            for owner in knowledge.chunk_owners[pool]
        ]
        np.argsort(-(text[pool] + np.array(visual)), kind="stable")


if __name__ == "__main__":
    main()
