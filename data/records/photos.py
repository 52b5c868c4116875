"""Identifications of photos."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from data.records.detections import Box

AnswerRank = Literal["species", "genus", "family", "order", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorMatch:
    """An anchor beside a photo: the cosine between the two, and whom the anchor is owed to."""

    id: str
    similarity: float
    credit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A species that a photo may show, with a score for every stage; none of them is ever overwritten."""

    taxon_id: str
    scientific_name: str
    common_name: str
    score: float
    scores: Mapping[str, float | None] = field(default_factory=dict)
    anchors: tuple[AnchorMatch, ...] = ()
    summary: str | None = None
    score_without_list: float | None = None
    """With a species list: `score` less `scores["list"]`, what being listed gave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The one answer: a species, or only a genus or family, or `none`; both chances are null without a calibration.

    `none` is *not in this knowledge base*, and its confidence how likely that is; or, where that is null, that the bird
    cannot be told.
    """

    rank: AnswerRank
    name: str
    common_name: str | None = None
    confidence: float | None = None
    """How likely the answer is right; of a name, given that the bird is in the knowledge base."""
    absent: float | None = None
    """How likely the bird is not in the knowledge base."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a reader (a vision model) chose among the candidates."""

    choice: str | None
    agreement: float | None = None
    """The share of all passes that voted for the choice; those that did not answer count against it."""
    margin: float | None = None
    reason: str = ""
    passes: int = 1
    """How often it was asked; 0 where the photo could not be shown to it."""
    answered: int = 1
    """In how many of these it chose a candidate, or none of them."""
    failures: tuple[str, ...] = ()
    """Why passes got no reply, one for each; the other passes that did not answer had replies that nobody can read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identification:
    """The row of one photo; with `status` error there is neither an answer nor a candidate."""

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
    """What tells the species list and its odds from others, where one was given."""
    answer_without_list: Answer | None = None
    """What the answer is without it: as it was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhotoProgress:
    """How far a run over photos is: `done` of `total` (None: nobody knows), `failed` of them could not be read."""

    done: int
    failed: int
    total: int | None
    seconds: float
    """Since the first photo was asked for."""

    @property
    def left_s(self) -> float | None:
        """The seconds that the rest takes at the speed so far; None where that cannot be told."""
        if self.total is None or not self.done:
            return None
        return self.seconds / self.done * max(0, self.total - self.done)
