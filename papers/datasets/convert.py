"""Published data sets as files that `kb` reads: a table of labelled photos, or a query set."""

from __future__ import annotations

import csv
import io
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from data.codec import dumps
from data.errors import BadInput, UsageError
from data.files import write_atomic
from data.labelled_photos import LabelledPhoto
from data.records import Job
from papers.datasets.benchmark import MEASURES, Benchmark
from papers.datasets.inquire import read_rerank
from papers.datasets.inquire_labels import label_of
from papers.datasets.published import read_benchmark
from papers.datasets.species_photos import read_species
from rerank.jobs import QuerySet
from training.collection import read_collection

_log = logging.getLogger(__name__)
COLUMNS: Final = ("path", "label", "split")


def convert(
    sources: Sequence[Path],
    output: Path,
    *,
    split: str | None = None,
    images: Path | None = None,
    needs_images: bool = True,
) -> str:
    """Write a data set in the form of `kb rerank` or `kb eval species`, by the ending of the output.

    Args:
        sources: the data set as published: a folder, or its file of queries or photos; of photos also several, such as
            the lists of two splits.
        output: `.csv` for a table of labelled photos, `.json` for a query set. Images that are inside Parquet files are
            written into a folder beside it.
        split: `test` or `validation` of a retrieval data set with splits; None: test, of INQUIRE and MSR-VTT all.
        images: folder of the images; default: found near the file.
        needs_images: False keeps the published paths where the images are not found, for evaluation alone.

    Returns:
        The name of the data set.

    Raises:
        BadInput: if the data set is invalid, of no known form, or its images are not found.
        UsageError: if the output has another ending, or a table of photos is asked for one split.
    """
    if split is not None and output.suffix == ".csv":
        raise UsageError("--split is for queries.", hint="The table has a column split.")
    if output.suffix == ".csv":
        name, text = _photo_table(sources, images)
    elif output.suffix == ".json" and len(sources) == 1:
        (source,) = sources
        queries = _query_set(source, output, split, images, needs_images=needs_images)
        name, text = queries.name, dumps(queries)
    else:
        raise UsageError(f"{output}: expected FILE.csv for photos of species, or FILE.json for queries of one file.")
    write_atomic(output, text.encode())
    return name


def _photo_table(sources: Sequence[Path], root: Path | None) -> tuple[str, str]:
    source = sources[0]
    if all((source / name).is_file() for name in ("photos.csv", "descriptions.jsonl")):
        return "collection", _as_table(_collection(source))
    read = [read_species(each, root=root) for each in sources]
    return read[0][0], _as_table([photo for _, photos in read for photo in photos])


def _collection(folder: Path) -> list[LabelledPhoto]:
    """Return the photos of a collection by the protocol of the starter models.

    `test` is the half of the photos that the starter models were never trained on; all others are `train`.
    """
    collection = read_collection(folder)
    hidden = frozenset(collection.hidden.tolist())
    return [
        LabelledPhoto(path=folder / photo.path, label=photo.species, split="test" if i in hidden else "train")
        for i, photo in enumerate(collection.photos)
    ]


def _as_table(photos: Iterable[LabelledPhoto]) -> str:
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows((photo.path.absolute(), photo.label, photo.split or "") for photo in photos)
    return out.getvalue()


def _query_set(source: Path, output: Path, split: str | None, images: Path | None, *, needs_images: bool) -> QuerySet:
    if source.is_dir() or source.suffix == ".parquet":
        jobs = read_rerank(source.absolute(), split=split, images=images or output.with_suffix("").absolute())
        return QuerySet(name="INQUIRE-Rerank", queries=tuple(jobs), labels=inquire_labels(jobs))
    benchmark = read_benchmark(source.absolute(), split=split, images=images)
    if benchmark is None:
        raise BadInput(f"{source} is of no known form.", hint="docs/reproduce/index.md lists the data sets.")
    return query_set_of(benchmark, images=images, needs_images=needs_images)


def query_set_of(benchmark: Benchmark, *, images: Path | None = None, needs_images: bool = True) -> QuerySet:
    """Return a data set as a query set, with the files of its images."""
    file: Callable[[str], str] = str
    try:
        file = benchmark.image_folder(images).file
    except BadInput as error:
        if needs_images or not benchmark.collection:
            raise
        _log.warning("%s The query set can be evaluated, not ranked.", error)
    labels = {query_id: {"aspect": aspects} for query_id, aspects in benchmark.aspects.items()}
    if benchmark.name == "INQUIRE-Rerank-Hard":
        labels = inquire_labels(benchmark.queries)
    return QuerySet(
        name=benchmark.name,
        queries=tuple(
            replace(query, reference_image=None if query.reference_image is None else file(query.reference_image))
            for query in benchmark.queries
        ),
        collection={image_id: file(path) for image_id, path in benchmark.collection.items()},
        pools=benchmark.pools,
        subsets=benchmark.subsets,
        left_out=benchmark.left_out,
        labels=labels,
        measures=MEASURES[benchmark.name],
    )


def inquire_labels(queries: Iterable[Job]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the supercategory and lingo of the queries of INQUIRE among these."""
    found = {query.query_id: label_of(query.text) for query in queries}
    return {
        query_id: {axis: (name,) for axis, name in label.strata.items()} for query_id, label in found.items() if label
    }
