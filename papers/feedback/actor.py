"""The artificial actor: feedback sessions with known relevant images in the place of a user."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from data.batches import grouped
from data.cache_file import CacheFile
from data.codec import dumps, loads
from data.errors import BadInput, CostStop, MissingRequirement, SourceError, UsageError
from data.files import sha256_hex
from rerank.feedback.search import FeedbackSearch, Prepared
from rerank.feedback.session import Session
from rerank.scheduling import current_query
from rerank.settings import N_TURNS

N_AT_ONCE = 16  # sessions that wait for a model
N_TOGETHER = 64  # sessions searched by one product: 51 MB of scores for 100,000 images


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuery:
    """A query and the ids of its relevant images in the collection."""

    query_id: str
    text: str
    relevant: frozenset[str]
    n_relevant: int
    """Number of relevant images, in the collection or not."""

    @property
    def group(self) -> str:
        """The same text for queries of the same relevant images, such as all captions of a clip."""
        return sha256_hex("\0".join(sorted(self.relevant)))[:16] if self.relevant else self.query_id


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorRun:
    """Recall of one query by turn."""

    query_id: str
    """Id of the query."""
    group: str = ""
    """Queries of one group have the same relevant images; empty with an error."""
    n_relevant: int
    """Number of relevant images."""
    accumulated: tuple[float, ...] = ()
    """Share of the relevant images found by each turn, from turn 0."""
    single_turn: tuple[float, ...] = ()
    """Recall of the first search alone, after as many images: R@20, R@40, ..."""
    queries: tuple[str, ...] = ()
    """Text of the query in each turn."""
    error: str | None = None
    """Why the query has no figures."""


async def act(
    search: FeedbackSearch,
    queries: Sequence[LabelledQuery],
    *,
    n_turns: int = N_TURNS,
    store: CacheFile | None = None,
    on_done: Callable[[ActorRun], None] = lambda _: None,
) -> list[ActorRun]:
    """Return the recall of each query, in order; a query that fails is a row with an error.

    The actor marks every relevant image among those shown. Queries are searched together, turn by turn.

    Args:
        search: the method.
        queries: the queries.
        n_turns: turns of feedback.
        store: finished queries by id, of this search and these queries only; failed ones are not stored, nor those
            without a caption or a denoised query, so that the counts of a resumed run have them.
        on_done: called with each row.

    Source:
        Zhu et al. (ICMR 2024), section 3.2 and equation 2: relevant images found up to turn T, divided by all relevant
        images; a fraction, which the mean over queries keeps.
    """
    stored = {each.query_id: row for each in queries if store and (row := store.get(each.query_id)) is not None}
    done = {query_id: loads(ActorRun, row) for query_id, row in stored.items()}
    for run in done.values():
        on_done(run)
    for batch in grouped([each for each in queries if each.query_id not in done], N_TOGETHER):
        for run, has_fallbacks in await _together(search, batch, n_turns):
            done[run.query_id] = run
            if store is not None and run.error is None and not has_fallbacks:
                store.put(run.query_id, dumps(run))
            on_done(run)
    return [done[each.query_id] for each in queries]


@dataclass(slots=True)
class _Actor:
    query: LabelledQuery
    session: Session | None = None
    single_turn: tuple[float, ...] = ()
    error: str | None = None
    has_fallbacks: bool = False


async def _together(
    search: FeedbackSearch, queries: Sequence[LabelledQuery], n_turns: int
) -> list[tuple[ActorRun, bool]]:
    """Return the recall of queries searched by one product in each turn, and whether captions or denoising failed."""
    actors = [_Actor(query) for query in queries]
    slots = asyncio.Semaphore(N_AT_ONCE)

    async def prepared(actor: _Actor) -> Prepared | None:
        async with slots:
            current_query.set(actor.query.query_id)
            try:
                if actor.session is None:
                    return search.prepare(*search.start(actor.query.text)) if actor.error is None else None
                if actor.error is not None or not search.n_unseen(actor.session):
                    return None
                actor.session, following = await search.grow(actor.session)
                actor.has_fallbacks = actor.has_fallbacks or bool(following.notes)
                return search.prepare(actor.session, following)
            except (BadInput, UsageError, SourceError, CostStop, MissingRequirement) as error:
                actor.error = str(error)
                search.tally.failures.append(error)
                return None

    cutoffs = [search.settings.k * (turn + 1) for turn in range(n_turns + 1)]
    for turn in range(n_turns + 1):
        searches = await asyncio.gather(*map(prepared, actors))
        going = [(actor, each) for actor, each in zip(actors, searches, strict=True) if each is not None]
        if not going:
            break
        for (actor, each), scores in zip(going, search.scores([each for _, each in going]), strict=True):
            relevant = actor.query.relevant
            if turn == 0:
                found = [image_id in relevant for image_id in search.ranked(scores, cutoffs[-1])]
                actor.single_turn = tuple(sum(found[:n]) / actor.query.n_relevant for n in cutoffs)
            session = search.show(each, scores)
            actor.session = search.mark(session, relevant.intersection(session.turns[-1].ids))
    return [(_run(actor, n_turns), actor.has_fallbacks) for actor in actors]


def _run(actor: _Actor, n_turns: int) -> ActorRun:
    query, turns = actor.query, actor.session.turns if actor.session else ()
    if actor.error is not None:
        return ActorRun(query_id=query.query_id, n_relevant=query.n_relevant, error=actor.error)
    found = [len(turn.relevant or ()) for turn in turns]
    found += [0] * (n_turns + 1 - len(found))  # all images have been shown
    return ActorRun(
        query_id=query.query_id,
        group=query.group,
        n_relevant=query.n_relevant,
        accumulated=tuple(n / query.n_relevant for n in accumulate(found)),
        single_turn=actor.single_turn,
        queries=tuple(turn.query for turn in turns),
    )
