"""Columns of identified photos: as in CSV and Parquet of `kb identify --columns all`, and as a pandas frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, Literal

from data.frames import frame_of
from data.records import Identification
from recognize.answers import candidate_name, failures_text, is_answer, message_of
from recognize.corrections import said_before

if TYPE_CHECKING:
    import pandas as pd

Rows = Literal["photos", "candidates"]
# Stages with a CSV column of their own; `--format jsonl` has every score of every preset.
STAGES: Final = ("text", "visual")
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
    **dict.fromkeys(("answer", "first_candidate", "second_candidate"), "text"),
    **dict.fromkeys(("first_confidence", "second_confidence"), "number"),
    "notes": "text",
    **dict.fromkeys(("answer_before", "corrected_by", "corrected_at"), "text"),
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
_SEPARATOR: Final = " | "  # of lists in a cell, as Darwin Core recommends
_ANSWER_PARTS = ("confidence", "p_unknown", "family", "order", "looks_like", "looks_like_common_name")


def to_frame(rows: Iterable[Identification], *, per: Rows = "photos") -> pd.DataFrame:
    """Return rows of `Recognizer.identify` as a frame with the columns of `kb identify --columns all`.

    It has a row for each bird of each photo, or with `per="candidates"` for each of its candidates; missing values are
    NA. The dtypes are those of `data.frames.DTYPES`.
    """
    columns = COLUMNS if per == "photos" else CANDIDATE_COLUMNS
    return frame_of((record for row in rows for record in records(row, per)), columns)


def records(row: Identification, per: Rows = "photos") -> list[dict[str, object]]:
    """Return column -> value of a row, or of each of its candidates: all `CANDIDATE_COLUMNS`, None for none."""
    answer, without, read = row.answer, row.answer_without_list, row.reader
    record: dict[str, object] = dict.fromkeys(CANDIDATE_COLUMNS)
    names: tuple[str, ...] = ("image", "status", "error", "date", "kb", "preset", "calibration", "seconds")
    record |= {name: getattr(row, name) for name in (*names, "shows")}
    record["bird"] = None if row.status == "no_bird" else row.bird
    record["box"] = None if row.box is None else " ".join(f"{side:g}" for side in row.box)
    record["latitude"], record["longitude"] = row.place or (None, None)
    if answer is not None:
        record |= {"answer_scientific_name": answer.name or None, "answer_common_name": answer.common_name}
        record["answer_rank"] = answer.rank
        record |= {name: getattr(answer, name) for name in _ANSWER_PARTS}
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
    if row.correction is not None:
        record |= {
            "answer_before": said_before(row),
            "corrected_by": row.correction.by,
            "corrected_at": row.correction.at,
        }
    message = None if row.status == "error" else message_of(row)
    record["notes"] = " ".join(row.notes if message is None else message.notes) or None
    record["answer"] = None if message is None else message.headline
    for name, candidate in zip(("first", "second"), row.candidates, strict=False):
        record |= {f"{name}_candidate": candidate_name(candidate), f"{name}_confidence": candidate.confidence}
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
