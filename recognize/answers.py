"""Answers for photos: ranks, status and wording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from data.lexicon.words import english_group
from data.records import Answer, Candidate, Correction, Identification, PhotoStatus, Reading, Taxon
from recognize.settings import UNKNOWN_PRIOR

JudgedRank = Literal["species", "genus", "family", "order"]
RANKS: Final[tuple[JudgedRank, ...]] = ("species", "genus", "family", "order")
Lineage = Mapping[str, str]
"""Rank -> name for one species, with `genus`, `family` and `order` if known."""
UNKNOWN_FROM: Final = 0.6
"""Above this chance, and after a good look, a species is called unknown."""
MOST_ALTERNATIVES: Final = 3
NO_BIRD: Final = "no bird"
"""Content of the column `shows` where the detector sees no bird and is sure of nothing else."""
BLANK: Final = "blank"
"""The same where MegaDetector saw no animal."""
PLAIN_FROM: Final = 0.9
"""From this confidence on, a species is named without "probably"."""
_WITHOUT_NAME: Final = {"no_bird": "No bird", "unknown": "Unknown bird"}
ABSENT: Final = "Probably not in the knowledge base"
NO_PHOTOS: Final = "The knowledge base has no photos of these species to show. This command gets photos and texts:"
_ODDS: Final = UNKNOWN_FROM / (1 - UNKNOWN_FROM)
_LEAST_UNKNOWN: Final = 0.05  # smaller chances of an unknown species are not mentioned


def rank_of(taxon_rank: str) -> JudgedRank:
    """Return the rank at which an entry of a knowledge base can be named: its own, `species` for all below a genus."""
    return next((rank for rank in RANKS if rank == taxon_rank), "species")


def lineage_with_self(taxon: Taxon) -> Lineage:
    """Return the lineage of an entry; a genus or family is part of its own, so that its species share it."""
    rank = rank_of(taxon.rank)
    return taxon.lineage if rank == "species" else {**taxon.lineage, rank: taxon.scientific_name}


def status_of(answer: Answer) -> PhotoStatus:
    """Return the status of a photo with this answer: named, unknown with a confidence of that, or not sure."""
    if answer.rank != "none":
        return "identified"
    return "not_sure" if answer.confidence is None else "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """The answer for a photo in words, the same in table, card and CSV, in this order."""

    name: str
    """Common name of the answer, else its scientific one, or the reason that there is none."""
    scientific: str = ""
    """Scientific name, where `name` is another one."""
    sure: str = ""
    """Confidence."""
    closest: tuple[str, ...] = ()
    """Other candidates, beside a named one also a species outside the knowledge base; the most confident first."""
    notes: tuple[str, ...] = ()
    """Sentences on the answer."""

    @property
    def headline(self) -> str:
        """Both names."""
        return f"{self.name} ({self.scientific})" if self.scientific else self.name

    @property
    def lines(self) -> list[str]:
        """The whole message in lines; those of candidates are indented."""
        first = f"{self.headline}, {self.sure}" if self.sure else self.headline
        is_list = any(not text.startswith("or ") for text in self.closest)
        return [
            f"{first}. Closest matches:" if is_list else first,
            *(f"  {text}" for text in self.closest),
            *self.notes,
        ]


def message_of(row: Identification) -> Message:
    """Return the answer for a photo in words, with the notes on its file last."""
    message = _message(row)
    return replace(message, notes=(*message.notes, *row.notes))


def _message(row: Identification) -> Message:
    answer = row.answer
    if row.status == "error":
        return Message(name="Photo unreadable", notes=(row.error or "",))
    if row.correction is not None:
        return _by_a_person(row, row.correction)
    if row.status == "no_bird" and row.shows == BLANK:
        return Message(name="Blank", notes=("MegaDetector saw no animal.",))
    if row.status == "no_bird":
        return Message(name="No bird found", notes=_seen(row))
    if is_reader_choice(row):
        if answer is None or answer.rank == "none":
            return Message(name="None of the candidates", sure="chosen by the reader", closest=_closest(row))
        return _named(answer, "chosen by the reader", row)
    if is_strange(row):
        notes = ("It is unlike all reference photos.", *_seen(row))
        return Message(name=ABSENT, closest=_closest(row), notes=notes)
    if answer is None or (answer.rank == "none" and answer.p_unknown is None):
        return Message(name="No matching species", closest=_closest(row))
    if answer.rank != "none":
        sure = "best match" if answer.confidence is None else f"{percent(answer.confidence)} sure"
        return _named(answer, sure, row)
    if status_of(answer) == "not_sure":
        return Message(name="Not sure", sure=_outside(row), closest=_closest(row), notes=_alone(row))
    notes = _seen(row)
    if answer.looks_like:
        alike = both_names(answer.looks_like_common_name, answer.looks_like)
        notes = (*notes, f"It looks like {alike}, which the knowledge base does not hold.")
    elif group := _common_group(row):
        notes = (*notes, f"The closest matches are all {group}.")
    return Message(
        name=ABSENT, sure=f"{percent(answer.p_unknown or 0)} sure", closest=_closest(row), notes=(*notes, *_alone(row))
    )


def _by_a_person(row: Identification, correction: Correction) -> Message:
    """Return the message of a confirmed or corrected answer, with the one before if it differs."""
    answer, before = row.answer or Answer(rank="none", name=""), correction.answer
    name, scientific = answer_names(answer) if answer.rank != "none" else (_WITHOUT_NAME[row.status], "")
    is_same = correction.status == row.status and (before is None or before.name == answer.name or not answer.name)
    by = f" by {correction.by}" if correction.by else ""
    said = "" if is_same else _message(replace(row, status=correction.status, answer=before, correction=None)).lines[0]
    notes = (f"Before: {said}.",) if said else ()
    return Message(name=name, scientific=scientific, sure=f"{'confirmed' if is_same else 'corrected'}{by}", notes=notes)


def _named(answer: Answer, sure: str, row: Identification) -> Message:
    """Return the message of an answer with a name."""
    name, scientific = answer_names(answer)
    if answer.rank == "species" and answer.confidence is not None and answer.confidence < PLAIN_FROM:
        name = f"Probably {name}"
    outside = "" if answer.rank == "species" or is_reader_choice(row) else _outside(row)
    notes = (*([f"{outside}."] if outside else []), *_alone(row))
    return Message(name=name, scientific=scientific, sure=sure, closest=_closest(row), notes=notes)


def _outside(row: Identification) -> str:
    """Return the chance of a species outside the knowledge base; empty without candidates, or if it is small."""
    unknown = None if row.answer is None else row.answer.p_unknown
    if unknown is None or unknown < _LEAST_UNKNOWN or not row.candidates:
        return ""
    return f"{percent(unknown)} chance that the species is not in the knowledge base"


def answer_names(answer: Answer) -> tuple[str, str]:
    """Return the name of an answer and, where it is another one, its scientific name.

    A group stands for one of its species: `One of the tanagers`, `Thraupidae`.
    """
    english = answer.common_name if answer.common_name != answer.name else None
    if answer.rank == "species":
        return (english, answer.name) if english else (answer.name, "")
    if answer.rank == "genus":
        group = english_group(answer.family, answer.order)
        return f"One of the genus {answer.name}", english or group or ""
    english = english or english_group(
        *((None, answer.name) if answer.rank == "order" else (answer.name, answer.order))
    )
    return (f"One of the {english}", answer.name) if english else (f"One of the {answer.rank} {answer.name}", "")


def _closest(row: Identification) -> tuple[str, ...]:
    """Return at most three candidates other than the answer; beside a named one also a species outside.

    With a percentage where there is a calibration, the most confident first, but not beside the choice of a reader.
    """
    answer, is_shared = row.answer, not is_reader_choice(row)
    others = [each for each in row.candidates if answer is None or not is_answer(answer, each)]
    shares = [(each.confidence if is_shared else None, candidate_name(each)) for each in others[:MOST_ALTERNATIVES]]
    unknown = answer.p_unknown if answer is not None and is_shared else None
    is_named = len(others) < len(row.candidates)
    if unknown is not None and unknown >= _LEAST_UNKNOWN and is_named and shares:
        shares.append((unknown, "a species outside the knowledge base"))
        shares.sort(key=lambda pair: -(pair[0] or 0))
    return tuple(
        f"{'or ' if is_named else ''}{name}{'' if share is None else f', {percent(share)}'}" for share, name in shares
    )


def _common_group(row: Identification) -> str:
    """Return the family, else the order, of all closest matches, with its English name; empty if they differ."""
    for rank in ("family", "order"):
        names = {getattr(each, rank) for each in row.candidates}
        if len(row.candidates) > 1 and len(names) == 1 and (name := names.pop()):
            english = english_group(name) if rank == "family" else english_group(None, name)
            return f"{english} ({name})" if english else f"of the {rank} {name}"
    return ""


def _alone(row: Identification) -> tuple[str, ...]:
    """Return a sentence if the share of unknown species in the run turned the answer for this photo."""
    answer, prior = row.answer, row.unknown_prior
    if answer is None or answer.p_unknown is None or prior is None or prior == UNKNOWN_PRIOR:  # that of one photo
        return ()
    odds = answer.p_unknown / max(1 - answer.p_unknown, 1e-6) * (1 - prior) / prior
    alone = odds * UNKNOWN_PRIOR / (1 - UNKNOWN_PRIOR)
    status = status_of(answer)  # that of the row may be by a species list
    if (alone > _ODDS) == (status == "unknown") or (status == "not_sure" and answer.p_unknown > UNKNOWN_FROM):
        return ()  # the latter is a poor look, which is never called unknown
    if alone > _ODDS:
        return (
            f"Identified alone, this photo would be probably not in the knowledge base: only {percent(prior)} of the "
            "photos of this run are estimated to show such species.",
        )
    return (
        f"Identified alone, this photo would not be: {percent(prior)} of the photos of this run are estimated to show "
        "species outside the knowledge base.",
    )


def place_line(row: Identification) -> str:
    """Return what the place says of the first candidate; empty without a place, or with no candidate known to it."""
    if row.place_name is None or not any(candidate.range_text for candidate in row.candidates):
        return ""
    first = row.candidates[0]
    if first.range_text is None:
        return f"Place: nothing is known of {short_name(first)} in {row.place_name}"
    return f"Place: {short_name(first)} is {first.range_text} ({row.place_name})"


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


def _seen(row: Identification) -> tuple[str, ...]:
    """Return a sentence on what the detector sees instead, if it is sure."""
    if row.shows == NO_BIRD:
        return ("The detector sees no bird: it may be another animal, or a thing.",)
    return (f"The detector sees: {row.shows}.",) if row.shows else ()


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
