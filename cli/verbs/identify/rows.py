"""Rows of `kb identify`: CSV and Parquet with a row per bird or candidate, JSONL with a line per bird, or tables.

A photo has a row for each of its birds; with one bird, or none, it has one.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Literal, get_args

from cli.common.delimited import csv_line, escape_formulas, unescape_formula
from cli.common.output import json_lines, printable
from cli.common.parquet import as_utf8
from cli.verbs.identify.table import table_text
from data.records import Answer, Candidate, Identification
from recognize.answer_text import failures_text, is_answer

Form = Literal["table", "csv", "jsonl", "parquet"]
Rows = Literal["photos", "candidates"]
FORMATS: tuple[Form, ...] = get_args(Form)

# Stages with a CSV column of their own; `--format jsonl` has every score of every preset.
STAGES = ("text", "visual")
COLUMNS: Mapping[str, str] = {
    **dict.fromkeys(("image", "status", "error"), "text"),
    **dict.fromkeys(("answer_scientific_name", "answer_common_name", "answer_rank", "answer_taxon_id"), "text"),
    **dict.fromkeys(("confidence", "p_unknown"), "number"),
    **dict.fromkeys(("family", "order", "box", "date"), "text"),
    **dict.fromkeys(("latitude", "longitude"), "number"),
    **dict.fromkeys(("kb", "preset", "calibration"), "text"),
    "seconds": "number",
    "answer_without_list": "text",
    "confidence_without_list": "number",
    "reader_choice": "text",
    **dict.fromkeys(("reader_agreement", "reader_margin"), "number"),
    "reader_reason": "text",
    **dict.fromkeys(("reader_samples", "reader_answered"), "integer"),
    "reader_failures": "text",
    "group": "text",
    "n_photos": "integer",
    **dict.fromkeys(("photos", "unreadable_photos"), "text"),
    **dict.fromkeys(("looks_like", "looks_like_common_name"), "text"),
    "bird": "integer",
    "shows": "text",
}
"""Column of CSV and Parquet with one row per photo -> text, integer or number; add new columns at the end."""
CANDIDATE_COLUMNS: Mapping[str, str] = {
    **COLUMNS,
    "rank": "integer",
    **dict.fromkeys(("taxon_id", "scientific_name", "common_name"), "text"),
    **dict.fromkeys(("candidate_confidence", "score", *(f"score_{stage}" for stage in STAGES)), "number"),
    **dict.fromkeys(("score_list", "score_without_list", "score_place"), "number"),
    "taxon_rank": "text",
}
"""The same with one row per candidate: the columns of its photo, then its own."""
_SEPARATOR = " | "  # of lists in a cell, as Darwin Core recommends
ANSWER_PARTS = ("confidence", "p_unknown", "family", "order", "looks_like", "looks_like_common_name")
_LINE_ENDS = re.compile(r"\r\n?|\n")
# Lone surrogates in replies of models; bytes of file names use another range.
_LONE_SURROGATES = re.compile("[\ud800-\udc7f\udd00-\udfff]")


def columns_of(per: Rows) -> Mapping[str, str]:
    """Return column -> type of CSV and Parquet."""
    return COLUMNS if per == "photos" else CANDIDATE_COLUMNS


def header(form: Form, per: Rows = "photos") -> str:
    """Return the header line of a format; empty for a format without one."""
    return _csv_line(columns_of(per)) if form == "csv" else ""


def lines(form: Form, row: Identification, *, per: Rows = "photos", with_scores: bool = False, why: str = "") -> str:
    """Return the rows of one photo, each with its line end; scores and `why` are for tables."""
    if form == "jsonl":
        text = json_lines([row])
    elif form == "csv":
        text = "".join(_csv_line(record.values()) for record in _records(row, per))
    elif form == "parquet":
        text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in _records(row, per))
    else:
        text = printable(table_text(row, why, with_scores=with_scores)) + "\n\n"
    return _LONE_SURROGATES.sub("\ufffd", text)


def by_photo(rows: Iterable[Identification]) -> Iterator[list[Identification]]:
    """Yield the rows of each photo together, one for each of its birds."""
    birds: list[Identification] = []
    for row in rows:
        birds.append(row)
        if len(birds) == row.n_birds:
            yield birds
            birds = []


def n_keys() -> int:
    """Return the number of keys of a line of JSONL and of its answer and candidates."""
    return sum(len(fields(record)) for record in (Identification, Answer, Candidate))


def name_in_rows(form: Form, image: str) -> str:
    """Return the name of a photo as `image_of` reads it: a line of CSV has no line ends, Parquet only UTF-8."""
    if form == "parquet":
        return as_utf8(_LONE_SURROGATES.sub("\ufffd", image))
    return _LONE_SURROGATES.sub("\ufffd", image if form == "jsonl" else _LINE_ENDS.sub(" ", image))


def image_of(form: Form, line: str) -> str:
    """Return the photo of a row in a file.

    Raises:
        ValueError, KeyError, IndexError: if the row is truncated.
    """
    if form in {"jsonl", "parquet"}:
        image = str(json.loads(line)["image"])
        return as_utf8(image) if form == "parquet" else image
    return unescape_formula(next(csv.reader([line], strict=True))[0])


def _records(row: Identification, per: Rows) -> list[dict[str, object]]:
    """Return column -> value for the photo, or for each of its candidates; one record where there is none."""
    answer, without, read = row.answer, row.answer_without_list, row.reader
    record: dict[str, object] = dict.fromkeys(columns_of(per))
    names: tuple[str, ...] = ("image", "status", "error", "date", "kb", "preset", "calibration", "seconds")
    record |= {name: getattr(row, name) for name in (*names, "bird", "shows")}
    record["box"] = None if row.box is None else " ".join(f"{side:g}" for side in row.box)
    record["latitude"], record["longitude"] = row.place or (None, None)
    if answer is not None:
        record |= {"answer_scientific_name": answer.name or None, "answer_common_name": answer.common_name}
        record["answer_rank"] = answer.rank
        record |= {name: getattr(answer, name) for name in ANSWER_PARTS}
        record["answer_taxon_id"] = next((each.taxon_id for each in row.candidates if is_answer(answer, each)), None)
    if without is not None:
        record |= {"answer_without_list": without.name, "confidence_without_list": without.confidence}
    if read is not None:
        names = ("choice", "agreement", "margin", "reason", "samples", "answered")
        record |= {f"reader_{name}": getattr(read, name) for name in names}
        record["reader_failures"] = failures_text(read)
    if row.photos:
        record |= {"group": row.group, "n_photos": len(row.photos)}
        record["photos"] = _SEPARATOR.join(photo.image for photo in row.photos)
        record["unreadable_photos"] = _SEPARATOR.join(photo.image for photo in row.photos if photo.error) or None
    if per == "photos":
        return [record]
    candidates = [
        {
            "rank": rank,
            **{name: getattr(candidate, name) for name in ("taxon_id", "scientific_name", "common_name", "score")},
            "candidate_confidence": candidate.confidence,
            **{f"score_{stage}": candidate.scores.get(stage) for stage in (*STAGES, "list", "place")},
            "score_without_list": candidate.score_without_list,
            "taxon_rank": candidate.taxon_rank,
        }
        for rank, candidate in enumerate(row.candidates, 1)
    ]
    return [record | candidate for candidate in candidates] or [record]


def _csv_line(values: Iterable[object]) -> str:
    # A row is one line, whatever an error message holds: files of rows are cut at line ends.
    flat = (_LINE_ENDS.sub(" ", value) if isinstance(value, str) else value for value in values)
    return csv_line(escape_formulas(flat))
