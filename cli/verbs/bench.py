"""`kb bench`: speed of a knowledge base on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

import click

from cli.common import options, output, wiring

if TYPE_CHECKING:
    from data.contracts import Encoders
    from kb.store.knowledge_base import KnowledgeBase

COLUMNS: Final = ("step", "median ms", "slowest ms")
SHOWN: Final = "agelaius-phoeniceus"  # a drawing that ships
DESCRIPTION: Final = "red crest, black face and a thick bill"
QUERY: Final = "a duck with a blue speculum"

Times = dict[str, float]


@click.command()
@options.kb_option()
@click.option(
    "--runs", type=click.IntRange(min=1), metavar="N", default=5, show_default=True, help="Measured runs of each step."
)
@options.format_option("table", "json")
def bench(kb: Path | None, runs: int, form: str) -> None:
    """Measure opening, identification, search and context; a photo is a drawn bird.

    Example: kb bench --kb birds.kb --runs 20
    """
    with wiring.open_knowledge_base(options.settings(kb=kb)) as store:
        path, n_species = str(store.path), len(store.taxon_ids)
        steps = measure_steps(store, wiring.encoders_of(store), runs)
    ms = [(name, *(f"{1000 * step[key]:.1f}" for key in ("median_s", "slowest_s"))) for name, step in steps.items()]
    head = f"{path}: {n_species:,} species; runs of each step: {runs:,}"
    found = {"kb": path, "species": n_species, "runs": runs, "steps": steps}
    output.write_record(form, found, lambda: f"{head}\n\n{output.as_table(COLUMNS, ms, right=COLUMNS[1:])}")


def measure_steps(store: KnowledgeBase, encoders: Encoders, runs: int) -> dict[str, Times]:
    """Return step -> median and slowest seconds, after a run that does not count."""
    import kb
    import recognize
    from data.starter.knowledge import drawings_of

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
    import kb

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
