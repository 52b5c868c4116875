"""Rows of `kb identify`: CSV and Parquet with a row per bird or candidate, JSONL with a line per bird, or tables."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Literal

from cli.common.output import as_table, first_few, json_lines, printable, wrapped
from cli.verbs.identify_formats import FORMATS, Form
from data.frames import escape_formula
from data.records import Answer, Candidate, EncounterPhoto, Identification
from data.words import plural
from recognize.answers import (
    NO_PHOTOS,
    candidate_name,
    message_of,
    place_line,
    unanswered_text,
)
from recognize.columns import CANDIDATE_COLUMNS, COLUMNS, Rows, records

_LINE_ENDS = re.compile(r"\r\n?|\n")
# Lone surrogates in replies of models; bytes of file names use another range.
_LONE_SURROGATES = re.compile("[\ud800-\udc7f\udd00-\udfff]")


LEAN_COLUMNS: Mapping[str, str] = {
    name: COLUMNS[name]
    for name in (
        "image", "status", "answer", "confidence", "answer_rank", "answer_scientific_name", "answer_common_name",
        "first_candidate", "second_candidate", "first_confidence", "second_confidence", "bird", "error",
        "notes", "answer_before",
    )
}  # fmt: skip
"""The columns of one row per photo by default: `answer` is the message of the table, candidates have both names."""
LEAN_CANDIDATE_COLUMNS = ("image", "bird", "status", "rank", *list(CANDIDATE_COLUMNS)[len(COLUMNS) + 1 :][:5], "error")
"""The same with one row per candidate."""
Columns = Literal["lean", "all"]


def columns_of(per: Rows, columns: Columns = "all") -> Mapping[str, str]:
    """Return column -> type of CSV and Parquet."""
    if columns == "lean":
        lean = {name: CANDIDATE_COLUMNS[name] for name in LEAN_CANDIDATE_COLUMNS}
        return LEAN_COLUMNS if per == "photos" else lean
    return COLUMNS if per == "photos" else CANDIDATE_COLUMNS


def header(form: Form, per: Rows = "photos", columns: Columns = "all", *, excel: bool = False) -> str:
    """Return the header line of a format, for Excel with a byte-order mark; empty for a format without one."""
    return ("\ufeff" if excel else "") + _csv_line(columns_of(per, columns)) if form == "csv" else ""


def lines(
    form: Form, row: Identification, *, per: Rows = "photos", columns: Columns = "all", with_scores: bool = False,
    why: str = "",
) -> str:  # fmt: skip
    """Return the rows of one photo, each with its line end; scores and `why` are for tables.

    Those of a document are JSON lines, of which it is made.
    """
    if FORMATS[form].document:
        slim = tuple(replace(each, summary=None, anchors=(), scores={}) for each in row.candidates)
        text = json_lines([replace(row, candidates=slim)])  # all rows of a run are in memory in the end
    elif form == "jsonl":
        text = json_lines([row])
    elif form == "csv":
        text = "".join(_csv_line(record.values()) for record in _records(row, per, columns))
    elif form == "parquet":
        text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in _records(row, per, columns))
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
    """Return the number of keys of a line of JSONL and of its answer, candidates and photos."""
    return sum(len(fields(record)) for record in (Identification, Answer, Candidate, EncounterPhoto))


def _records(row: Identification, per: Rows, columns: Columns) -> list[dict[str, object]]:
    """Return column -> value for the photo, or for each of its candidates; one record where there is none."""
    wanted = columns_of(per, columns)
    return [{name: record[name] for name in wanted} for record in records(row, per)]


def _csv_line(values: Iterable[object]) -> str:
    # A row is one line, whatever an error message holds: files of rows are cut at line ends.
    flat = (_LINE_ENDS.sub(" ", value) if isinstance(value, str) else value for value in values)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(map(escape_formula, flat))
    return out.getvalue()


# Stages of all presets in the order of table columns; docs/howto/identify.md defines them.
TABLE_STAGES = ("list", "place", "text", "visual", "prototype", "text_part", "visual_part", "prototype_part")


def table_text(row: Identification, why: str, *, with_scores: bool = False) -> str:
    """Return the answer and alternatives of a photo, one a line, then scores if wanted; `why` follows."""
    if row.status == "error":
        return f"{_heading(row)}\n{wrapped(f'Error: {row.error}', indent='  ')}"
    lines = [
        _heading(row),
        *_indented(message_of(row).lines, "  "),
        *_without_list_lines(row),
        *_place_lines(row),
        *_reader_lines(row),
        *([_scores_text(row)] if with_scores and row.candidates else []),
        *([why] if why else []),
    ]
    return "\n".join(lines)


def _indented(lines: Iterable[str], indent: str) -> Iterator[str]:
    """Yield lines with a further indent, wrapped to the terminal."""
    for line in lines:
        text = line.lstrip()
        yield wrapped(text, indent=indent + " " * (len(line) - len(text)))


def _heading(row: Identification) -> str:
    """Return the photo, or the name of the encounter and its photos."""
    if not row.photos:
        return row.image + (f", bird {row.bird} of {row.n_birds}" if row.n_birds > 1 else "")
    lines = [row.group or row.image]
    for text, photos in (
        ("photo", [photo.image for photo in row.photos if not photo.error]),
        ("unreadable photo", [photo.error for photo in row.photos if photo.error]),
    ):
        if photos and (len(row.photos) > 1 or row.group):
            lines.append(wrapped(f"{plural(len(photos), text)}: {first_few(photos)}", indent="  "))
    return "\n".join(lines)


def _scores_text(row: Identification) -> str:
    """Return the candidates with their score and its stages."""
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
    # In a narrow terminal the parts of the score go first.
    parts = [stage for stage in stages if stage.endswith("_part")]
    spare = [*(stage for stage in stages if stage not in parts), *parts]
    return as_table(columns, table, right=["#", *numbers], spare=spare)


def _table_stages(candidates: Sequence[Candidate]) -> list[str]:
    """Return the score columns of a table: the stages, then each encoder whose scores differ from `text`.

    `text` is the mean over the text-image encoders, so a single encoder would repeat it.
    """
    given = {stage for candidate in candidates for stage in candidate.scores}
    encoders = sorted(given.difference(TABLE_STAGES))
    several = [name for name in encoders if any(c.scores.get(name) != c.scores.get("text") for c in candidates)]
    return [stage for stage in TABLE_STAGES if stage in given] + several


def _without_list_lines(row: Identification) -> list[str]:
    """Return the answer without the species list; empty where there is no list.

    A reader's choice depends on candidates ranked with the list, so it is left out.
    """
    if row.answer_without_list is None:
        return []
    without = replace(row, answer=row.answer_without_list, candidates=(), reader=None)
    return ["  Without the species list:", *_indented(message_of(without).lines, "    ")]


def _place_lines(row: Identification) -> list[str]:
    """Return the effect of the place, and the answer without it if that is another one."""
    text, without = place_line(row), row.answer_without_place
    lines = [wrapped(text, indent="  ")] if text else []
    if without is not None and row.answer is not None and without.name != row.answer.name:
        plain = replace(row, answer=without, candidates=(), reader=None)
        lines += ["  Without the place:", *_indented(message_of(plain).lines, "    ")]
    return lines


def _reader_lines(row: Identification) -> list[str]:
    """Return the reader's choice and reason; empty without a reader."""
    reading = row.reader
    if reading is None:
        return []
    name = next((c.common_name for c in row.candidates if c.taxon_id == reading.choice), "none of the candidates")
    if not reading.agreement:
        return [wrapped(f"Reader: {reading.reason}", indent="  ")]
    unanswered = unanswered_text(reading)
    how = f"agreement {100 * reading.agreement:.0f} %{f', {unanswered}' if unanswered else ''}"
    reason = " ".join(reading.reason.split())
    return [wrapped(f"Reader: {name}, {how}{f': {reason}' if reason else ''}", indent="  ")]


def evidence_text(row: Identification, explanation: str, photos_command: str = "") -> str:
    """Return the evidence: summaries and reference photos of the first two candidates, and the explanation.

    `photos_command` gets photos and texts where there are no photos.
    """
    parts = []
    for candidate in row.candidates[:2]:
        parts.append(f"  {candidate_name(candidate)}")
        if candidate.summary:
            parts.append(wrapped(candidate.summary, indent="    "))
        parts += [
            wrapped(f"reference photo, similarity {anchor.similarity:.3f}: {anchor.credit}", indent="    ")
            for anchor in candidate.anchors
            if anchor.credit
        ]
    if explanation:
        parts.append(wrapped(explanation, indent="  "))
    if photos_command:
        parts.append(f"  {NO_PHOTOS}\n    {photos_command}")
    return "\n".join(parts)
