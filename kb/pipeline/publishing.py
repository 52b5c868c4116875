"""What surrounds the stage `index`: Chroma opened and equal to the ledger before it, the cache made after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kb.pipeline.stages.run import BuildRun
from kb.store.chroma import Collections
from kb.store.knowledge_base import warm_cache
from kb.store.verify import keep_info, mend_chroma, open_or_rebuild


@contextmanager
def publishing(run: BuildRun) -> Iterator[Collections]:
    """Give the collections of a run to write to; for the holder of the lock."""
    mended: list[str] = []
    keep_info(run.ledger, run.info)
    collections = open_or_rebuild(run.layout, run.info, run.ledger, mended)
    try:
        # A ledger that was lost and begun anew knows nothing of the rows that are there.
        is_new = run.ledger.fact("generation") is None
        if mended or is_new or run.ledger.fact("indexing") is not None:
            mend_chroma(run.ledger, collections)
        yield collections
        warm_cache(run.layout, run.ledger, collections)
    finally:
        collections.close()
