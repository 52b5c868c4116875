"""Sessions as files, and the marks of a session as a labelled set."""

from __future__ import annotations

import re
from pathlib import Path

from data.codec import dumps, loads
from data.contracts import ImageCollection
from data.errors import BadInput, StoreError
from data.files import write_atomic
from data.records import Job, JobImage
from rerank.feedback.records import FORMAT, Session


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
