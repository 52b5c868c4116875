"""Photos of many queries, encoded before the first one: the part of re-ranking that an engine spreads over machines.

Calls of models stay in one process: its open requests already fill a server, and cost, cache and turns of queries
have one owner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile, gettempdir

import numpy as np

from data.arrays import FloatArray
from data.contracts import ImageEncoder
from data.engines.contract import LOCAL, Engine, map_shards
from data.errors import BadImage, BadInput
from data.files import writing
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
    folder: str | Path | None = None,
    on_progress: Callable[[int, int, int], None] = lambda _done, _total, _failed: None,
) -> dict[PhotoFile, FloatArray]:
    """Return the vectors of the photos of all jobs, each encoded once, for `RerankResources.photo_vectors`.

    They are mapped from a file without a name, which is gone with them. Photos that cannot be read are left out: the
    method reads them again and says why.

    Args:
        encoder: the first encoder of the resources.
        jobs: queries with their photos; of each the first `depth` ones are encoded.
        root: folder of relative paths in jobs.
        depth: of `RerankSettings`.
        engine: where photos are encoded.
        folder: of the temporary file that holds the vectors, so that memory does not; None for the system's.
        on_progress: called with the numbers of photos encoded, in all, and unreadable.
    """
    files = list(dict.fromkeys(photo_file(root, image) for job in jobs for image in _ranked(job, depth)))
    found: list[PhotoFile] = []
    waiting, done = iter(files), 0
    with TemporaryFile(dir=folder) as out, writing(Path(folder or gettempdir())):
        for batch in map_shards(EncodeWhole(encoder=encoder), (path for path, _ in files), engine):
            for file, each in zip(islice(waiting, len(batch)), batch, strict=True):
                if not isinstance(each, BadImage):
                    found.append(file)
                    out.write(each.astype(np.float32).tobytes())
            done += len(batch)
            on_progress(done, len(files), done - len(found))
        out.flush()
        if not found:  # an empty file cannot be mapped
            return {}
        vectors = np.asarray(np.memmap(out, np.float32, mode="r", shape=(len(found), encoder.dim)))
    return dict(zip(found, vectors, strict=True))


def _ranked(job: Job, depth: int | None) -> Iterator[JobImage]:
    with suppress(BadInput):  # the method rejects this job
        yield from first_of(job, depth).candidates
