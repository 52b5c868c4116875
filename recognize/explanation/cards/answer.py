"""Head of a card: the answer, how sure it is, and caveats."""

from __future__ import annotations

from html import escape
from pathlib import Path

from data.records import Answer, Candidate, Identification, Reading
from recognize.answer_text import (
    both_names,
    group_name,
    is_reader_choice,
    is_strange,
    percent,
    place_line,
    seen_text,
    unanswered_text,
    unknown_text,
)
from recognize.confidence.answers import status_of
from recognize.confidence.calibration import ESTIMATED
from recognize.explanation.evidence import Explanation


def verdict(row: Identification) -> str:
    """Return the head of the page: the answer and its confidence."""
    if row.status == "error":
        error = escape((row.error or "").replace(row.image, Path(row.image).name))
        over = f"No answer for {escape(Path(row.image).name)}"
        return f"<p class=over>{over}</p><h1>Photo unreadable</h1><p class=note>{error}</p>"
    over, name, under = _named(row)
    scientific = f"<p class=sci>{escape(under)}</p>" if under else ""
    return f"<p class=over>{over}</p><h1>{escape(name)}</h1>{scientific}<div class=sure>{_how_sure(row)}</div>"


def headline(row: Identification) -> str:
    """Return the answer in a few words for the page title."""
    return "No answer" if row.status == "error" else _named(row)[1]


def notes(row: Identification, why: Explanation | None) -> str:
    """Return warnings, the answer without the species list, and the reader's choice with its reason."""
    parts = []
    if why is not None and why.is_anchor_of is not None:
        owner = next((c for c in row.candidates if c.taxon_id == why.is_anchor_of), None)
        of = f" of {escape(_common(owner))}" if owner else ""
        parts.append(
            f"<p class=note>This photo is a reference photo{of}, or looks the same as one. Its score says nothing "
            "about other photos.</p>"
        )
    before = row.answer_without_list
    if before is not None:
        sure = "" if before.confidence is None else f", {percent(before.confidence)}"
        parts.append(f"<p class=note>Without the species list: {escape(_short(before))}{sure}.</p>")
    if row.reader is not None:
        parts.append(_read(row.reader, row.candidates))
    return "".join(parts)


def _named(row: Identification) -> tuple[str, str, str]:
    """Return the line above the answer, the answer, and its scientific name where it differs."""
    if row.status == "no_bird":
        return "No species identified", "No bird found", ""
    answer = row.answer
    by_reader = row.reader is not None and bool(row.reader.agreement)
    if answer is None or answer.rank == "none":
        if by_reader:
            return "Chosen by the reader", "None of the candidates", ""
        if is_strange(row):
            return "No species identified", "Probably not in the knowledge base", ""
        if answer is None or answer.p_unknown is None:
            return "No answer", "No matching species", ""
        if status_of(answer) == "unknown":
            return "No species identified", "Probably not in the knowledge base", ""
        return "No species identified", "Not sure", ""
    if answer.rank == "species":
        over, name = "Species", answer.name
    else:
        over, name = f"Identified to {answer.rank}", group_name(answer.rank, answer.name)
    common = name if answer.common_name in (None, answer.name) else answer.common_name
    return f"{over}, chosen by the reader" if by_reader else over, common or name, name if common != name else ""


def _how_sure(row: Identification) -> str:
    if row.status == "no_bird":
        return f"<p>Neither the detector nor the comparison with known birds finds one.{escape(seen_text(row))}</p>"
    answer = row.answer
    if is_strange(row):
        return (
            f"<p>The photo is unlike all reference photos.{escape(seen_text(row))} The closest matches are listed.</p>"
        )
    if is_reader_choice(row):
        return "<p>Confidence not available: the accuracy of this reader was not measured.</p>"
    if answer is None or (answer.confidence is None and answer.p_unknown is None):
        return (
            "<p><strong>Confidence not available for this knowledge base.</strong> The answer is the best match among "
            "its species, even if the photo shows another one.</p>"
        )
    parts = []
    if answer.confidence is not None:
        share = percent(answer.confidence)
        meter = f'<div class=meter role=img aria-label="{share}"><i style="width:{answer.confidence:.0%}"></i></div>'
        if answer.rank == "none":
            meaning = "chance that this species is not in the knowledge base. The closest matches are listed."
        else:
            meaning = f"sure. In tests with this knowledge base, {share} of such answers were right."
            if row.calibration is None or row.calibration.startswith(ESTIMATED):
                meaning = "sure. Estimated for any knowledge base, not measured on this one."
            if row.species_list is not None:
                meaning = "sure, if the species list fits: computed with the list, not measured."
            elif row.place_name is not None:
                meaning = "sure: computed with the place of the photo, not measured."
        parts.append(f"<p><strong>{share}</strong> {meaning}</p>{meter}")
    else:
        parts.append("<p>No species, genus, family or order is certain enough. The closest matches are listed.</p>")
    if answer.rank != "none" and status_of(answer) == "unknown":
        parts.append(f"<p>Probably not in the knowledge base ({percent(answer.p_unknown or 0)}).</p>")
    if row.shows:
        parts.append(f"<p>{escape(seen_text(row).strip())}</p>")
    if answer.looks_like:
        alike = escape(both_names(answer.looks_like_common_name, answer.looks_like))
        parts.append(f"<p>Looks like {alike}, which the knowledge base does not hold.</p>")
    if place := place_line(row):
        parts.append(f"<p class=small>{escape(place)}.</p>")
    if unknown := unknown_text(row):
        parts.append(f"<p class=small>{unknown}.</p>")
    return "".join(parts)


def _read(reading: Reading, candidates: tuple[Candidate, ...]) -> str:
    reason = " ".join(reading.reason.split())
    if not reading.agreement:
        return f"<p class=note>The reader did not answer: {escape(reason)}</p>"
    chosen = next((each for each in candidates if each.taxon_id == reading.choice), None)
    name = "none of the candidates" if reading.choice is None else escape(_common(chosen) or reading.choice)
    share = "All" if reading.agreement == 1 else percent(reading.agreement)
    sure = f"{share} of its samples agree"
    if silent := unanswered_text(reading):
        sure += f"; {escape(silent)}"
    if reading.margin is not None:
        sure += f"; margin to the next label {reading.margin:.1f} nats"
    reason_html = f"<p>{escape(reason)}</p>" if reason else "<p class=small>No reason given.</p>"
    return f"<blockquote><p><b>The reader chose {name}</b></p>{reason_html}<p class=small>{sure}</p></blockquote>"


def _common(candidate: Candidate | None) -> str:
    return "" if candidate is None else candidate.common_name or candidate.scientific_name


def _short(answer: Answer) -> str:
    if answer.rank == "none":
        return "not sure" if answer.p_unknown is not None and answer.confidence is None else "not in the knowledge base"
    return answer.common_name or group_name(answer.rank, answer.name)
