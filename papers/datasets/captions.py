"""Flickr30K and COCO: each caption is a query for its photo.

Forms: Karpathy's splits (`dataset_flickr30k.json`, `dataset_coco.json`), of which the test split is read unless
`validation` is asked for, and COCO's own `captions_*.json`. All captions count: 25,010 of the test split of COCO.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from data.errors import BadInput
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
