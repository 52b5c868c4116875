"""Table of `kb identify`: the answer for a photo, alternatives, scores and the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cli.common.output import as_table, first_few, wrapped
from data.records import Candidate, Identification
from data.words import plural
from recognize.answer_text import (
    alternative_texts,
    answer_lines,
    candidate_name,
    place_line,
    unanswered_text,
    unknown_text,
)

# Stages of all presets in the order of table columns; docs/howto/identify.md defines them.
TABLE_STAGES = ("list", "place", "text", "visual", "prototype", "text_part", "visual_part", "prototype_part")


def table_text(row: Identification, why: str, *, with_scores: bool = False) -> str:
    """Return the answer and alternatives of a photo, one a line, then scores if wanted; `why` follows."""
    if row.status == "error":
        return f"{_heading(row)}\n{wrapped(f'Error: {row.error}', indent='  ')}"
    unknown = unknown_text(row)
    lines = [
        _heading(row),
        *(wrapped(text, indent="  ") for text in answer_lines(row)),
        *(wrapped(text, indent="    ") for text in alternative_texts(row)),
        *([f"  {unknown}"] if unknown else []),
        *_without_list_lines(row),
        *_place_lines(row),
        *_reader_lines(row),
        *([_scores_text(row)] if with_scores and row.candidates else []),
        *([why] if why else []),
    ]
    return "\n".join(lines)


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
    return ["  Without the species list:", *(wrapped(text, indent="    ") for text in answer_lines(without))]


def _place_lines(row: Identification) -> list[str]:
    """Return the effect of the place, and the answer without it if that is another one."""
    text, without = place_line(row), row.answer_without_place
    lines = [wrapped(text, indent="  ")] if text else []
    if without is not None and row.answer is not None and without.name != row.answer.name:
        plain = replace(row, answer=without, candidates=(), reader=None)
        lines += ["  Without the place:", *(wrapped(each, indent="    ") for each in answer_lines(plain))]
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


def evidence_text(row: Identification, explanation: str) -> str:
    """Return the evidence: summaries and reference photos of the first two candidates, and the explanation."""
    parts = []
    for candidate in row.candidates[:2]:
        parts.append(f"  {candidate_name(candidate)}")
        if candidate.summary:
            parts.append(wrapped(candidate.summary, indent="    "))
        if candidate.range_sentence:
            parts.append(wrapped(f"range: {candidate.range_sentence}", indent="    "))
        parts += [
            wrapped(
                f"reference photo, similarity {anchor.similarity:.3f}: {anchor.credit or 'vector only, no photo'}",
                indent="    ",
            )
            for anchor in candidate.anchors
        ]
    if explanation:
        parts.append(wrapped(explanation, indent="  "))
    return "\n".join(parts)
