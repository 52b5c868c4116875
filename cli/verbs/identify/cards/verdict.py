"""The head of a card: the answer, how sure it is, and what a reader must be told before believing it."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from cli.verbs.identify.rows import unanswered_text
from data.records import Answer, Candidate, Identification, Reading

if TYPE_CHECKING:
    from recognize.explanation.evidence import Explanation

WORTH_SAYING = 0.1  # of the chance that a bird is not in the knowledge base


def verdict(row: Identification) -> str:
    """Return the answer with its confidence, as the head of the page."""
    if row.status == "error":
        said = escape((row.error or "").replace(row.image, Path(row.image).name))
        over = f"No answer for {escape(Path(row.image).name)}"
        return f"<p class=over>{over}</p><h1>This photo could not be read</h1><p class=note>{said}</p>"
    over, name, under = _named(row)
    scientific = f"<p class=sci>{escape(under)}</p>" if under else ""
    return f"<p class=over>{over}</p><h1>{escape(name)}</h1>{scientific}<div class=sure>{_how_sure(row)}</div>"


def headline(row: Identification) -> str:
    """Return the answer in a few words, for the title of the page."""
    return "no answer" if row.status == "error" else _named(row)[1]


def notes(row: Identification, why: Explanation | None) -> str:
    """Return warnings, what the species list did, and the reader's choice with its reason."""
    parts = []
    if why is not None and why.is_anchor_of is not None:
        owner = next((c for c in row.candidates if c.taxon_id == why.is_anchor_of), None)
        of = f" of {escape(_common(owner))}" if owner else ""
        parts.append(
            f"<p class=note>This photo is itself an anchor{of}, or looks the same as one: it was looked up, not "
            "recognised, and says nothing of how well other photos are named.</p>"
        )
    before = row.answer_without_list
    if before is not None:
        sure = "" if before.confidence is None else f", {_percent(before.confidence)}"
        parts.append(f"<p class=note>Without the species list: {escape(_short(before))}{sure}.</p>")
    if row.reader is not None:
        parts.append(_read(row.reader, row.candidates))
    return "".join(parts)


def _named(row: Identification) -> tuple[str, str, str]:
    """Return the line over the answer, the answer, and its scientific name where that is another."""
    answer = row.answer
    by_reader = row.reader is not None and bool(row.reader.agreement)
    if answer is None or answer.rank == "none":
        if by_reader:
            return "By the reader", "None of the candidates", ""
        if answer is None or answer.unknown is None or answer.confidence is not None:
            return "No species named", "Not in this knowledge base", ""
        return "No species named", "Cannot be told", ""
    if answer.rank == "species":
        over = "Species, chosen by the reader" if by_reader else "Species"
        common = answer.common_name or answer.name
        return over, common, answer.name if common != answer.name else ""
    name = f"{answer.name} sp." if answer.rank == "genus" else answer.name
    return f"No species is sure enough: its {answer.rank}", name, ""


def _how_sure(row: Identification) -> str:
    answer = row.answer
    if row.reader is not None and row.reader.agreement and (answer is None or answer.confidence is None):
        return "<p>How often such a reader is right was not measured here: no confidence.</p>"
    if answer is None or (answer.confidence is None and answer.unknown is None):
        return (
            "<p><strong>No measured confidence.</strong> The first is the best match among the species of this "
            "knowledge base; a bird that is not in it is named all the same.</p>"
        )
    parts = []
    if answer.confidence is not None:
        share = _percent(answer.confidence)
        meter = f'<div class=meter role=img aria-label="{share}"><i style="width:{answer.confidence:.0%}"></i></div>'
        if answer.rank == "none":
            said = "likely that none of its species is shown. The nearest are listed."
        else:
            said = f"sure. When measured, {share} of such answers were right, of birds in the knowledge base."
            if row.species_list is not None:
                said = "sure, if the species list holds: computed with it, not measured."
        parts.append(f"<p><strong>{share}</strong> {said}</p>{meter}")
    else:
        parts.append("<p>Neither species nor genus nor family is sure enough. The nearest are listed.</p>")
    if answer.rank != "none" and answer.unknown is not None and answer.unknown >= WORTH_SAYING:
        unknown = _percent(answer.unknown)
        parts.append(f"<p class=small>{unknown} likely that the bird is none of this knowledge base.</p>")
    return "".join(parts)


def _read(reading: Reading, candidates: tuple[Candidate, ...]) -> str:
    reason = " ".join(reading.reason.split())
    if not reading.agreement:
        return f"<p class=note>The reader gave no answer: {escape(reason)}</p>"
    chosen = next((each for each in candidates if each.taxon_id == reading.choice), None)
    name = "none of the candidates" if reading.choice is None else escape(_common(chosen) or reading.choice)
    share = "All" if reading.agreement == 1 else _percent(reading.agreement)
    sure = f"{share} of its readings chose so"
    if silent := unanswered_text(reading):
        sure += f"; {escape(silent)}"
    if reading.margin is not None:
        sure += f"; its label was {reading.margin:.1f} nats likelier than the next"
    said = f"<p>{escape(reason)}</p>" if reason else "<p class=small>It gave no reason.</p>"
    return f"<blockquote><p><b>The reader chose {name}</b></p>{said}<p class=small>{sure}</p></blockquote>"


def _common(candidate: Candidate | None) -> str:
    return "" if candidate is None else candidate.common_name or candidate.scientific_name


def _short(answer: Answer) -> str:
    if answer.rank == "none":
        return (
            "cannot be told"
            if answer.unknown is not None and answer.confidence is None
            else "not in this knowledge base"
        )
    return f"{answer.name} sp." if answer.rank == "genus" else answer.common_name or answer.name


def _percent(chance: float) -> str:
    """Return a chance in whole percent; none is ever quite sure."""
    if chance >= 0.995:
        return "over 99 %"
    return "under 1 %" if chance < 0.005 else f"{chance:.0%}".replace("%", " %")
