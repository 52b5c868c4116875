"""Labelled queries over a collection: a folder for each class, jobs with `relevant`, or a published data set."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray
from data.contracts import ImageCollection
from data.errors import BadInput
from data.files import sha256_hex
from data.records import Job
from papers.datasets.published import read_benchmark
from papers.feedback.actor import LabelledQuery
from rerank.jobs import read_jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQueries:
    """Queries with relevant images, and the images that they are searched in."""

    queries: tuple[LabelledQuery, ...]
    images: frozenset[str] | None = None
    """Ids of a data set's images; None for the whole collection."""

    def sample(self, n: int, seed: int) -> LabelledQueries:
        """Return `n` of the queries, chosen at random, in their order; all of them if there are no more."""
        chosen = np.random.default_rng(seed).permutation(len(self.queries))[:n]
        return replace(self, queries=tuple(self.queries[i] for i in sorted(chosen.tolist())))

    @property
    def digest(self) -> str:
        """A hash of the queries and their relevant images."""
        lines = (f"{each.query_id}\0{each.text}\0{each.n_relevant}\0{each.group}" for each in self.queries)
        return sha256_hex("\n".join(lines))

    @property
    def n_missing(self) -> int:
        """Number of relevant images that the collection lacks, or cannot read."""
        return sum(query.n_relevant - len(query.relevant) for query in self.queries)


def queries_of_folders(collection: ImageCollection, template: str) -> LabelledQueries:
    """Return a query for each folder of photos, which are relevant; unreadable ones count as never found.

    Args:
        collection: photos in folders; the innermost folder is the class.
        template: the query, with the name of the folder for `{name}`, without leading numbers and underscores.

    Raises:
        BadInput: if no photo is in a folder.
    """
    classes: dict[str, list[str]] = defaultdict(list)
    for image_id in (*collection.ids, *collection.errors):
        folder = collection.path(image_id).parent.name if "/" in image_id else ""
        if folder:
            classes[folder].append(image_id)
    if not classes:
        raise BadInput(
            "The photos are in no folders, so there are no classes.", hint="Add --jobs FILE with queries and relevant."
        )
    known = frozenset(collection.ids)
    return LabelledQueries(
        queries=tuple(
            LabelledQuery(
                query_id=name,
                text=template.replace("{name}", _words(name)),
                relevant=known.intersection(ids),
                n_relevant=len(ids),
            )
            for name, ids in sorted(classes.items())
        )
    )


def queries_of_file(file: Path, collection: ImageCollection, *, images: Path) -> LabelledQueries:
    """Return the queries of a file: JSON lines of jobs, or a data set as published, such as MSR-VTT.

    Ids of images are those of the collection, or those of the jobs' candidates, which are found by their files.

    Args:
        file: the file.
        collection: the photos below `images`.
        images: the folder of the collection.

    Raises:
        BadInput: if the file has no relevant images, or the collection has none of them.
    """
    benchmark = read_benchmark(file, images=images)
    if benchmark is not None:
        folder = benchmark.image_folder(images)
        by_file = _by_file(collection)
        paths = {image_id: by_file.get(_real(folder.file(path))) for image_id, path in benchmark.collection.items()}
        found = _labelled(benchmark.queries, [paths] * len(benchmark.queries), frozenset(collection.ids), file)
        return LabelledQueries(queries=found, images=frozenset(each for each in paths.values() if each is not None))
    jobs = read_jobs(file)
    by_file = _by_file(collection) if any(job.candidates for job in jobs) else {}
    names = [{image.image_id: by_file.get(_real(image.path)) for image in job.candidates} for job in jobs]
    return LabelledQueries(queries=_labelled(jobs, names, frozenset(collection.ids), file))


def _labelled(
    jobs: Sequence[Job], names: Sequence[Mapping[str, str | None]], known: frozenset[str], file: Path
) -> tuple[LabelledQuery, ...]:
    found = []
    for job, of_job in zip(jobs, names, strict=True):
        if not job.relevant:
            continue
        ids = {of_job.get(each) or each for each in job.relevant}
        found.append(
            LabelledQuery(
                query_id=job.query_id,
                text=job.text,
                relevant=known.intersection(ids),
                n_relevant=len(set(job.relevant)),
            )
        )
    if not found:
        raise BadInput(f"{file} has no query with relevant images.", hint='Add "relevant": ["ID", ...] to each job.')
    if not any(query.relevant for query in found):
        example = next(iter(jobs)).relevant or ("",)
        raise BadInput(
            f"The collection has none of the relevant images of {file}, such as {example[0]!r}.",
            hint="Ids are paths below --images, or candidates with such paths.",
        )
    return tuple(found)


def _by_file(collection: ImageCollection) -> dict[Path, str]:
    return {_real(collection.path(image_id)): image_id for image_id in collection.ids}


def _real(path: str | Path) -> Path:
    """Return a path with the links in its folder resolved."""
    return _resolved(Path(path).parent) / Path(path).name


@lru_cache(maxsize=1 << 16)
def _resolved(folder: Path) -> Path:
    return folder.resolve()


def _words(name: str) -> str:
    """Return the name of a folder as words; hyphens stay in a name with other separators.

    Example:
        >>> _words("001.Black_footed_Albatross")
        'Black footed Albatross'
        >>> _words("agelaius-phoeniceus"), _words("Black-footed_Albatross")
        ('agelaius phoeniceus', 'Black-footed Albatross')
    """
    words = re.sub(r"[\s_]+", " ", re.sub(r"^\d+[._-]+", "", name)).strip() or name
    return words if " " in words else words.replace("-", " ")


class PartOfCollection:
    """Some photos of a collection; an `ImageCollection`.

    Args:
        whole: the collection.
        ids: ids of the photos to keep.
    """

    def __init__(self, whole: ImageCollection, ids: frozenset[str]) -> None:
        self._whole = whole
        self._rows: IntArray = np.flatnonzero([image_id in ids for image_id in whole.ids])
        self.space = whole.space
        self.ids: Sequence[str] = tuple(whole.ids[row] for row in self._rows.tolist())
        self.errors: Mapping[str, str] = {each: why for each, why in whole.errors.items() if each in ids}

    def path(self, image_id: str) -> Path:
        """Return the file of a photo."""
        return self._whole.path(image_id)

    def vectors(self, rows: IntArray) -> FloatArray:
        """Return the vectors of these rows."""
        return self._whole.vectors(self._rows[rows])

    def scores(self, queries: FloatArray) -> NDArray[np.float64]:
        """Return the `(q, n)` cosines."""
        return self._whole.scores(queries)[:, self._rows]
