"""Photos of many queries, encoded before the first one: the part of re-ranking that an engine spreads over machines.

Calls of models stay in one process: its open requests already fill a server, and cost, cache and turns of queries
have one owner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from data.arrays import FloatArray
from data.contracts import ImageEncoder
from data.engines.contract import LOCAL, Engine, map_shards
from data.errors import BadImage, BadInput
from data.records import Job, JobImage
from rerank.depth import first_of
from rerank.photo_task import EncodeWhole
from rerank.similarity import PhotoFile, photo_file


def encode_ahead(
    encoder: ImageEncoder,
    jobs: Iterable[Job],
    *,
    root: str | Path = ".",
    depth: int | None = None,
    engine: Engine = LOCAL,
    on_progress: Callable[[int, int, int], None] = lambda _done, _total, _failed: None,
) -> dict[PhotoFile, FloatArray]:
    """Return the vectors of the photos of all jobs, each encoded once, for `RerankResources.photo_vectors`.

    Photos that cannot be read are left out: the method reads them again and says why.

    Args:
        encoder: the first encoder of the resources.
        jobs: queries with their photos; of each the first `depth` ones are encoded.
        root: folder of relative paths in jobs.
        depth: of `RerankSettings`.
        engine: where photos are encoded.
        on_progress: called with the numbers of photos encoded, in all, and unreadable.
    """
    files = list(dict.fromkeys(photo_file(root, image) for job in jobs for image in _ranked(job, depth)))
    found: dict[PhotoFile, FloatArray] = {}
    waiting, done = iter(files), 0
    for batch in map_shards(EncodeWhole(encoder=encoder), (path for path, _ in files), engine):
        pairs = zip(islice(waiting, len(batch)), batch, strict=True)
        found |= {file: each for file, each in pairs if not isinstance(each, BadImage)}
        done += len(batch)
        on_progress(done, len(files), done - len(found))
    return found


def _ranked(job: Job, depth: int | None) -> Iterator[JobImage]:
    with suppress(BadInput):  # the method rejects this job
        yield from first_of(job, depth).candidates
