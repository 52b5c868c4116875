"""COCO-Hard: the captions of COCO val2017 that a first stage finds hardest, in COCO's own form.

`python -m papers coco-hard captions_val2017.json clip.trec e5v.trec > captions_hard.json` keeps the 5,000 photos and
the 500 captions with the lowest `ndcg_visret@30`, averaged over the runs; without runs, one caption of each photo.

Source: VisRet (Wu et al., 2025), appendix A.3: "in reverse order by nDCG@30", which in the authors' code is
`ndcg_visret`. The list is not published: which caption of a photo they took, how they joined two retrievers and how
they broke ties are unknown. Here the one with the lowest id, the mean, and the order of ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from data.codec import load_json
from data.errors import BadInput
from data.files import read_lines
from data.metrics.lists import ndcg_visret, settled
from data.trec import parse_run
from papers.datasets.cells import cell, number_or_name

N_HARD: Final = 500
DEPTH: Final = 30
_NAME: Final = "COCO-Hard"


def is_coco_hard(payload: Mapping[str, object]) -> bool:
    """Return whether a file in COCO's form was written by `hardest`."""
    info = payload.get("info")
    return isinstance(info, Mapping) and info.get("description") == _NAME


def hardest(file: Path, runs: Sequence[Path] = (), *, n: int = N_HARD) -> dict[str, object]:
    """Return COCO's captions with one of each photo, of these the `n` hardest for the runs.

    Args:
        file: `captions_val2017.json`, or the result of a call without runs.
        runs: TREC runs; query ids are those of captions, image ids are file names. A caption that a run lacks has 0.
        n: captions to keep; all of them without runs.

    Raises:
        BadInput: if a file is invalid, or a run ranks no caption of a photo.
    """
    try:
        payload = load_json("\n".join(read_lines(file)))
    except ValueError as error:
        raise BadInput(f"{file}: {error}") from error
    images = {number_or_name(each, "id", file.name): each for each in cell(payload, "images", list, file.name)}
    first: dict[str, Mapping[str, object]] = {}
    for caption in sorted(
        cell(payload, "annotations", list, file.name), key=lambda each: cell(each, "id", int, file.name)
    ):
        first.setdefault(number_or_name(caption, "image_id", file.name), caption)
    photos = {str(each["id"]): cell(images[image], "file_name", str, file.name) for image, each in first.items()}
    kept = set(photos)
    if runs:
        scores = [_ndcg(run, photos) for run in runs]
        by_score = sorted(photos, key=lambda query: (sum(of.get(query, 0.0) for of in scores), int(query)))
        kept = set(by_score[:n])
    return {
        "info": {"description": _NAME if runs else "COCO, one caption of each photo"},
        "images": list(images.values()),
        "annotations": [each for each in first.values() if str(each["id"]) in kept],
    }


def _ndcg(run: Path, photos: Mapping[str, str]) -> dict[str, float]:
    """Return query -> `ndcg_visret@30` of its only relevant photo."""
    ranked: dict[str, list[tuple[float, int, str]]] = {}
    for row in parse_run(read_lines(run), name=run.name):
        if row.query_id in photos:
            ranked.setdefault(row.query_id, []).append((-row.score, row.rank, row.image_id))
    if not ranked:
        raise BadInput(f"{run.name} ranks none of the captions.", hint="Query ids are the ids of COCO's annotations.")
    return {
        query: ndcg_visret(settled([image == photos[query] for *_, image in sorted(rows)]), DEPTH)
        for query, rows in ranked.items()
    }
