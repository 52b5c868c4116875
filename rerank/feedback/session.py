"""Sessions of interactive retrieval: records and files, identity of the collection, marks as a labelled set."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

from data.codec import dumps, loads
from data.contracts import ImageCollection
from data.errors import BadInput, StoreError
from data.files import file_state, write_atomic
from data.records import Job, JobImage
from rerank.settings import FeedbackMethod, FeedbackSettings

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
    shown: tuple[ShownImage, ...] = ()
    """Best first; empty before the search."""
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


def state_of(collection: ImageCollection) -> CollectionState:
    """Return the state of a collection: its space, and a hash of ids, sizes and modification times."""
    digest = hashlib.sha256()
    for image_id in collection.ids:
        digest.update(f"{image_id}\0{file_state(collection.path(image_id))}\n".encode(errors="surrogateescape"))
    return CollectionState(space=collection.space, n=len(collection.ids), digest=digest.hexdigest())


def changes_since(session: Session, collection: ImageCollection) -> str | None:
    """Return in words how a collection differs from that of the session; None if it does not.

    The session goes on: it keeps all marks and captions, and searches the photos of today.
    """
    now = state_of(collection)
    if now == session.collection:
        return None
    gone = set(session.seen).difference(collection.ids)
    lost = f"; {len(gone):,} of the {len(session.seen):,} photos shown are gone" if gone else ""
    return (
        f"The collection has changed since this session began: {session.collection.n:,} photos then, {now.n:,} now"
        f"{lost}. All marks and captions are kept, and the next turn searches the photos of today."
    )


def write_session(path: Path, session: Session) -> None:
    """Write a session, so that the file always holds all of it or the state before."""
    write_atomic(path, dumps(session).encode("utf-8", "surrogateescape") + b"\n")


def read_session(path: Path) -> Session:
    """Return the session in a file.

    Raises:
        BadInput: if the file is no session, or of a newer version of Fieldmark.
    """
    hint = "Choose another name with --session."
    try:
        session = loads(Session, path.read_bytes().decode("utf-8", "surrogateescape"))
    except (OSError, StoreError) as error:
        raise BadInput(f"{path} is not a feedback session: {error}", hint=hint) from error
    if session.format != FORMAT or not session.turns:
        raise BadInput(f"{path} is a session of format {session.format}, expected {FORMAT}.", hint=hint)
    return session


def labelled_job(session: Session, collection: ImageCollection) -> Job:
    """Return the marks as a job: the images of all marked turns, in their order, and the relevant ones in `relevant`.

    The scores fall by one from image to image, since scores of different turns do not compare. Images that left the
    collection are kept under their ids.
    """
    seen = [image_id for turn in session.turns if turn.relevant is not None for image_id in turn.ids]
    known = set(collection.ids)
    folder = Path(session.folder)
    paths = [str(collection.path(each) if each in known else folder / each) for each in seen]
    images = tuple(
        JobImage(image_id=each, path=path, score=float(len(seen) - place))
        for place, (each, path) in enumerate(zip(seen, paths, strict=True))
    )
    query_id = re.sub(r"[\W_]+", "-", session.query.lower()).strip("-")[:60] or "query"
    return Job(query_id=query_id, text=session.query, candidates=images, relevant=session.relevant)
