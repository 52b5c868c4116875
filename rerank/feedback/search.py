"""Interactive retrieval over a collection: search, mark, grow the query, search again among unseen images."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, rank_descending
from data.contracts import ChatModel, ImageCollection, TextImageEncoder
from data.errors import BadInput, NothingReadable, UsageError
from data.words import plural
from rerank.feedback.captions import Captioner
from rerank.feedback.growth import FeedbackTally, NextQuery, QueryGrowth
from rerank.feedback.methods import N_TURNS, FeedbackMethod, FeedbackSettings
from rerank.feedback.queries import blind_note
from rerank.feedback.session import Session, ShownImage, Turn, state_of
from rerank.feedback.vectors import FindNames, QueryVectors
from rerank.prompting import Prompts

SayRelevant = Callable[[Sequence[str]], Iterable[str]]
"""Ids of the images shown -> ids of the relevant ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The next search of a session."""

    session: Session
    vector: FloatArray
    """`(dim,)`."""
    turn: Turn
    """The turn, without its images."""


class FeedbackSearch:
    """Searches a collection in turns, by the images that a user marks as relevant.

    Turn 0 searches by the query. A turn with relevant images grows it; a turn without any leaves it unchanged. Images
    that were shown never come back.

    Args:
        encoder: a text-image encoder of the collection's space.
        collection: the photos.
        method: `captions` appends captions; `summary`, `keywords` and `cot` also have a model denoise the query from
            turn 2; `rocchio` moves its vector; `none` shows the next images of the first search. Ours:
            `rocchio-then-text` moves the vector by the first relevant images and then searches by text;
            `rocchio-and-text` moves the vector of the grown text.
        captioner: captions images, for methods with text.
        text: denoises queries.
        settings: constants.
        prompts: the prompts `feedback_*`.
        names: finds species in a query, to search by their reference photos too; ours, not used with
            `settings.names` = `text`.

    Raises:
        NothingReadable: if the collection is empty.
        UsageError: if the method needs a captioner or a model, or the encoder has another space.

    Source:
        Zhu et al. (ICMR 2024), sections 3 and 4. Sections 3.1 and 4.1 contradict each other: 3.1 re-ranks the next k
        unseen images of the original list, which cannot raise the recall of a turn; here all unseen images are
        searched, as section 4.1 and table 2 imply. Turn 1 appends captions (equation 1); from turn 2 a model denoises
        the original query with all captions so far. Differs: a query that cannot be denoised grows by captions; an
        edited query replaces the original one and the captions before it; without `max_tokens` no query is cut off.

    Example:
        >>> from recognize import load_encoders
        >>> from rerank.feedback.memory import MemoryCollection
        >>> encoder = load_encoders("starter").text_image[0]
        >>> texts = ["a red bird", "a blue bird", "a red bird with a red bill"]
        >>> collection = MemoryCollection(encoder.space, ["a", "b", "c"], encoder.encode_texts(texts))
        >>> search = FeedbackSearch(encoder, collection, method="rocchio", settings=FeedbackSettings(k=1))
        >>> session = search.run("a red bird", lambda shown: ["a", "c"], n_turns=2)
        >>> session.seen, session.relevant
        (('a', 'c', 'b'), ('a', 'c'))
    """

    def __init__(
        self,
        encoder: TextImageEncoder,
        collection: ImageCollection,
        *,
        method: FeedbackMethod = "cot",
        captioner: Captioner | None = None,
        text: ChatModel | None = None,
        settings: FeedbackSettings | None = None,
        prompts: Prompts | None = None,
        names: FindNames | None = None,
    ) -> None:
        if not collection.ids:
            raise NothingReadable("The collection has no readable photo.")
        if encoder.space != collection.space:
            raise UsageError(f"The collection has vectors of {collection.space}, the encoder is {encoder.space}.")
        self.settings = settings or FeedbackSettings()
        self._encoder, self._collection, self._method = encoder, collection, method
        self._rows = {image_id: row for row, image_id in enumerate(collection.ids)}
        self._growth = QueryGrowth(
            encoder,
            collection,
            method=method,
            settings=self.settings,
            captioner=captioner,
            text=text,
            prompts=prompts or Prompts(),
        )
        self._names = names if self.settings.names == "knowledge" else None
        self._state = state_of(collection)
        self._limit = min(filter(None, (self.settings.max_tokens, encoder.max_tokens)), default=0)
        self._vectors = QueryVectors(encoder, collection, self._rows, method=method, settings=self.settings)

    @property
    def tally(self) -> FeedbackTally:
        """The counts so far."""
        return self._growth.tally

    def begin(self, query: str, *, folder: str = "") -> Session:
        """Return a new session after turn 0.

        Raises:
            UsageError: if the query is empty.
            NoEvidence: if the encoder knows none of its words.
        """
        session, following = self.start(query, folder=folder)
        return self.search(session, following)

    def start(self, query: str, *, folder: str = "") -> tuple[Session, NextQuery]:
        """Return a new session before turn 0, and the query of that turn.

        Raises:
            UsageError: if the query is empty.
        """
        if not query.strip():
            raise UsageError("The query is empty.")
        query = " ".join(query.split())
        session = Session(
            query=query, method=self._method, settings=self.settings, collection=self._state, folder=folder
        )
        return session, NextQuery(text=query)

    def mark(self, session: Session, relevant: Iterable[str]) -> Session:
        """Return the session with the relevant images of its last turn; marks of that turn are replaced.

        Raises:
            BadInput: for an image that the turn does not show.
        """
        turn, wanted = session.turns[-1], set(relevant)
        if foreign := sorted(wanted.difference(turn.ids)):
            raise BadInput(f"Turn {len(session.turns) - 1} does not show the image {foreign[0]!r}.")
        marked = replace(turn, relevant=tuple(i for i in turn.ids if i in wanted), captions=())
        return replace(session, turns=(*session.turns[:-1], marked))

    async def grow(self, session: Session) -> tuple[Session, NextQuery]:
        """Return the session with captions of the marked images, and the query of the next turn.

        Raises:
            UsageError: if the last turn is not marked.
            SourceError: if a provider failed; the session can be resumed.
            CostStop: if a request could exceed the cost limit.
        """
        if not session.is_marked:
            raise UsageError("The last turn is not marked.")
        return await self._growth.grow(session)

    def search(self, session: Session, query: NextQuery, *, edited: str | None = None) -> Session:
        """Return the session with the next turn: the best unseen images, ties in the order of the collection.

        With `edited` the user's text is searched instead. At most `settings.k` images; none when all have been shown.

        Raises:
            NoEvidence: if the encoder knows none of the user's words.
        """
        prepared = self.prepare(session, query, edited=edited)
        return self.show(prepared, self.scores([prepared])[0])

    def prepare(self, session: Session, query: NextQuery, *, edited: str | None = None) -> Prepared:
        """Return the next search of a session, so that `scores` can run those of many sessions at once.

        Raises:
            NoEvidence: if the encoder knows none of its words.
        """
        text = query.text if edited is None else " ".join(edited.split())
        named = self._names(text) if self._names else None
        vector, n_cut = self._vectors.of(session, text, named)
        notes = query.notes
        is_own = named is None and (edited is not None or not session.turns)
        if is_own and (blind := blind_note(text, self._encoder)):
            self.tally.n_blind += 1
            notes = (*notes, blind)
        if n_cut:
            self.tally.n_truncated += 1
            notes = (*notes, f"{plural(n_cut, 'word')} beyond {self._limit} tokens left out of the query")
        is_edited = edited is not None and text != query.text
        turn = Turn(
            query=text,
            shown=(),
            species=named.names if named else "",
            is_edited=is_edited,
            notes=notes,
            cost_usd=query.cost_usd,
        )
        return Prepared(session=session, vector=vector, turn=turn)

    def scores(self, searches: Sequence[Prepared]) -> NDArray[np.float64]:
        """Return the `(len(searches), n)` cosines of all photos, from one product."""
        return self._collection.scores(np.stack([each.vector for each in searches]))

    def show(self, prepared: Prepared, scores: NDArray[np.float64]) -> Session:
        """Return the session with the turn that a search found, by its row of `scores`."""
        session = prepared.session
        unseen = scores.copy()
        unseen[[self._rows[image_id] for image_id in session.seen if image_id in self._rows]] = -np.inf
        rows = rank_descending(unseen, min(self.settings.k, self.n_unseen(session)))
        ids = self._collection.ids
        shown = tuple(ShownImage(image_id=ids[i], score=round(float(scores[i]), 6)) for i in rows.tolist())
        return replace(session, turns=(*session.turns, replace(prepared.turn, shown=shown)))

    def undo(self, session: Session) -> Session:
        """Return the session before the last step: without the marks of the last turn, or else without that turn.

        Raises:
            UsageError: if there is nothing to undo.
        """
        if session.is_marked:
            turn = replace(session.turns[-1], relevant=None, captions=())
            return replace(session, turns=(*session.turns[:-1], turn))
        if len(session.turns) < 2:
            raise UsageError("There is nothing to undo.")
        return self.undo(replace(session, turns=session.turns[:-1]))

    def n_unseen(self, session: Session) -> int:
        """Return the number of photos in the collection that were not shown."""
        return len(self._rows) - sum(image_id in self._rows for image_id in session.seen)

    def ranked(self, scores: NDArray[np.float64], n: int) -> list[str]:
        """Return the ids of the best `n` photos by a row of `scores`, best first, seen or not."""
        return [self._collection.ids[row] for row in rank_descending(scores, n).tolist()]

    def run(self, query: str, is_relevant: SayRelevant, *, n_turns: int = N_TURNS) -> Session:
        """Return the session of `n_turns` turns after turn 0, with a function in the place of the user."""
        return asyncio.run(self.converse(query, is_relevant, n_turns=n_turns))

    async def converse(self, query: str, is_relevant: SayRelevant, *, n_turns: int = N_TURNS) -> Session:
        """Return the same; ends early when all images have been shown."""
        session = self.begin(query)
        for _ in range(n_turns):
            session = self._answered(session, is_relevant)
            if not self.n_unseen(session):
                return session
            session, following = await self.grow(session)
            session = self.search(session, following)
        return self._answered(session, is_relevant)

    def _answered(self, session: Session, is_relevant: SayRelevant) -> Session:
        shown = session.turns[-1].ids
        return self.mark(session, set(is_relevant(shown)).intersection(shown))
