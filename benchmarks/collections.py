"""Searches in collections of photos: time and memory with many vectors, and precision of species names.

    python -m benchmarks.collections [--n 1000000] [--dim 512] [--queries 5] [--birds ../shared/birds [--species 40]]

Random unit rows on disk, searched in a process of its own, beside the bare product with the mapped float32 matrix. With
`--birds`: photos outside the training data of the starter models are the collection, names of their species the
queries. Species of folds that chose no setting. At most as many photos can be found as a species has, so the best
possible P@20 stands below.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import numpy as np

from data.arrays import as_fixed_point, as_unit_rows, rank_descending
from data.batches import grouped
from rerank.collection import Collection, Indexed, StoredPhoto, read_index, write_index

SPACE: Final = "random"
CHOSEN_ON: Final = (0, 1)  # folds of species used to choose settings


def write(folder: Path, n: int, dim: int) -> None:
    """Write an index of random unit rows."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryFile(dir=folder) as out:
        for rows in grouped(range(n), 50_000):
            out.write(as_fixed_point(as_unit_rows(rng.standard_normal((len(rows), dim), dtype=np.float32))).tobytes())
        out.flush()
        vectors = np.memmap(out, dtype=np.float32, mode="r", shape=(n, dim))
        photos = [StoredPhoto(f"{row // 1000:04}/{row:07}.jpg", 1, 1, None, vectors[row]) for row in range(n)]
        write_index(folder, photos)


def search(folder: Path, dim: int, n_queries: int) -> None:
    """Print the time and the memory of searches in the index."""
    base = peak()
    began = time.perf_counter()
    collection = Collection(read_index(folder, dim), folder, SPACE, Indexed())
    opened, memory = time.perf_counter() - began, peak()
    queries = as_unit_rows(np.random.default_rng(1).standard_normal((n_queries, dim)))
    ours = []
    for query in queries:
        began = time.perf_counter()
        rank_descending(collection.scores(query[None, :])[0], 20)
        ours.append(time.perf_counter() - began)
    searched = peak()
    matrix = np.memmap(next(folder.glob("*.f32")), dtype=np.float32, mode="r").reshape(-1, dim)
    bare = []
    for query in queries:
        began = time.perf_counter()
        rank_descending(matrix @ query, 20)
        bare.append(time.perf_counter() - began)
    size = len(collection.ids) * dim * 4 / 2**20
    sys.stdout.write(
        f"{len(collection.ids):,} x {dim} ({size:,.0f} MiB on disk)\n"
        f"open {opened:.2f} s; search {min(ours):.2f} s, bare product {min(bare):.2f} s "
        f"({min(ours) / min(bare):.1f} times)\n"
        f"peak memory {base:.0f} MiB before, {memory:.0f} open, {searched:.0f} after {n_queries} searches, "
        f"{peak():.0f} after the bare product\n"
    )


def peak() -> float:
    """Return the peak memory of this process in MiB."""
    # Not `getrusage`: a new process begins with the peak of its parent.
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def named(birds: Path, n_species: int) -> None:
    """Print the precision of species names as queries."""
    from cli.common import wiring
    from cli.common.named_species import directions_of, name_finder, named_search
    from cli.common.settings import resolve
    from data.metrics.ranked import paired_test
    from data.records import Job
    from recognize import load_encoders
    from rerank import open_collection
    from rerank.feedback.search import FeedbackSearch
    from training.collection import read_collection
    from training.starter.protocol import fold_of

    data, encoder = read_collection(birds), load_encoders("starter").text_image[0]
    settings, of_species = resolve(), defaultdict(list)
    for i in data.hidden:
        of_species[data.photos[i].species].append(data.photos[i].path)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name) / "photos"
        for path in (path for paths in of_species.values() for path in paths):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).symlink_to((birds / path).resolve())
        collection = stack.enter_context(open_collection(folder, encoder, home=Path(name)))
        store = stack.enter_context(wiring.open_knowledge_base(settings))
        taxa = {entry.taxon.scientific_name: entry.taxon for entry in store.species(store.taxon_ids)}
        chosen = [each for each in sorted(of_species) if each in taxa and fold_of(each) not in CHOSEN_ON]
        chosen = sorted(chosen, key=lambda each: -len(of_species[each]))[:n_species]
        turns = FeedbackSearch(encoder, collection, method="none", names=name_finder(store, encoder))
        found: dict[str, list[float]] = defaultdict(list)
        for species in chosen:
            taxon, relevant = taxa[species], set(of_species[species])
            job = Job(query_id="q", text=taxon.common_name, candidates=())
            search_of = named_search(settings, job, collection, encoder, stack)
            tables = directions_of(store, [taxon.taxon_id], encoder)
            orders = {"the name as a text": encoder.encode_texts([taxon.common_name])[0]}
            orders |= {"nearest to the reference photos": tables[0][0], "nearest to the description": tables[-1][0]}
            ranked = {
                kind: [collection.ids[row] for row in rank_descending(collection.scores(vector[None, :])[0], 20)]
                for kind, vector in orders.items()
            }
            ranked["kb feedback: first turn"] = list(turns.begin(taxon.common_name).turns[0].ids)
            if search_of is not None:
                rows = asyncio.run(search_of[0].find(job, 20))
                ranked["kb find: shortlist and recognizer"] = [row.image_id for row in rows]
            for kind, ids in ranked.items():
                found[kind].append(len(relevant.intersection(ids)) / 20)
            found["best possible"].append(min(20, len(relevant)) / 20)
        sys.stdout.write(f"P@20 of {len(chosen)} species names in {len(collection.ids):,} photos\n")
        for kind, values in found.items():
            low, high = paired_test(values).interval
            sys.stdout.write(f"  {kind:36}{np.mean(values):.3f}  ({low:.3f} to {high:.3f})\n")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--queries", type=int, default=5)
    parser.add_argument("--birds", type=Path, help="folder of photos.csv")
    parser.add_argument("--species", type=int, default=40, help="species with the most photos")
    parser.add_argument("--search", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.search is not None:
        search(given.search, given.dim, given.queries)
        return
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), given.n, given.dim)
        command = [sys.executable, "-m", "benchmarks.collections", "--search", folder]
        subprocess.run([*command, "--dim", str(given.dim), "--queries", str(given.queries)], check=True)
    if given.birds is not None:
        named(given.birds, given.species)


if __name__ == "__main__":
    main()
