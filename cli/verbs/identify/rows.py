"""Identifications as rows: tables for people; csv, parquet (a row a candidate), jsonl (a line a photo) for programs."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, cast, get_args

from cli.common.delimited import armed, disarmed
from cli.common.output import as_table, plural, steady, wrapped, write_rows
from cli.verbs.identify.resume import Lack
from data.records import Answer, Candidate, Identification, Reading

Form = Literal["table", "csv", "jsonl", "parquet"]
FORMATS: tuple[Form, ...] = get_args(Form)

# The stages whose scores have a csv column of their own; `--format jsonl` has every score of every preset.
STAGES = ("text", "visual")
# The stages of all presets in the order in which a table shows them; docs/howto/identify.md says what they are.
TABLE_STAGES = ("list", "text", "visual", "prototype", "text_part", "visual_part", "prototype_part")
WORTH_SAYING = 0.25  # of the chance that a bird is not in the knowledge base
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
"""Column of csv and parquet -> text, integer or number; new ones come at the end."""
CSV_COLUMNS = tuple(COLUMNS)
_LINE_ENDS = re.compile(r"\r\n?|\n")
# Halves of characters, as replies of models may hold them. Those that stand for bytes of file names are others.
_HALVES = re.compile("[\ud800-\udc7f\udd00-\udfff]")


def header(form: Form) -> str:
    """Return the first line of a file of rows; empty for a format without one."""
    return _csv_line(CSV_COLUMNS) if form == "csv" else ""


def form_of(name: str) -> Form:
    """Return a choice of `--format`, which click has checked, as the type checker knows it."""
    return cast(Form, name)


def lines(form: Form, row: Identification, *, why: str = "") -> str:
    """Return the rows of one photo, each with its line end; a table is followed by `why`."""
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


class Printed:
    """Rows that go to stdout as they come; has the methods of `ResumableOutput`."""

    done: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    lacking: Mapping[str, Lack] = {}

    def __init__(self, form: Form) -> None:
        self._form = form

    def __enter__(self) -> Printed:
        write_rows(header(self._form))
        return self

    def __exit__(self, *_error: object) -> None:
        """Nothing is held open."""

    def add(self, image: str, rows: str, *, ok: bool, lacks: Lack = "") -> None:
        """Print the rows of one photo."""
        write_rows(rows)


def image_of(form: Form, line: str) -> str:
    """Return the photo that a row of a file belongs to.

    Raises:
        ValueError, KeyError, IndexError: if the row was cut off.
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
        return f"{row.image}\n  error: {row.error}"
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
    """Return which scores can be done without: what each stage gave to the sum goes first."""
    parts = [stage for stage in stages if stage.endswith("_part")]
    return [*(stage for stage in stages if stage not in parts), *parts]


def _table_stages(candidates: Sequence[Candidate]) -> list[str]:
    """Return the scores to show: the stages, then each encoder, but not one that says what `text` says already.

    `text` is the mean over the text-image encoders, so an only encoder would be the same column twice.
    """
    given = {stage for candidate in candidates for stage in candidate.scores}
    encoders = sorted(given.difference(TABLE_STAGES))
    several = [name for name in encoders if any(c.scores.get(name) != c.scores.get("text") for c in candidates)]
    return [stage for stage in TABLE_STAGES if stage in given] + several


def _without_list_text(row: Identification) -> str:
    """Return what the answer would be without the species list, on a line of its own; nothing where there is no list.

    A reader's choice rests on the candidates, which come with the list.
    """
    if row.answer_without_list is None:
        return ""
    return f"\n  without the list: {answer_text(replace(row, answer=row.answer_without_list, reader=None))}"


def _reader_text(row: Identification) -> str:
    """Return what the reader chose and why, on a line of its own; nothing where there was none."""
    reading = row.reader
    if reading is None:
        return ""
    name = next((c.common_name for c in row.candidates if c.taxon_id == reading.choice), "none of these")
    if not reading.agreement:
        return f"\n  reader: {reading.reason}"
    silent = unanswered_text(reading)
    how = f"agreement {reading.agreement:.2f}{f', {silent}' if silent else ''}"
    return f"\n  reader: {name}, {how}: {' '.join(reading.reason.split())}"


def unanswered_text(reading: Reading) -> str:
    """Return how many passes answered, and why the others did not; nothing where all did.

    Example:
        >>> why = "m@127.0.0.1: 503"
        >>> unanswered_text(Reading(choice="a", agreement=0.25, samples=4, answered=1, failures=(why, why)))
        '1 of 4 passes answered (2 failed: m@127.0.0.1: 503; 1 reply could not be read)'
    """
    if reading.answered == reading.samples:
        return ""
    n_failed = len(reading.failures)
    why = [f"{n_failed} failed: {failures_text(reading)}"] if n_failed else []
    n_unread = reading.samples - reading.answered - n_failed
    why += [f"{plural(n_unread, 'reply', 'replies')} could not be read"] if n_unread else []
    return f"{reading.answered} of {plural(reading.samples, 'pass', 'passes')} answered ({'; '.join(why)})"


def failures_text(reading: Reading) -> str:
    """Return why passes got no reply, each reason once."""
    return "; ".join(" ".join(why.split()) for why in dict.fromkeys(reading.failures))


def answer_text(row: Identification) -> str:
    """Return the answer in words, with how sure it is."""
    answer = row.answer
    is_read = row.reader is not None and row.reader.agreement and (answer is None or answer.confidence is None)
    if answer is None or answer.rank == "none":
        return "none of the candidates, by the reader" if is_read else _no_name(answer)
    if answer.rank == "species":
        name = _named(answer.common_name, answer.name)
    else:
        name = f"{answer.name} sp. (a genus)" if answer.rank == "genus" else f"{answer.name} (a {answer.rank})"
    if is_read:
        return f"{name}, by the reader"
    how_sure = "no calibrated confidence" if answer.confidence is None else _percent(answer.confidence)
    return f"{name}, {how_sure}{_doubt(answer)}"


def _no_name(answer: Answer | None) -> str:
    if answer is None or answer.unknown is None:
        return "not in this knowledge base"
    if answer.confidence is None:
        return f"cannot tell{_doubt(answer)}; the nearest are listed"
    return f"not in this knowledge base, {_percent(answer.confidence)}; the nearest are listed"


def _doubt(answer: Answer) -> str:
    """Return how likely the bird is not in the knowledge base, where that is worth a word."""
    if answer.unknown is None or answer.unknown < WORTH_SAYING:
        return ""
    return f" ({_percent(answer.unknown)} that it is not in this knowledge base)"


def _percent(chance: float) -> str:
    """Return a chance in whole percent; none is ever quite sure."""
    if chance >= 0.995:
        return "over 99 %"
    return "under 1 %" if chance < 0.005 else f"{chance:.0%}".replace("%", " %")


def _named(common_name: str | None, scientific_name: str) -> str:
    """Return both names; a species without an English one goes by its scientific name alone."""
    if not common_name or common_name == scientific_name:
        return scientific_name
    return f"{common_name} ({scientific_name})"


def evidence_text(row: Identification, told_apart: str) -> str:
    """Return why: the summaries and anchors of the first two candidates, and what told the first from the second."""
    parts = []
    for candidate in row.candidates[:2]:
        parts.append(f"  {_named(candidate.common_name, candidate.scientific_name)}")
        if candidate.summary:
            parts.append(wrapped(candidate.summary, indent="    "))
        parts += [
            f"    anchor {anchor.id[:12]}: {anchor.similarity:.3f}, {anchor.credit or 'a vector, no picture'}"
            for anchor in candidate.anchors
        ]
    if told_apart:
        parts.append(wrapped(told_apart, indent="  "))
    return "\n".join(parts)
