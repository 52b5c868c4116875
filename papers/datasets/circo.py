"""CIRCO: a reference photo and a change, with several right answers; `annotations/val.json` and `test.json`.

The collection is COCO's unlabeled set of 2017, in a given folder, beside `annotations` or in it: the list
`COCO2017_unlabeled/annotations/image_info_unlabeled2017.json`, else the photos in `COCO2017_unlabeled/unlabeled2017` or
`unlabeled2017`. Image ids are COCO's numbers (Baldrati et al., ICCV 2023). The answers of the test split are not
published.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from data.codec import load_json
from data.errors import BadInput
from data.files import read_lines
from data.records import Job
from papers.datasets.benchmark import Benchmark
from papers.datasets.cells import cell, number_or_name, text, texts

_SET: Final = "COCO2017_unlabeled"
_IMAGES: Final = "unlabeled2017"


def read_circo(file: Path, payload: list[object], images: Path | None = None) -> Benchmark:
    """Return the queries of a split; `images` is the folder of the photos, if they are not beside `annotations`.

    Raises:
        BadInput: if the content is invalid, or a query id is repeated.
    """
    queries: dict[str, Job] = {}
    aspects: dict[str, tuple[str, ...]] = {}
    for n, entry in enumerate(payload, start=1):
        query_id = number_or_name(entry, "id", f"{file.name}, entry {n}")
        where = f"{file.name}, query {query_id}"
        if query_id in queries:
            raise BadInput(f"{file.name} has two queries with the id {query_id}.")
        relevant = None
        if isinstance(entry, dict) and "gt_img_ids" in entry:
            relevant = tuple(dict.fromkeys(str(image) for image in cell(entry, "gt_img_ids", list, where)))
        if isinstance(entry, dict) and entry.get("semantic_aspects"):
            aspects[query_id] = tuple(dict.fromkeys(texts(entry, "semantic_aspects", where)))
        queries[query_id] = Job(
            query_id=query_id,
            text="",
            candidates=(),
            reference_image=_path(number_or_name(entry, "reference_img_id", where)),
            modification=text(entry, "relative_caption", where),
            relevant=relevant,
        )
    return Benchmark(
        name="CIRCO", file=file, queries=tuple(queries.values()), collection=_collection(file, images),
        published_in=_SET, aspects=aspects,
    )  # fmt: skip


def _path(image_id: str) -> str:
    return f"{_IMAGES}/{image_id.zfill(12)}.jpg"


def _collection(file: Path, images: Path | None) -> dict[str, str]:
    near = [root for folder in (file.parent.parent, file.parent) for root in (folder / _SET, folder)]
    roots = near if images is None else [images, images / _SET, images.parent, *near]
    infos = (root / "annotations" / "image_info_unlabeled2017.json" for root in roots)
    info = next((path for path in infos if path.is_file()), None)
    if info is None:
        folders = [root / _IMAGES for root in roots] + ([images] if images is not None else [])
        photos = (sorted(path for path in folder.glob("*.jpg") if path.stem.isdecimal()) for folder in folders)
        return {str(int(path.stem)): _path(path.stem) for path in next(filter(None, photos), [])}
    try:
        listed = load_json("\n".join(read_lines(info)))["images"]
        return {str(entry["id"]): f"{_IMAGES}/{entry['file_name']}" for entry in listed}
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{info}: expected a list of images with id and file_name: {error!r}") from error
