"""CIRCO: a reference photo and a change, with several right answers; `annotations/val.json` and `test.json`.

The collection is COCO's unlabeled set of 2017, beside `annotations`: the list
`COCO2017_unlabeled/annotations/image_info_unlabeled2017.json`, else the photos in
`COCO2017_unlabeled/unlabeled2017`. Image ids are COCO's numbers (Baldrati et al., ICCV 2023). The answers of the test
split are not published.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from data.benchmarks.retrieval.benchmark import Benchmark
from data.benchmarks.retrieval.cells import cell, number_or_name, text
from data.errors import BadInput
from data.files import read_lines
from data.records import Job

_IMAGES: Final = "unlabeled2017"


def is_circo(payload: object) -> bool:
    """Return whether a JSON document holds queries of CIRCO."""
    return (
        isinstance(payload, list)
        and bool(payload)
        and isinstance(payload[0], dict)
        and "reference_img_id" in payload[0]
    )


def read_circo(file: Path, payload: list[object]) -> Benchmark:
    """Return the queries of a split.

    Raises:
        BadInput: if the content is invalid, or a query id is repeated.
    """
    queries: dict[str, Job] = {}
    for entry in payload:
        query_id = number_or_name(entry, "id", file)
        if query_id in queries:
            raise BadInput(f"{file.name} has two queries with the id {query_id}.")
        relevant = None
        if isinstance(entry, dict) and "gt_img_ids" in entry:
            relevant = tuple(dict.fromkeys(str(image) for image in cell(entry, "gt_img_ids", list, file)))
        queries[query_id] = Job(
            query_id=query_id,
            text="",
            candidates=(),
            reference_image=_path(number_or_name(entry, "reference_img_id", file)),
            modification=text(entry, "relative_caption", file),
            relevant=relevant,
        )
    return Benchmark(name="CIRCO", file=file, queries=tuple(queries.values()), collection=_collection(file))


def _path(image_id: str) -> str:
    return f"{_IMAGES}/{image_id.zfill(12)}.jpg"


def _collection(file: Path) -> dict[str, str]:
    root = file.parent.parent / "COCO2017_unlabeled"
    info = root / "annotations" / "image_info_unlabeled2017.json"
    if not info.is_file():
        return {str(int(path.stem)): _path(path.stem) for path in sorted((root / _IMAGES).glob("*[0-9].jpg"))}
    try:
        images = json.loads("\n".join(read_lines(info)))["images"]
        return {str(entry["id"]): f"{_IMAGES}/{entry['file_name']}" for entry in images}
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{info}: expected a list of images with id and file_name: {error!r}") from error
