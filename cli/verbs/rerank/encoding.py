"""Photos of `kb rerank` on a cluster: encoded before the first query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cli.common.engines import open_engine
from cli.common.progress import named_calls

if TYPE_CHECKING:
    from cli.common.config import Settings
    from data.arrays import FloatArray
    from data.contracts import TextImageEncoder
    from data.records import Job
    from rerank.similarity import PhotoFile


def photo_vectors(
    jobs: Sequence[Job],
    encoders: Sequence[TextImageEncoder],
    settings: Settings,
    *,
    depth: int | None,
    quiet: bool,
) -> Mapping[PhotoFile, FloatArray]:
    """Return the vectors of all photos, encoded on the cluster of the settings; none where this machine encodes."""
    if settings.engine == "local":
        return {}
    from rerank.encoding import encode_ahead

    settings.home.mkdir(parents=True, exist_ok=True)
    with open_engine(settings) as engine, named_calls(quiet=quiet) as meter:
        return encode_ahead(
            encoders[0],
            jobs,
            depth=depth,
            engine=engine,
            folder=settings.home,
            on_progress=lambda done, total, failed: meter("encode", done, total, failed),
        )
