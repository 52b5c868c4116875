"""First stage of a folder of photos: their similarity to the query, from the index of `kb find`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cli.common import output, wiring
from cli.common.photos.collection import open_photos

if TYPE_CHECKING:
    from cli.common.config import Settings
    from data.records import Job


def most_similar_first(job: Job, folder: Path, settings: Settings, *, depth: int, quiet: bool) -> Job:
    """Return the job of a folder with the similarity of each photo to the query as its score.

    Photos that cannot be read come last.

    Raises:
        NoEvidence: if the encoder can see none of the words in photos.
    """
    import asyncio  # late, for `kb --help`

    from rerank.collection.retriever import SimilarityRetriever

    encoder = wiring.load_text_image_encoder(wiring.profile_of(settings))
    with open_photos(folder, encoder, settings, quiet=quiet) as collection:
        retriever = SimilarityRetriever(encoder, collection)
        rows = asyncio.run(retriever.find(replace(job, candidates=()), len(collection.ids)))
    if not quiet:
        output.note(f"A folder has no first stage: the {depth} photos most similar to the query are re-ranked.")
    scores = {row.image_id: row.score for row in rows}
    candidates = (replace(image, score=scores.get(image.image_id, -1.0)) for image in job.candidates)
    return replace(job, candidates=tuple(candidates))
