"""The command `kb bench`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from cli.common import options, output, wiring

COLUMNS = ("step", "median ms", "slowest ms")
PEER_COLUMNS = ("nearest descriptions by", "median ms", "recall", "filled in s", "memory MiB", "mapped MiB")


@click.command()
@options.kb_option()
@click.option(
    "--runs", type=click.IntRange(min=1), metavar="N", default=5, show_default=True, help="Measured runs of each step."
)
@options.format_option("table", "json")
def bench(kb: Path | None, runs: int, form: str) -> None:
    """Measure opening, identification, search and context, beside other vector indexes.

    A photo is a drawn bird. Chroma, and FAISS and USearch where installed, are filled with the vectors of the
    descriptions; recall is their share of the exact ten nearest, memory what filling takes. The system can take mapped
    memory back.

    Example: kb bench --kb birds.kb --runs 20
    """
    from cli.verbs.bench.measure import measure_steps
    from cli.verbs.bench.nearest import measure_peers

    with wiring.open_knowledge_base(options.settings(kb=kb)) as store:
        steps = measure_steps(store, wiring.encoders_of(store), runs)
        peers = measure_peers(store)
        found = {
            "kb": str(store.path),
            "species": len(store.taxon_ids),
            "runs": runs,
            "steps": steps,
            "nearest": peers,
        }
    ms = [(name, *(f"{1000 * step[key]:.1f}" for key in ("median_s", "slowest_s"))) for name, step in steps.items()]
    rows = [(name, *_cells(peer)) for name, peer in peers.items()]
    output.write_record(
        form,
        found,
        lambda: (
            f"{output.as_table(COLUMNS, ms, right=COLUMNS[1:])}\n\n"
            f"{output.as_table(PEER_COLUMNS, rows, right=PEER_COLUMNS[1:])}"
        ),
    )


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
