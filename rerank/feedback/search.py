"""Interactive retrieval over a collection: search, mark, grow the query, search again among unseen images."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray, as_unit_rows, rank_descending
from data.contracts import ChatModel, ImageCollection, TextImageEncoder
from data.errors import BadInput, MalformedAnswer, NoEvidence, NothingReadable, Refused, UsageError
from data.words import plural
from rerank.captions import Captioner
from rerank.feedback.queries import (
    FindNames,
    NamedSpecies,
    blind_note,
    denoise,
    encode_query,
    joined,
    original_and_captions,
    rocchio,
    sampled,
    shortened,
)
from rerank.feedback.session import Caption, Session, ShownImage, Turn, state_of
from rerank.prompting import Prompts
from rerank.reranker import Tally
from rerank.settings import (
    ROCCHIO,
    FeedbackMethod,
    FeedbackSettings,
    needs_text_model,
    text_form,
)

_WORDS: Final = {
    "captions": ("caption", "captions"),
    "denoised": ("denoised query", "denoised queries"),
    "truncated": ("query cut off", "queries cut off"),
}
_WARNED: Final = {
    "refused_captions": ("image could not be captioned", "images could not be captioned"),
    "failed_rewrites": (
        "query could not be denoised and grew by captions alone",
        "queries could not be denoised and grew by captions alone",
    ),
    "blind": (
        "query has few words that the encoder can compare with photos, so the first turn means little",
        "queries have few words that the encoder can compare with photos, so the first turn means little",
    ),
}


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
        self._captioner, self._text, self._prompts = captioner, text, prompts or Prompts()
        self.tally = Tally(words=_WORDS, warned=_WARNED)
        if text_form(method, self.settings) is not None and captioner is None:
            raise UsageError(f"The method {method} needs a captioner.")
        if needs_text_model(method, self.settings) and text is None:
            raise UsageError(f"The method {method} needs a text model.", hint="Use the method captions, or rocchio.")
        self._names = names if self.settings.names == "knowledge" else None
        self._state = state_of(collection)
        self._limit = min(filter(None, (self.settings.max_tokens, encoder.max_tokens)), default=0)

    def begin(self, query: str, *, folder: str = "") -> Session:
        """Return a new session after turn 0."""
        session, following = self.start(query, folder=folder)
        return self.search(session, following)

    def start(self, query: str, *, folder: str = "") -> tuple[Session, Turn]:
        """Return a new session before turn 0, and the query of that turn."""
        if not query.strip():
            raise UsageError("The query is empty.")
        query = " ".join(query.split())
        session = Session(
            query=query, method=self._method, settings=self.settings, collection=self._state, folder=folder
        )
        return session, Turn(query=query)

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

    async def grow(self, session: Session) -> tuple[Session, Turn]:
        """Return the session with captions of the marked images, and the query of the next turn."""
        if not session.is_marked:
            raise UsageError("The last turn is not marked.")
        last = session.turns[-1]
        form = text_form(self._method, self.settings)
        if form is None or not last.relevant:
            return session, Turn(query=last.query)
        if not last.captions:
            last = await self._captioned(session)
            session = replace(session, turns=(*session.turns[:-1], last))
        notes = tuple(f"no caption of {each.image_id}: {each.error}" for each in last.captions if each.error)
        is_first = sum(bool(turn.relevant) for turn in session.turns) == 1
        if all(caption.error for caption in last.captions) or (self._method == "rocchio-then-text" and is_first):
            return session, Turn(query=last.query, notes=notes)
        original, captions = original_and_captions(session)
        grown = Turn(query=joined([original, *captions]), notes=notes)
        if form == "captions" or len(session.turns) == 1:
            return session, grown
        assert self._text is not None  # checked in __init__
        text, problem, cost = await denoise(
            self._text, form, original, captions, prefix=self.settings.prefix, prompts=self._prompts
        )
        if not problem and not self._encoder.encode_texts([text])[0].any():
            problem = "the encoder knows no word of the denoised query"
        if not problem:
            self.tally.counts["denoised"] += 1
            return session, replace(grown, query=text, cost_usd=cost)
        self.tally.warn("failed_rewrites", problem)
        self.tally.has_fallbacks = True
        notes = (*notes, f"not denoised, grown by captions alone: {problem}")
        return session, replace(grown, notes=notes, cost_usd=cost)

    async def _captioned(self, session: Session) -> Turn:
        ids = sampled(session, len(session.turns) - 1)
        captions = await asyncio.gather(*map(self._caption, ids))
        self.tally.counts["captions"] += sum(caption.error is None for caption in captions)
        refused = [f"{each.image_id}: {each.error}" for each in captions if each.error]
        self.tally.warn("refused_captions", *refused)
        self.tally.has_fallbacks |= bool(refused)
        return replace(session.turns[-1], captions=tuple(captions))

    async def _caption(self, image_id: str) -> Caption:
        """Return the caption of an image, or why there is none; other errors stop the turn, which can be resumed."""
        assert self._captioner is not None  # checked in __init__
        try:
            made = await self._captioner.caption(self._collection.path(image_id))
        except (BadInput, Refused, MalformedAnswer) as error:  # such as of a photo that left the collection
            return Caption(image_id=image_id, error=str(error), cost_usd=getattr(error, "cost_usd", 0.0))
        text = shortened(made.text.strip("\"' "))
        problem = "the model returned an empty caption" if made.text and not text else None
        return Caption(image_id=image_id, text=text, error=problem, cost_usd=made.cost_usd)

    def search(self, session: Session, query: Turn, *, edited: str | None = None) -> Session:
        """Return the session with the next turn: the best unseen images, ties in the order of the collection.

        With `edited` the user's text is searched instead. At most `settings.k` images; none when all have been shown.
        """
        prepared = self.prepare(session, query, edited=edited)
        return self.show(prepared, self.scores([prepared])[0])

    def prepare(self, session: Session, query: Turn, *, edited: str | None = None) -> Prepared:
        """Return the next search of a session, so that `scores` can run those of many sessions at once."""
        text = query.query if edited is None else " ".join(edited.split())
        named, notes = self._names(text) if self._names else (None, ())
        vector, n_cut = self._vector_of(session, text, named)
        notes = (*query.notes, *notes)
        is_own = named is None and (edited is not None or not session.turns)
        if is_own and (blind := blind_note(text, self._encoder)):
            self.tally.counts["blind"] += 1
            notes = (*notes, blind)
        if n_cut:
            self.tally.counts["truncated"] += 1
            notes = (*notes, f"{plural(n_cut, 'word')} beyond {self._limit} tokens left out of the query")
        is_edited = edited is not None and text != query.query
        species = named.names if named else ""
        turn = replace(query, query=text, species=species, is_edited=is_edited, notes=notes)
        return Prepared(session=session, vector=vector, turn=turn)

    def _vector_of(self, session: Session, text: str, named: NamedSpecies | None) -> tuple[FloatArray, int]:
        """Return the `(dim,)` vector of the next search of a session by a text, and the number of words left out.

        Species that the text names are searched by their own vector, half and half with the text if that says more.
        """
        vector, n_cut = encode_query(text, self.settings.max_tokens, self._encoder)
        if named is not None:
            vector = named.vector if named.is_whole else as_unit_rows([vector + named.vector])[0]
        if not vector.any():
            raise NoEvidence(
                f'The encoder {self._encoder.name} knows no word of the query "{text[:60]}".',
                hint="Describe the photos in English, such as: a red bird with a black face.",
            )
        numbers = [number for number, turn in enumerate(session.turns) if turn.relevant]
        is_text = self._method == "rocchio-then-text" and len(numbers) > 1
        if self._method not in ROCCHIO or not numbers or is_text:
            return vector, n_cut
        if self.settings.rocchio_from == "original":
            # Turns after the last relevant image change nothing, as in the methods of text.
            return self._moved(session, vector, range(numbers[-1] + 1)), n_cut
        for number in numbers:
            vector = self._moved(session, vector, [number])
        return vector, n_cut

    def _moved(self, session: Session, vector: FloatArray, numbers: Sequence[int]) -> FloatArray:
        settings, near, far = self.settings, list[str](), list[str]()
        for number in numbers:
            turn = session.turns[number]
            relevant = turn.relevant or ()
            near += sampled(session, number) if settings.rocchio_relevant == "sampled" else relevant
            far += (image_id for image_id in turn.ids if image_id not in relevant)
        return rocchio(
            vector,
            self._vectors_of(near),
            self._vectors_of(far),
            alpha=settings.alpha,
            beta=settings.beta,
            gamma=settings.gamma,
        )

    def _vectors_of(self, image_ids: Sequence[str]) -> FloatArray:
        """Return the vectors of the images that are still in the collection."""
        rows: IntArray = np.array([self._rows[each] for each in image_ids if each in self._rows], dtype=np.intp)
        return self._collection.vectors(rows)

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
