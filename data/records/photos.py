"""Photos: detected animals, candidates and identifications."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Literal, NamedTuple

AnswerRank = Literal["species", "genus", "family", "order", "none"]
PhotoStatus = Literal["identified", "not_sure", "unknown", "no_bird", "error"]


class Box(NamedTuple):
    """A rectangle in the upright photo (EXIF orientation applied), in pixels from its top left corner.

    Half-open: it contains columns `left <= x < right` and rows `top <= y < bottom`, as Pillow's `crop` takes it. On
    the wire it is a list of four numbers in this order.
    """

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """One animal in a photo."""

    box: Box
    kind: str
    """The detector's class in lower case: `bird`."""
    score: float
    """Confidence of the detector, in [0, 1]; higher is better. Not a calibrated probability."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorMatch:
    """An anchor compared with a photo: their cosine, and the credit of the anchor."""

    id: str
    """Hash of the photo, or id of the vector."""
    similarity: float
    """Cosine of photo and anchor."""
    credit: str | None = None
    """Author, licence and file page; null for vectors without a photo."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A species that a photo may show, with the score of every stage; scores are never overwritten."""

    taxon_id: str
    """Id of the species: its scientific name as a slug."""
    scientific_name: str
    """Name in AviList."""
    common_name: str
    """English name; the scientific one where there is none."""
    score: float
    """Ranks the candidates of one photo; higher is better."""
    scores: Mapping[str, float | None] = field(default_factory=dict)
    """Stage -> score; null where the stage does not apply."""
    anchors: tuple[AnchorMatch, ...] = ()
    """Reference photos, most similar first."""
    summary: str | None = None
    """Description of the species."""
    score_without_list: float | None = None
    """With a species list: `score` less `scores["list"]`, the boost of listed species."""
    range_text: str | None = None
    """With a place: `reported there and then` or `hardly ever reported there and then`; null for a species that the
    model of occurrence does not know."""
    confidence: float | None = None
    """Probability of this species; null without a calibration. That of the first is calibrated. The probability that
    another species of the knowledge base is right is shared over the others by their scores."""
    family: str | None = None
    """Family of the species."""
    order: str | None = None
    """Order of the species."""
    taxon_rank: AnswerRank = "species"
    """Rank of the entry: `genus` or `family` where the knowledge base has a text on the group alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer for a photo: a species, a genus, a family, an order, or `none`.

    Both chances are null without a calibration. `none` with a confidence means *not in the knowledge base*, with the
    probability of that; `none` without a confidence means *not sure*.
    """

    rank: AnswerRank
    """Rank of the answer, or `none`."""
    name: str
    """Scientific name at that rank; empty for `none`."""
    common_name: str | None = None
    """English name of a species, or of a genus or family that is an entry of the knowledge base."""
    confidence: float | None = None
    """Probability that the answer is right."""
    p_unknown: float | None = None
    """Probability that the species is not in the knowledge base."""
    family: str | None = None
    """Family of the answer."""
    order: str | None = None
    """Order of the answer."""
    looks_like: str | None = None
    """Scientific name of the species outside the knowledge base that an unknown bird resembles most; null if none is
    clearly the most similar."""
    looks_like_common_name: str | None = None
    """English name of that species."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The choice of a reader (a vision model) among the candidates."""

    choice: str | None
    """Id of the species chosen; null for none of the candidates."""
    agreement: float | None = None
    """Share of all samples with this choice; unanswered samples count against it."""
    margin: float | None = None
    """Difference in log-probability of the choice and the next label, where the server gives it."""
    reason: str = ""
    """The model's reason, or why there is no choice."""
    samples: int = 1
    """Model calls; 0 where the photo could not be shown to the model."""
    answered: int = 1
    """Samples that chose a candidate, or none of them."""
    failures: tuple[str, ...] = ()
    """One reason per sample without a reply; the other unanswered samples had unreadable replies."""

    @property
    def missing(self) -> str:
        """Missing part: `reader` if no sample was answered, `samples` if some got no reply, else empty."""
        if not self.answered:
            return "reader"
        return "samples" if self.failures else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncounterPhoto:
    """A photo of an encounter, such as a burst."""

    image: str
    """Path of the photo, as given."""
    error: str | None = None
    """Why the photo could not be read; the answer comes from the others."""
    box: Box | None = None
    """The bird in the photo; null where none was found or sought."""
    box_score: float | None = None
    """Confidence of the detector in the box."""
    size: tuple[int, int] | None = None
    """Width and height of the upright photo, in pixels."""
    date: str | None = None
    """Date and time, from the photo."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """The answer of a model beside that of a person, who confirmed or corrected it."""

    by: str
    """User of the machine where it was confirmed or corrected."""
    at: str
    """ISO 8601 time."""
    status: PhotoStatus
    """Status of the photo before."""
    answer: Answer | None = None
    """The answer before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identification:
    """The result of one photo or encounter; with `status` `error` it has no answer and no candidates."""

    image: str
    """Path of the photo, as given; the first one of an encounter."""
    box: Box | None = None
    """The bird in the photo: left, top, right and bottom in pixels; null where none was found or sought."""
    bird: int = 1
    """Number of the bird, from 1, in a photo of several."""
    n_birds: int = 1
    """Rows of the photo: one for each bird, and one where none was found."""
    shows: str | None = None
    """What a photo without a bird, or of no species of the knowledge base, shows instead, such as `cat`, if the
    detector is sure; `no bird` if it only sees none, `blank` if MegaDetector saw no animal."""
    status: PhotoStatus = "identified"
    """`identified`: to species, genus, family or order; `not_sure`; `unknown`: probably a species outside the knowledge
    base; `no_bird`: no bird in the photo; `error`: not readable."""
    error: str | None = None
    """Why the photo could not be read."""
    answer: Answer | None = None
    """The answer."""
    candidates: tuple[Candidate, ...] = ()
    """Closest matches: the first by score, then the most confident; all by score without a calibration."""
    place: tuple[float, float] | None = None
    """Latitude and longitude in degrees, from the photo."""
    date: str | None = None
    """Date and time, from the photo."""
    reader: Reading | None = None
    """Choice of the vision model, with `--reader`."""
    preset: str = ""
    """Scoring of the photo."""
    kb: str = ""
    """Name of the knowledge base."""
    calibration: str | None = None
    """Id of the calibration, after `estimated-` for the one that ships; null without one."""
    seconds: float = 0.0
    """Time spent on the photo."""
    species_list: str | None = None
    """Id of the species list and its settings, where one was given."""
    answer_without_list: Answer | None = None
    """The answer without the species list, which is the one that was measured."""
    unknown_prior: float | None = None
    """Prior probability of a species outside the knowledge base; null without a calibration."""
    group: str | None = None
    """Name of the encounter, with `--group-by`."""
    photos: tuple[EncounterPhoto, ...] = ()
    """Photos of the encounter, with `--group` or `--group-by`; place and date are of the first readable one."""
    place_name: str | None = None
    """Place and month whose species are favoured: that of `--place`, or of the photo."""
    answer_without_place: Answer | None = None
    """The answer without that place."""
    notes: tuple[str, ...] = ()
    """Sentences on what could not be read or used of the photo, such as a place without a hemisphere."""
    box_score: float | None = None
    """Confidence of the detector in the box."""
    size: tuple[int, int] | None = None
    """Width and height of the upright photo, in pixels."""
    correction: Correction | None = None
    """The model's status and answer, where `status` and `answer` are those of a person."""

    def _repr_html_(self) -> str:
        """Return the photo and the head of its card, for notebooks; by name, since records import no package."""
        html: str = resolve_name("recognize.cards.page:html_of")(self)
        return html

    @property
    def shown_image(self) -> str:
        """Path of the first readable photo."""
        return next((photo.image for photo in self.photos if photo.error is None), self.image)

    @property
    def shown_box(self) -> Box | None:
        """The bird in the first readable photo."""
        return next((photo.box for photo in self.photos if photo.error is None), self.box)
