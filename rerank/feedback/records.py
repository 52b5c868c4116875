"""Sessions of interactive retrieval as records; a session file holds one as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field

from rerank.feedback.settings import FeedbackMethod, FeedbackSettings

FORMAT = 1
"""Version of session files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caption:
    """Caption of a relevant image; empty with an error."""

    image_id: str
    """Id of the image."""
    text: str = ""
    """The caption."""
    error: str | None = None
    """Why there is none."""
    cost_usd: float | None = 0.0
    """Cost in US dollars; null if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownImage:
    """An image of a turn, with its cosine to the query of the turn."""

    image_id: str
    """Id of the image."""
    score: float
    """Cosine to the query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn: a search, and the images of it that were marked as relevant."""

    query: str
    """Text of the search; of a Rocchio search, the text that its vector began as."""
    shown: tuple[ShownImage, ...]
    """Best first."""
    species: str = ""
    """Species that the query names, searched by their reference photos and descriptions."""
    relevant: tuple[str, ...] | None = None
    """Ids of the relevant images in the order shown; None until they are marked."""
    captions: tuple[Caption, ...] = ()
    """Captions of a sample of them."""
    is_edited: bool = False
    """Whether the user wrote the query."""
    notes: tuple[str, ...] = ()
    """Fallbacks of this turn, in words."""
    cost_usd: float | None = 0.0
    """Cost of the query in US dollars, without captions; None if unknown."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the images shown."""
        return tuple(image.image_id for image in self.shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionState:
    """Identity of a collection: its space, its number of photos, and a hash of their ids and file states."""

    space: str
    """Encoder space of the vectors."""
    n: int
    """Number of readable photos."""
    digest: str
    """SHA-256 of ids, sizes and times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session: query, method, collection and turns so far. Immutable: each step returns a new one."""

    query: str
    """The first query."""
    method: FeedbackMethod
    """Use of the marked images."""
    collection: CollectionState
    """The collection when the session began."""
    settings: FeedbackSettings = field(default_factory=FeedbackSettings)
    """Constants of the method."""
    turns: tuple[Turn, ...] = ()
    """The turns so far; the last may be unmarked."""
    folder: str = ""
    """Folder of the photos."""
    format: int = FORMAT
    """Version of the file."""

    @property
    def is_marked(self) -> bool:
        """Whether the last turn is marked, so that the next search can begin."""
        return bool(self.turns) and self.turns[-1].relevant is not None

    @property
    def relevant(self) -> tuple[str, ...]:
        """Ids of all images marked as relevant, in the order shown."""
        return tuple(image_id for turn in self.turns for image_id in turn.relevant or ())

    @property
    def seen(self) -> tuple[str, ...]:
        """Ids of all images shown."""
        return tuple(image_id for turn in self.turns for image_id in turn.ids)
