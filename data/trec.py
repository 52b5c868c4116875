"""Runs (TREC `query Q0 image rank score tag`, or JSON lines) and relevance (`query 0 image relevance`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isfinite
from pathlib import Path

from data.codec import loads
from data.errors import BadInput, StoreError
from data.files import read_lines
from data.records import RankedImage


def run_line(query_id: str, image_id: str, rank: int, score: float, *, tag: str = "fieldmark") -> str:
    """Return a line of a run, without its end.

    Raises:
        BadInput: if an id or the tag is empty or contains white space, which would shift the columns.
    """
    for word in (query_id, image_id, tag):
        if word.split() != [word]:
            raise BadInput(
                f"{word!r} cannot be written to a TREC run: expected a single word", hint="Use --format jsonl."
            )
    return f"{query_id} Q0 {image_id} {rank} {score!r} {tag}"


def parse_run(lines: Iterable[str], *, name: str = "the run") -> Iterator[RankedImage]:
    """Yield the images of a run in TREC format or JSON lines, as its first line is; empty lines are skipped.

    Ties of a TREC file are in the order of the ranks.

    Raises:
        BadInput: if a line is invalid, an image is listed twice for a query, or a score is not finite.
    """
    seen: dict[str, set[str]] = {}
    is_json: bool | None = None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        is_json = line.lstrip().startswith("{") if is_json is None else is_json
        image = _of_json(line, where) if is_json else _of_columns(line, where)
        if not isfinite(image.score):
            raise BadInput(f"{where}: expected a finite score, got {image.score}")
        of_query = seen.setdefault(image.query_id, set())
        if image.image_id in of_query:
            raise BadInput(f"{where}: image {image.image_id} is listed twice for query {image.query_id}")
        of_query.add(image.image_id)
        yield image


def _of_json(line: str, where: str) -> RankedImage:
    try:
        return loads(RankedImage, line)
    except StoreError as error:
        raise BadInput(f"{where}: {error}") from error


def _of_columns(line: str, where: str) -> RankedImage:
    columns = line.split()
    if len(columns) != 6:
        raise BadInput(
            f"{where}: expected 6 columns (query Q0 image rank score tag), got {len(columns)}: {line.strip()[:80]}"
        )
    query_id, _, image_id, rank, score, _ = columns
    try:
        return RankedImage(
            query_id=query_id, image_id=image_id, rank=int(rank), score=float(score), first_stage_rank=int(rank)
        )
    except ValueError as error:
        raise BadInput(f"{where}: expected numbers as rank and score, got {rank} and {score}") from error


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Return query -> image -> relevance in a qrels file; a relevance above 0 counts as relevant.

    Raises:
        BadInput: if it is not text, or a line has other columns or judges an image twice.
    """
    judged: dict[str, dict[str, int]] = {}
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split()
        if not columns:
            continue
        where = f"{path.name}, line {number}"
        if len(columns) != 4:
            raise BadInput(f"{where}: expected 4 columns (query 0 image relevance), got {len(columns)}")
        query_id, _, image_id, relevance = columns
        of_query = judged.setdefault(query_id, {})
        if image_id in of_query:
            raise BadInput(f"{where}: image {image_id} is judged twice for query {query_id}")
        try:
            of_query[image_id] = int(relevance)
        except ValueError as error:
            raise BadInput(f"{where}: expected a whole number as relevance, got {relevance}") from error
    return judged
