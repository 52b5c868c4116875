"""Answers for photos: ranks, status and wording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from data.records import Answer, Candidate, Identification, PhotoStatus, Reading, Taxon

JudgedRank = Literal["species", "genus", "family", "order"]
RANKS: Final[tuple[JudgedRank, ...]] = ("species", "genus", "family", "order")
Lineage = Mapping[str, str]
"""Rank -> name for one species, with `genus`, `family` and `order` if known."""
UNKNOWN_FROM: Final = 0.5
"""Above this chance, a species is called unknown."""
MOST_ALTERNATIVES: Final = 3
NO_BIRD: Final = "no bird"
"""Content of the column `shows` where the detector sees no bird and is sure of nothing else."""
_MIN_UNKNOWN_SHOWN: Final = 0.25  # smaller probabilities of an unknown species are not mentioned


def rank_of(taxon_rank: str) -> JudgedRank:
    """Return the rank at which an entry of a knowledge base can be named: its own, `species` for all below a genus."""
    return next((rank for rank in RANKS if rank == taxon_rank), "species")


def lineage_with_self(taxon: Taxon) -> Lineage:
    """Return the lineage of an entry; a genus or family is part of its own, so that its species share it."""
    rank = rank_of(taxon.rank)
    return taxon.lineage if rank == "species" else {**taxon.lineage, rank: taxon.scientific_name}


def status_of(answer: Answer) -> PhotoStatus:
    """Return the status of a photo with this answer."""
    if answer.p_unknown is not None and answer.p_unknown > UNKNOWN_FROM:
        return "unknown"
    return "not_sure" if answer.rank == "none" else "identified"


def answer_lines(row: Identification) -> list[str]:
    """Return the answer for a photo in lines of words: name, then confidence; more lines for an unknown species."""
    if row.status == "no_bird":
        return [f"No bird found.{seen_text(row)}"]
    answer = row.answer
    if is_reader_choice(row):
        if answer is None or answer.rank == "none":
            return ["None of the candidates, according to the reader"]
        return [f"{answer_name(answer)}, chosen by the reader"]
    if is_strange(row):
        lines = [f"Probably not in the knowledge base: unlike its reference photos.{seen_text(row)}"]
        return [*lines, "Closest matches:"] if row.candidates else lines
    if answer is None or (answer.rank == "none" and answer.p_unknown is None):
        return ["No matching species"]
    closest = " Closest matches:" if row.candidates and answer.rank == "none" else ""
    lines = []
    if status_of(answer) == "unknown" and answer.p_unknown is not None:
        lines.append(f"Probably not in the knowledge base ({percent(answer.p_unknown)}).{seen_text(row)}")
        if answer.looks_like:
            alike = both_names(answer.looks_like_common_name, answer.looks_like)
            lines.append(f"Looks like {alike}, which it does not hold.")
    if answer.rank != "none":
        sure = "best match" if answer.confidence is None else f"{percent(answer.confidence)} sure"
        lines.append(f"Of the {answer.rank} {answer.name}, {sure}" if lines else f"{answer_name(answer)}, {sure}")
    elif not lines:
        lines.append("Not sure.")
    if closest and lines[-1].startswith("Looks like"):  # a long line
        return [*lines, closest.strip()]
    return [*lines[:-1], f"{lines[-1]}{closest}"]


def unknown_text(row: Identification) -> str:
    """Return the chance that the species is not in the knowledge base, where the answer does not give it."""
    answer = row.answer
    if answer is None or answer.p_unknown is None or answer.p_unknown < _MIN_UNKNOWN_SHOWN:
        return ""
    if status_of(answer) == "unknown":
        return ""
    return f"{percent(answer.p_unknown)} chance that it is not in the knowledge base"


def alternative_texts(row: Identification) -> list[str]:
    """Return at most three candidates other than the answer, best first.

    With a percentage where there is a calibration, the most confident first, but not beside the choice of a reader.
    """
    answer = row.answer
    is_shared = not is_reader_choice(row)
    others = [each for each in row.candidates if answer is None or not is_answer(answer, each)]
    is_named = len(others) < len(row.candidates)
    if is_shared:
        others.sort(key=lambda each: -(each.confidence or 0))
    found = []
    for candidate in others[:MOST_ALTERNATIVES]:
        share = candidate.confidence if is_shared else None
        found.append(
            f"{'or ' if is_named else ''}{candidate_name(candidate)}{'' if share is None else f', {percent(share)}'}"
        )
    return found


def place_line(row: Identification) -> str:
    """Return what the place says of the first candidate; empty without a place, or with no candidate known to it."""
    if row.place_name is None or not any(candidate.range_text for candidate in row.candidates):
        return ""
    first = row.candidates[0]
    if first.range_text is None:
        return f"Place: nothing is known of {first.common_name} in {row.place_name}"
    return f"Place: {first.common_name} is {first.range_text} ({row.place_name})"


def answer_name(answer: Answer) -> str:
    """Return the names of an answer; a genus or family is marked as such."""
    if answer.rank == "species":
        return both_names(answer.common_name, answer.name)
    if answer.common_name and answer.common_name != answer.name:
        return f"Identified to {answer.rank}: {both_names(answer.common_name, group_name(answer.rank, answer.name))}"
    return f"Identified to {answer.rank}: {group_name(answer.rank, answer.name)}"


def group_name(rank: str, name: str) -> str:
    """Return the name of a genus, family or order for print: a genus stands for any of its species."""
    return f"{name} sp." if rank == "genus" else name


def candidate_name(candidate: Candidate) -> str:
    """Return the names of a candidate, with its rank if it is no species."""
    names = both_names(candidate.common_name, candidate.scientific_name)
    return names if candidate.taxon_rank == "species" else f"{candidate.taxon_rank} {names}"


def short_name(candidate: Candidate) -> str:
    """Return the English name of a candidate, else its scientific name."""
    return candidate.common_name or candidate.scientific_name


def is_answer(answer: Answer, candidate: Candidate) -> bool:
    """Return whether a candidate is the answer itself, not a species of a genus or family that is the answer."""
    return (answer.rank, answer.name) == (candidate.taxon_rank, candidate.scientific_name)


def seen_text(row: Identification) -> str:
    """Return a sentence on what the detector sees instead, after a space; empty if it is not sure."""
    if row.shows == NO_BIRD:
        return " The detector sees no bird: it may be another animal, or a thing."
    return f" The detector sees: {row.shows}." if row.shows else ""


def is_strange(row: Identification) -> bool:
    """Return whether a photo is unlike all of the knowledge base, without a probability of that."""
    return row.status == "unknown" and row.answer is not None and row.answer.p_unknown is None


def is_reader_choice(row: Identification) -> bool:
    """Return whether the answer is the choice of a reader."""
    is_unmeasured = row.answer is None or row.answer.confidence is None
    return row.reader is not None and bool(row.reader.agreement) and is_unmeasured


def both_names(common_name: str | None, scientific_name: str) -> str:
    """Return `Common name (Scientific name)`, or the scientific name alone."""
    if not common_name or common_name == scientific_name:
        return scientific_name
    return f"{common_name} ({scientific_name})"


def percent(probability: float) -> str:
    """Return a probability in whole percent; never 0 or 100."""
    whole = round(100 * probability)
    if whole >= 100:
        return "over 99 %"
    return f"{whole} %" if whole else "under 1 %"


def unanswered_text(reading: Reading) -> str:
    """Return the number of answered samples and the reasons of the others; empty if all were answered."""
    if reading.answered == reading.samples:
        return ""
    n_failed = len(reading.failures)
    n_unread = reading.samples - reading.answered - n_failed
    why = [f"{n_failed} failed: {failures_text(reading)}"] if n_failed else []
    why += [f"{n_unread} unreadable"] if n_unread else []
    samples = "sample" if reading.samples == 1 else "samples"
    return f"{reading.answered} of {reading.samples} {samples} answered ({'; '.join(why)})"


def failures_text(reading: Reading) -> str:
    """Return the reasons of failed samples, each once."""
    return "; ".join(" ".join(why.split()) for why in dict.fromkeys(reading.failures))
