"""Rows of `kb identify`: CSV and Parquet with one row per candidate, JSONL with one line per photo, or tables."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from cli.common.delimited import csv_line, escape_formulas, unescape_formula
from cli.common.output import json_lines, printable
from cli.verbs.identify.table import table_text
from data.records import Identification
from recognize.answer_text import failures_text

Form = Literal["table", "csv", "jsonl", "parquet"]
FORMATS: tuple[Form, ...] = get_args(Form)

# Stages with a CSV column of their own; `--format jsonl` has every score of every preset.
STAGES = ("text", "visual")
COLUMNS: Mapping[str, str] = {
    **dict.fromkeys(("image", "status", "error"), "text"),
    "rank": "integer",
    **dict.fromkeys(("taxon_id", "scientific_name", "common_name"), "text"),
    **dict.fromkeys(("score", *(f"score_{stage}" for stage in STAGES)), "number"),
    **dict.fromkeys(("answer_rank", "answer_name"), "text"),
    **dict.fromkeys(("confidence", "unknown"), "number"),
    **dict.fromkeys(("preset", "kb"), "text"),
    "seconds": "number",
    "date": "text",
    **dict.fromkeys(("latitude", "longitude", "score_list", "score_without_list"), "number"),
    "answer_without_list": "text",
    "confidence_without_list": "number",
    "reader_choice": "text",
    **dict.fromkeys(("reader_agreement", "reader_margin"), "number"),
    "reader_reason": "text",
    **dict.fromkeys(("reader_samples", "reader_answered"), "integer"),
    "reader_failures": "text",
}
"""Column of CSV and Parquet -> text, integer or number; add new columns at the end."""
CSV_COLUMNS = tuple(COLUMNS)
_LINE_ENDS = re.compile(r"\r\n?|\n")
# Lone surrogates in replies of models; bytes of file names use another range.
_LONE_SURROGATES = re.compile("[\ud800-\udc7f\udd00-\udfff]")


def header(form: Form) -> str:
    """Return the header line of a format; empty for a format without one."""
    return _csv_line(CSV_COLUMNS) if form == "csv" else ""


def lines(form: Form, row: Identification, *, with_scores: bool = False, why: str = "") -> str:
    """Return the rows of one photo, each with its line end; scores and `why` are for tables."""
    return _LONE_SURROGATES.sub("\ufffd", _lines(form, row, with_scores, why))


def _lines(form: Form, row: Identification, with_scores: bool, why: str) -> str:
    if form == "jsonl":
        return json_lines([row])
    if form == "csv":
        return "".join(_csv_line(record.values()) for record in _records(row))
    if form == "parquet":
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in _records(row))
    return printable(table_text(row, why, with_scores=with_scores)) + "\n\n"


def image_of(form: Form, line: str) -> str:
    """Return the photo of a row in a file.

    Raises:
        ValueError, KeyError, IndexError: if the row is truncated.
    """
    if form in {"jsonl", "parquet"}:
        return str(json.loads(line)["image"])
    return unescape_formula(next(csv.reader([line], strict=True))[0])


def _records(row: Identification) -> list[dict[str, object]]:
    """Return `COLUMNS` -> value for each candidate of a photo; one record where there is none."""
    answer, without, read = row.answer, row.answer_without_list, row.reader
    photo: dict[str, object] = dict.fromkeys(COLUMNS)
    photo |= {name: getattr(row, name) for name in ("image", "status", "error", "preset", "kb", "seconds", "date")}
    photo["latitude"], photo["longitude"] = row.place or (None, None)
    if answer is not None:
        photo |= {"answer_rank": answer.rank, "answer_name": answer.name}
        photo |= {"confidence": answer.confidence, "unknown": answer.unknown}
    if without is not None:
        photo |= {"answer_without_list": without.name, "confidence_without_list": without.confidence}
    if read is not None:
        names = ("choice", "agreement", "margin", "reason", "samples", "answered")
        photo |= {f"reader_{name}": getattr(read, name) for name in names}
        photo["reader_failures"] = failures_text(read)
    candidates = [
        {
            "rank": rank,
            **{name: getattr(candidate, name) for name in ("taxon_id", "scientific_name", "common_name", "score")},
            **{f"score_{stage}": candidate.scores.get(stage) for stage in (*STAGES, "list")},
            "score_without_list": candidate.score_without_list,
        }
        for rank, candidate in enumerate(row.candidates, 1)
    ]
    return [photo | candidate for candidate in candidates] or [photo]


def _csv_line(values: Iterable[object]) -> str:
    # A row is one line, whatever an error message holds: files of rows are cut at line ends.
    flat = (_LINE_ENDS.sub(" ", value) if isinstance(value, str) else value for value in values)
    return csv_line(escape_formulas(flat))
