"""Reader of INQUIRE-Rerank as published: Parquet files, or the Hard subset.

The published rows have no query id: queries are identified by their text and get the id of INQUIRE's query list.
Nothing is downloaded, and no part of the data set is shipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Final

from data.codec import load_json
from data.errors import BadInput
from data.files import read_lines, write_atomic
from data.records import Job, JobImage
from papers.datasets.inquire_labels import label_of, text_key

# Columns of the published rows; the others (place, date, licence, species) are not needed for ranking.
NEEDED: Final = ("query", "relevant", "clip_score", "inat24_image_id")
FILE_NAME: Final = "inat24_file_name"
N_ROWS_AT_ONCE: Final = 64  # images of a batch are in memory together, about 10 MB


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    query: str
    image_id: str
    path: str
    score: float
    is_relevant: bool


def read_rerank(source: Path, *, split: str | None = None, images: Path | None = None) -> list[Job]:
    """Return a job for each query of INQUIRE-Rerank, in the order in which the queries appear.

    Args:
        source: a Parquet file, or a folder with Parquet files.
        split: `test` or `validation`; None reads all. The split of a file is the start of its name, or the name of its
            folder.
        images: folder for the images inside Parquet files; None does not write them, and the paths of the job then
            name files of iNaturalist 2024 that need not exist.

    Raises:
        BadInput: if there are no such files, one is damaged, a column is missing, a cell is invalid, or an image is
            listed twice for a query.
    """
    found = [source] if source.suffix == ".parquet" else sorted(source.rglob("*.parquet"))
    chosen = [path for path in found if split is None or _is_of(path, split)]
    if not chosen:
        raise BadInput(
            f"{source} contains no {f'files of the split {split!r}' if found else 'Parquet files'}",
            hint="Give the folder of INQUIRE-Rerank as downloaded, or one of its Parquet files.",
        )
    return _jobs((row for path in chosen for row in _parquet_rows(path, images)), source)


def read_hard(path: Path) -> list[Job]:
    """Return a job for each query of INQUIRE-Rerank-Hard: a JSON list of `{query, images: {path: 0 or 1}}`.

    The subset has no scores of a first stage; they are minus the place in the file.

    Raises:
        BadInput: if the file cannot be read or has another format.
    """
    text = "\n".join(read_lines(path))
    try:
        lists = [(entry["query"], list(entry["images"].items())) for entry in load_json(text, object_pairs_hook=_once)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{path}: expected a list of queries with their images: {error!r}") from error
    rows = []
    for query, images in lists:
        for place, (name, relevant) in enumerate(images):
            cells = {"query": query, "relevant": relevant, "clip_score": -place, "inat24_image_id": name}
            if not name.strip():
                raise BadInput(f"{path.name}: an image of the query {query!r} has an empty path")
            rows.append(_row(cells, name, path, image_id=name))
    return _jobs(rows, path)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return a JSON object, which must not repeat a key."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is repeated")
    return found


def query_id_of(text: str) -> str:
    """Return INQUIRE's id of the query with that text; other texts get an id from their hash.

    Example:
        >>> query_id_of("a purple robin")
        'q-22ff45c97020caa8'
    """
    label = label_of(text)
    return label.query_id if label else f"q-{text_key(text)}"


def _is_of(path: Path, split: str) -> bool:
    return path.name.startswith(split) or path.parent.name == split


def _parquet_rows(path: Path, images: Path | None) -> Iterator[_Row]:
    for cells in _parquet_cells(path, with_images=images is not None):
        image = cells.get("image")
        content = image.get("bytes") if isinstance(image, dict) else None
        name = Path(str(cells.get(FILE_NAME) or f"{cells['inat24_image_id']}.jpg"))
        file = name
        if images is not None and isinstance(content, bytes) and content:
            # Named by the id: names inside a foreign file must not decide where we write.
            suffix = name.suffix.lower() if name.suffix.isascii() and name.suffix[1:].isalnum() else ".jpg"
            file = images / f"{_image_id(cells, path)}{suffix}"
            if not file.is_file() or file.stat().st_size != len(content):
                write_atomic(file, content, is_durable=False)
        yield _row(cells, str(file), path)


def _parquet_cells(path: Path, *, with_images: bool) -> Iterator[dict[str, object]]:
    """Yield the needed cells of each row."""
    import pyarrow as pa  # imported late: it costs 0.1 s
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as table:
            names = set(table.schema_arrow.names)
            _check_columns(names, path)
            columns = [name for name in (*NEEDED, FILE_NAME, *(["image"] if with_images else [])) if name in names]
            for batch in table.iter_batches(batch_size=N_ROWS_AT_ONCE, columns=columns):
                yield from batch.to_pylist()
    except (OSError, pa.ArrowException) as error:
        why = " ".join(str(error).split())
        raise BadInput(f"Cannot read {path} as a Parquet file: {why}") from error


def _check_columns(names: set[str], path: Path) -> None:
    missing = sorted({*NEEDED} - names)
    if missing:
        raise BadInput(f"{path.name} has no column {missing[0]}", hint=f"Columns: {', '.join(sorted(names))}.")


def _row(cells: Mapping[str, object], file: str, path: Path, *, image_id: str | None = None) -> _Row:
    """Return the checked cells of a row; `image_id` replaces the numbers of iNaturalist."""
    query, score, relevant = cells["query"], _number(cells["clip_score"]), _truth(cells["relevant"])
    if not isinstance(query, str) or not query.strip():
        raise BadInput(f"{path.name}: expected text as query, got {query!r}")
    if score is None or relevant is None:
        raise BadInput(
            f"{path.name}: expected a number as clip_score and 0 or 1 as relevant, got {cells['clip_score']!r} and "
            f"{cells['relevant']!r} for the image {cells['inat24_image_id']!r}"
        )
    return _Row(
        query=query,
        image_id=image_id or _image_id(cells, path),
        path=file,
        score=score,
        is_relevant=relevant,
    )


def _number(cell: object) -> float | None:
    """Return the finite number in a cell, None if there is none; CSV cells are text."""
    try:
        number = float(cell) if isinstance(cell, int | float | str) and not isinstance(cell, bool) else float("nan")
    except ValueError:
        return None
    return number if isfinite(number) else None


def _truth(cell: object) -> bool | None:
    """Return True for 1 or true, False for 0 or false, None for anything else."""
    word = str(cell).strip().lower()
    return word in ("1", "1.0", "true") if word in ("0", "1", "0.0", "1.0", "true", "false") else None


def _image_id(cells: Mapping[str, object], path: Path) -> str:
    cell = cells["inat24_image_id"]
    image_id = str(cell).strip() if isinstance(cell, int | str) else ""
    if not image_id.replace("-", "").replace("_", "").isalnum():
        raise BadInput(f"{path.name}: invalid image id {cell!r}")
    return image_id


def _jobs(rows: Iterable[_Row], source: Path) -> list[Job]:
    by_text: dict[str, list[_Row]] = {}
    for row in rows:
        by_text.setdefault(text_key(row.query), []).append(row)
    jobs = []
    for of_query in by_text.values():
        text = " ".join(of_query[0].query.split())
        seen: set[str] = set()
        for row in of_query:
            if row.image_id in seen:
                raise BadInput(f"Image {row.image_id} is listed twice for the query {text!r}")
            seen.add(row.image_id)
        jobs.append(
            Job(
                query_id=query_id_of(text),
                text=text,
                candidates=tuple(JobImage(image_id=r.image_id, path=r.path, score=r.score) for r in of_query),
                is_question=False,
                relevant=tuple(r.image_id for r in of_query if r.is_relevant),
            )
        )
    if not jobs:
        raise BadInput(f"{source} contains no query with images")
    return jobs
