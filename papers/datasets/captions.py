"""Flickr30K and COCO: each caption is a query for its photo.

Forms: Karpathy's splits (`dataset_flickr30k.json`, `dataset_coco.json`), a table with the captions of a photo as JSON
in the column `raw` (as CoTRR's authors use it), and COCO's own `captions_*.json`. Of a form with splits the test split
is read, unless `validation` is asked for. All captions count; Karpathy's test split of COCO has 25,010.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from data.errors import BadInput
from data.files import read_lines
from data.foreign_json import load_json
from data.records import Job
from papers.datasets.benchmark import Benchmark
from papers.datasets.cells import cell, number_or_name, text
from papers.datasets.coco_hard import is_coco_hard

_SPLITS: Final = {None: "test", "test": "test", "validation": "val"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Photo:
    file: str
    path: str
    captions: tuple[tuple[str, str], ...]
    """Query id and caption."""


def read_captions(file: Path, payload: Mapping[str, object], *, split: str | None = None) -> Benchmark:
    """Return the queries in Karpathy's or COCO's form.

    Raises:
        BadInput: if the content is invalid, or the split has no photo.
    """
    images = cell(payload, "images", list, file.name)
    if isinstance(payload.get("annotations"), list):
        if split is not None:
            raise BadInput(f"{file.name} has no splits; it is one itself.")
        found = _benchmark(_coco_photos(file, images, cell(payload, "annotations", list, file.name)), file)
        return replace(found, name="COCO-Hard" if is_coco_hard(payload) else "COCO")
    chosen = _of_split(images, split, file)
    return _benchmark((_split_photo(entry, n, file) for n, entry in enumerate(chosen, start=1)), file)


def _split_photo(entry: Mapping[str, object], n: int, file: Path) -> _Photo:
    name = text(entry, "filename", f"{file.name}, photo {n} of the split")
    where = f"{file.name}, photo {name}"
    return _Photo(
        file=name,
        path=str(Path(str(entry.get("filepath") or ""), name)),
        captions=tuple(
            (number_or_name(sentence, "sentid", where), text(sentence, "raw", where))
            for sentence in cell(entry, "sentences", list, where)
        ),
    )


def read_caption_table(file: Path, *, split: str | None = None) -> Benchmark:
    """Return the queries in a CSV table with the columns `filename` and `raw`, and perhaps `sentids` and `split`.

    Raises:
        BadInput: if the content is invalid, or the split has no photo.
    """
    csv.field_size_limit(10_000_000)
    try:
        rows: list[dict[str, str]] = list(csv.DictReader(io.StringIO("\n".join(read_lines(file)))))
    except csv.Error as error:
        raise BadInput(f"{file.name}: {error}") from error
    if not rows or not {"filename", "raw"} <= rows[0].keys():
        raise BadInput(f"{file.name}: expected a table with the columns filename and raw.")
    return _benchmark(
        (_row_photo({key: str(value) for key, value in row.items()}, file) for row in _of_split(rows, split, file)),
        file,
    )


def _row_photo(row: Mapping[str, str], file: Path) -> _Photo:
    name = text(row, "filename", file.name)
    try:
        captions = load_json(row["raw"])
        ids = (
            load_json(row["sentids"])
            if row.get("sentids")
            else [f"{Path(name).stem}-{i}" for i in range(len(captions))]
        )
        paired = tuple((str(i), " ".join(caption.split())) for i, caption in zip(ids, captions, strict=True))
    except (ValueError, TypeError, AttributeError) as error:
        raise BadInput(f"{file.name}: expected a list of captions in the column raw for {name}: {error}") from error
    return _Photo(file=name, path=str(Path(row.get("filepath") or "", name)), captions=paired)


def _of_split(entries: Iterable[object], split: str | None, file: Path) -> list[Mapping[str, object]]:
    known = [entry for entry in entries if isinstance(entry, Mapping)]
    if not any(entry.get("split") for entry in known):
        if split is not None:
            raise BadInput(f"{file.name} has no splits.")
        return known
    found = [entry for entry in known if entry.get("split") == _SPLITS.get(split, split)]
    if not found:
        raise BadInput(f"{file.name} has no photos of the split {_SPLITS.get(split, split)!r}")
    return found


def _coco_photos(file: Path, images: Iterable[object], annotations: Iterable[object]) -> list[_Photo]:
    captions: dict[str, list[tuple[str, str]]] = {}
    for n, entry in enumerate(annotations, start=1):
        where = f"{file.name}, caption {n}"
        captions.setdefault(number_or_name(entry, "image_id", where), []).append(
            (number_or_name(entry, "id", where), text(entry, "caption", where))
        )
    return [
        _Photo(
            file=(name := text(entry, "file_name", f"{file.name}, image {n}")),
            path=name,
            captions=tuple(captions.get(number_or_name(entry, "id", f"{file.name}, image {n}"), ())),
        )
        for n, entry in enumerate(images, start=1)
    ]


def _benchmark(photos: Iterable[_Photo], file: Path) -> Benchmark:
    collection: dict[str, str] = {}
    queries: dict[str, Job] = {}
    for photo in photos:
        if photo.file in collection:
            raise BadInput(f"{file.name} lists {photo.file} twice.")
        collection[photo.file] = photo.path
        for query_id, caption in photo.captions:
            if query_id in queries:
                raise BadInput(f"{file.name} has two captions with the id {query_id}.")
            queries[query_id] = Job(
                query_id=query_id, text=caption, candidates=(), is_question=False, relevant=(photo.file,)
            )
    if not queries:
        raise BadInput(f"{file.name} contains no caption")
    is_coco = next(iter(collection)).startswith("COCO_") or "coco" in file.name.lower() or "captions_" in file.name
    return Benchmark(
        name="COCO" if is_coco else "Flickr30K", file=file, queries=tuple(queries.values()), collection=collection
    )
