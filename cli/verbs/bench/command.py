"""The command `kb bench`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from cli.common import options, output, wiring

COLUMNS = ("step", "median ms", "slowest ms")
PEER_COLUMNS = ("index", "median ms", "recall", "filled in s", "memory MiB", "mapped MiB")


@click.command()
@options.kb_option()
@click.option(
    "--runs", type=click.IntRange(min=1), metavar="N", default=5, show_default=True, help="Measured runs of each step."
)
@options.format_option("table", "json")
def bench(kb: Path | None, runs: int, form: str) -> None:
    """Measure opening, identification, search and context, beside other vector indexes.

    A photo is a drawn bird. Chroma, and FAISS and USearch where installed, are filled with the vectors of the
    descriptions. Recall is the share of the exact ten nearest that an index finds, memory what filling takes; the
    system can take mapped memory back.

    Example: kb bench --kb birds.kb --runs 20
    """
    from cli.verbs.bench.measure import measure_steps
    from cli.verbs.bench.nearest import N_QUERIES, TOP, measure_peers
    from cli.verbs.bench.peers import packages_to_install

    with wiring.open_knowledge_base(options.settings(kb=kb)) as store:
        path, n_species = str(store.path), len(store.taxon_ids)
        steps = measure_steps(store, wiring.encoders_of(store), runs)
        peers = measure_peers(store)
        n_rows, dim = store.species_vectors().vectors.shape
    n_queries, missing = min(N_QUERIES, n_rows), packages_to_install()
    found = {
        "kb": path,
        "species": n_species,
        "runs": runs,
        "steps": steps,
        "vectors": n_rows,
        "dim": dim,
        "queries": n_queries,
        "nearest": peers,
        "not_installed": missing,
    }
    ms = [(name, *(f"{1000 * step[key]:.1f}" for key in ("median_s", "slowest_s"))) for name, step in steps.items()]
    parts = [
        f"{path}: {n_species:,} species; runs of each step: {runs:,}",
        output.as_table(COLUMNS, ms, right=COLUMNS[1:]),
    ]
    if peers:
        rows = [(name, *_cells(peer)) for name, peer in peers.items()]
        about = f"The {TOP} nearest of {n_rows:,} descriptions ({dim:,} dimensions), {n_queries:,} queries"
        parts += [about, output.as_table(PEER_COLUMNS, rows, right=PEER_COLUMNS[1:])]
    if missing:
        parts.append(f"To compare with more indexes: pip install {' '.join(missing)}")
    output.write_record(form, found, lambda: "\n\n".join(parts))


def _cells(peer: Mapping[str, float | None]) -> Iterator[str]:
    """Yield the cells of a row of the second table, after the name."""
    for key, factor, digits in (
        ("median_s", 1000, 2),
        ("recall", 1, 3),
        ("fill_s", 1, 2),
        ("memory_mib", 1, 1),
        ("mapped_mib", 1, 1),
    ):
        value = peer[key]
        yield "unknown" if value is None else f"{factor * value:.{digits}f}"
