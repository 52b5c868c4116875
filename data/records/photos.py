"""Identifications of photos."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from data.records.detections import Box

AnswerRank = Literal["species", "genus", "family", "order", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorMatch:
    """An anchor compared with a photo: their cosine, and the credit of the anchor."""

    id: str
    similarity: float
    credit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A species that a photo may show, with the score of every stage; scores are never overwritten."""

    taxon_id: str
    scientific_name: str
    common_name: str
    score: float
    scores: Mapping[str, float | None] = field(default_factory=dict)
    anchors: tuple[AnchorMatch, ...] = ()
    summary: str | None = None
    score_without_list: float | None = None
    """With a species list: `score` less `scores["list"]`, the boost of listed species."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer for a photo: a species, a genus, a family, or `none`; both chances are null without a calibration.

    `none` with a confidence means *not in the knowledge base*, with the probability of that; `none` without a
    confidence means *not sure*.
    """

    rank: AnswerRank
    name: str
    common_name: str | None = None
    confidence: float | None = None
    """Probability that the answer is right; for a name, given that the species is in the knowledge base."""
    unknown: float | None = None
    """Probability that the species is not in the knowledge base."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The choice of a reader (a vision model) among the candidates."""

    choice: str | None
    agreement: float | None = None
    """Share of all samples with this choice; unanswered samples count against it."""
    margin: float | None = None
    reason: str = ""
    samples: int = 1
    """Model calls; 0 where the photo could not be shown to the model."""
    answered: int = 1
    """Samples that chose a candidate, or none of them."""
    failures: tuple[str, ...] = ()
    """One reason per sample without a reply; the other unanswered samples had unreadable replies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identification:
    """The result of one photo; with `status` error it has no answer and no candidates."""

    image: str
    box: Box | None = None
    status: Literal["ok", "error"] = "ok"
    error: str | None = None
    answer: Answer | None = None
    candidates: tuple[Candidate, ...] = ()
    place: tuple[float, float] | None = None
    date: str | None = None
    reader: Reading | None = None
    preset: str = ""
    kb: str = ""
    calibration: str | None = None
    seconds: float = 0.0
    species_list: str | None = None
    """Id of the species list and its settings, where one was given."""
    answer_without_list: Answer | None = None
    """The answer without the species list, which is the one that was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhotoProgress:
    """Progress of a run: `done` of `total` photos (None: unknown), `failed` of them unreadable."""

    done: int
    failed: int
    total: int | None
    seconds: float
    """Since the first photo."""

    @property
    def left_s(self) -> float | None:
        """Estimated seconds left at the speed so far; None where `total` is unknown or nothing is done."""
        if self.total is None or not self.done:
            return None
        return self.seconds / self.done * max(0, self.total - self.done)
