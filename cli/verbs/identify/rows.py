"""Output rows of `kb identify`: tables, CSV and Parquet (one row per candidate), JSONL (one line per photo)."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, cast, get_args

from cli.common.delimited import armed, disarmed
from cli.common.output import as_table, steady, wrapped
from data.records import Candidate, Identification
from recognize.answer_text import answer_text, both_names, failures_text, unanswered_text

Form = Literal["table", "csv", "jsonl", "parquet"]
FORMATS: tuple[Form, ...] = get_args(Form)

# Stages with a CSV column of their own; `--format jsonl` has every score of every preset.
STAGES = ("text", "visual")
# Stages of all presets in the order of table columns; docs/howto/identify.md defines them.
TABLE_STAGES = ("list", "text", "visual", "prototype", "text_part", "visual_part", "prototype_part")
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
_HALVES = re.compile("[\ud800-\udc7f\udd00-\udfff]")


def header(form: Form) -> str:
    """Return the header line of a format; empty for a format without one."""
    return _csv_line(CSV_COLUMNS) if form == "csv" else ""


def form_of(name: str) -> Form:
    """Return a value of `--format`, already checked by click, with its type."""
    return cast(Form, name)


def lines(form: Form, row: Identification, *, why: str = "") -> str:
    """Return the rows of one photo, each with its line end; `why` follows a table."""
    return _HALVES.sub("\ufffd", _lines(form, row, why))


def _lines(form: Form, row: Identification, why: str) -> str:
    if form == "jsonl":
        from data.codec import to_json

        return json.dumps(to_json(row), ensure_ascii=False) + "\n"
    if form == "csv":
        return "".join(map(_csv_line, _flat(row)))
    if form == "parquet":
        return "".join(
            json.dumps(dict(zip(CSV_COLUMNS, values, strict=True)), ensure_ascii=False) + "\n" for values in _flat(row)
        )
    return steady(_text(row, why)) + "\n\n"


def image_of(form: Form, line: str) -> str:
    """Return the photo of a row in a file.

    Raises:
        ValueError, KeyError, IndexError: if the row is truncated.
    """
    if form in {"jsonl", "parquet"}:
        return str(json.loads(line)["image"])
    return armed(next(csv.reader([line], strict=True))[0])


def _flat(row: Identification) -> list[tuple[object, ...]]:
    """Return the values of `COLUMNS` for each candidate of a photo; one row where there is none."""
    answer, without = row.answer, row.answer_without_list
    photo = (row.image, row.status, row.error)
    answered = (
        *((answer.rank, answer.name, answer.confidence, answer.unknown) if answer else (None,) * 4),
        *(row.preset, row.kb, row.seconds, row.date, *(row.place or (None, None))),
    )
    read = row.reader
    last = (
        *((without.name, without.confidence) if without else (None, None)),
        *((read.choice, read.agreement, read.margin, read.reason) if read else (None,) * 4),
        *((read.samples, read.answered, failures_text(read)) if read else (None,) * 3),
    )
    if not row.candidates:
        return [(*photo, *(None,) * (5 + len(STAGES)), *answered, None, None, *last)]
    return [
        (
            *photo,
            *(rank, candidate.taxon_id, candidate.scientific_name, candidate.common_name, candidate.score),
            *map(candidate.scores.get, STAGES),
            *answered,
            *(candidate.scores.get("list"), candidate.score_without_list),
            *last,
        )
        for rank, candidate in enumerate(row.candidates, 1)
    ]


def _csv_line(values: tuple[object, ...]) -> str:
    out = io.StringIO()
    # A row is one line, whatever an error message holds: files of rows are cut at line ends.
    flat = (_LINE_ENDS.sub(" ", value) if isinstance(value, str) else value for value in values)
    csv.writer(out, lineterminator="\n").writerow(disarmed(flat))
    return out.getvalue()


def _text(row: Identification, why: str) -> str:
    if row.status == "error":
        return f"{row.image}\n  Error: {row.error}"
    stages = _table_stages(row.candidates)
    has_list = row.species_list is not None
    numbers = ["score", *(["without list"] if has_list else []), *stages]
    columns = ["#", "common name", "scientific name", *numbers]
    table = [
        (
            *(rank, candidate.common_name, candidate.scientific_name, candidate.score),
            *([candidate.score_without_list] if has_list else []),
            *map(candidate.scores.get, stages),
        )
        for rank, candidate in enumerate(row.candidates, 1)
    ]
    scores = as_table(columns, table, right=["#", *numbers], spare=_spare(stages))
    shown = f"{row.image}\n  {answer_text(row)}{_without_list_text(row)}{_reader_text(row)}\n{scores}"
    return f"{shown}\n{why}" if why else shown


def _spare(stages: Sequence[str]) -> list[str]:
    """Return the columns to drop in a narrow terminal; the last ones go first."""
    parts = [stage for stage in stages if stage.endswith("_part")]
    return [*(stage for stage in stages if stage not in parts), *parts]


def _table_stages(candidates: Sequence[Candidate]) -> list[str]:
    """Return the score columns of a table: the stages, then each encoder whose scores differ from `text`.

    `text` is the mean over the text-image encoders, so a single encoder would repeat it.
    """
    given = {stage for candidate in candidates for stage in candidate.scores}
    encoders = sorted(given.difference(TABLE_STAGES))
    several = [name for name in encoders if any(c.scores.get(name) != c.scores.get("text") for c in candidates)]
    return [stage for stage in TABLE_STAGES if stage in given] + several


def _without_list_text(row: Identification) -> str:
    """Return the answer without the species list as a line; empty where there is no list.

    A reader's choice depends on candidates ranked with the list, so it is left out.
    """
    if row.answer_without_list is None:
        return ""
    return f"\n  Without the species list: {answer_text(replace(row, answer=row.answer_without_list, reader=None))}"


def _reader_text(row: Identification) -> str:
    """Return the reader's choice and reason as a line; empty without a reader."""
    reading = row.reader
    if reading is None:
        return ""
    name = next((c.common_name for c in row.candidates if c.taxon_id == reading.choice), "none of the candidates")
    if not reading.agreement:
        return f"\n  Reader: {reading.reason}"
    silent = unanswered_text(reading)
    how = f"agreement {100 * reading.agreement:.0f} %{f', {silent}' if silent else ''}"
    return f"\n  Reader: {name}, {how}: {' '.join(reading.reason.split())}"


def evidence_text(row: Identification, told_apart: str) -> str:
    """Return the evidence: summaries and reference photos of the first two candidates, and their differences."""
    parts = []
    for candidate in row.candidates[:2]:
        parts.append(f"  {both_names(candidate.common_name, candidate.scientific_name)}")
        if candidate.summary:
            parts.append(wrapped(candidate.summary, indent="    "))
        parts += [
            f"    reference photo, similarity {anchor.similarity:.3f}: {anchor.credit or 'vector only, no photo'}"
            for anchor in candidate.anchors
        ]
    if told_apart:
        parts.append(wrapped(told_apart, indent="  "))
    return "\n".join(parts)
