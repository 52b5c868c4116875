"""Wording of answers: name, confidence, reader."""

from __future__ import annotations

from typing import Final

from data.records import Answer, Identification, Reading

_MIN_UNKNOWN_SHOWN: Final = 0.25  # smaller probabilities of an unknown species are not mentioned


def answer_text(row: Identification) -> str:
    """Return the answer for a photo in words: name, then confidence.

    Example:
        >>> answer = Answer(rank="none", name="", confidence=0.52, unknown=0.52)
        >>> answer_text(Identification(image="a.jpg", answer=answer))
        'Probably not in the knowledge base (52 %).'
    """
    answer = row.answer
    closest = " Closest matches:" if row.candidates else ""
    if answer is None or answer.rank == "none":
        if is_reader_choice(row):
            return "None of the candidates, according to the reader"
        if answer is None or answer.unknown is None:
            return "No matching species"
        if answer.confidence is None:
            unknown = f" {percent(answer.unknown)} chance that this species is not in the knowledge base."
            return f"Not sure.{unknown if answer.unknown >= _MIN_UNKNOWN_SHOWN else ''}{closest}"
        return f"Probably not in the knowledge base ({percent(answer.confidence)}).{closest}"
    name = answer_name(answer)
    if is_reader_choice(row):
        return f"{name}, chosen by the reader"
    if answer.confidence is None:
        return f"{name}. Confidence not available for this knowledge base"
    sure = f"{name}, {percent(answer.confidence)} sure"
    if answer.unknown is None or answer.unknown < _MIN_UNKNOWN_SHOWN:
        return sure
    return f"{sure}; {percent(answer.unknown)} chance of a species outside the knowledge base"


def answer_name(answer: Answer) -> str:
    """Return the names of an answer; a genus or family is marked as such.

    Example:
        >>> answer_name(Answer(rank="genus", name="Larus")), answer_name(Answer(rank="family", name="Laridae"))
        ('Identified to genus: Larus sp.', 'Identified to family: Laridae')
    """
    if answer.rank == "species":
        return both_names(answer.common_name, answer.name)
    return f"Identified to {answer.rank}: {answer.name}{' sp.' if answer.rank == 'genus' else ''}"


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
    """Return a probability in whole percent; never 0 or 100.

    Example:
        >>> percent(0.483), percent(0.999), percent(0.001)
        ('48 %', 'over 99 %', 'under 1 %')
    """
    if probability >= 0.995:
        return "over 99 %"
    return "under 1 %" if probability < 0.005 else f"{probability:.0%}".replace("%", " %")


def unanswered_text(reading: Reading) -> str:
    """Return the number of answered samples and the reasons of the others; empty if all were answered.

    Example:
        >>> why = "m@127.0.0.1: 503"
        >>> unanswered_text(Reading(choice="a", agreement=0.25, samples=4, answered=1, failures=(why, why)))
        '1 of 4 samples answered (2 failed: m@127.0.0.1: 503; 1 unreadable)'
    """
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
