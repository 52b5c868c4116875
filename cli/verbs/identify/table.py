"""Table of `kb identify`: the answer for a photo, its candidates with their scores, and the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cli.common.output import as_table, wrapped
from data.records import Candidate, Identification
from recognize.answer_text import answer_text, both_names, unanswered_text

# Stages of all presets in the order of table columns; docs/howto/identify.md defines them.
TABLE_STAGES = ("list", "text", "visual", "prototype", "text_part", "visual_part", "prototype_part")


def table_text(row: Identification, why: str) -> str:
    """Return the table of a photo; `why` follows it."""
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
    # In a narrow terminal the parts of the score go first.
    parts = [stage for stage in stages if stage.endswith("_part")]
    spare = [*(stage for stage in stages if stage not in parts), *parts]
    scores = as_table(columns, table, right=["#", *numbers], spare=spare)
    text = f"{row.image}\n  {answer_text(row)}{_without_list_text(row)}{_reader_text(row)}\n{scores}"
    return f"{text}\n{why}" if why else text


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
    unanswered = unanswered_text(reading)
    how = f"agreement {100 * reading.agreement:.0f} %{f', {unanswered}' if unanswered else ''}"
    return f"\n  Reader: {name}, {how}: {' '.join(reading.reason.split())}"


def evidence_text(row: Identification, explanation: str) -> str:
    """Return the evidence: summaries and reference photos of the first two candidates, and the explanation."""
    parts = []
    for candidate in row.candidates[:2]:
        parts.append(f"  {both_names(candidate.common_name, candidate.scientific_name)}")
        if candidate.summary:
            parts.append(wrapped(candidate.summary, indent="    "))
        parts += [
            f"    reference photo, similarity {anchor.similarity:.3f}: {anchor.credit or 'vector only, no photo'}"
            for anchor in candidate.anchors
        ]
    if explanation:
        parts.append(wrapped(explanation, indent="  "))
    return "\n".join(parts)
