"""Identity of a collection, which tells a session that photos have changed."""

from __future__ import annotations

import hashlib
from typing import Final
from weakref import WeakKeyDictionary

from data.contracts import ImageCollection
from data.files import file_state
from rerank.feedback.records import CollectionState, Session

_STATES: Final[WeakKeyDictionary[ImageCollection, CollectionState]] = WeakKeyDictionary()
"""Collection -> its state: a collection does not change after it was opened, and each method asks."""


def state_of(collection: ImageCollection) -> CollectionState:
    """Return the state of a collection: its space, and a hash of ids, sizes and modification times; read once."""
    if (known := _STATES.get(collection)) is not None:
        return known
    digest = hashlib.sha256()
    for image_id in collection.ids:
        digest.update(f"{image_id}\0{file_state(collection.path(image_id))}\n".encode(errors="surrogateescape"))
    state = CollectionState(space=collection.space, n=len(collection.ids), digest=digest.hexdigest())
    _STATES[collection] = state
    return state


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
