"""CoTRR: query deconstruction, evaluation of photos in words, and one listwise ranking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Final, TypeVar

from data.contracts import ChatModel
from data.errors import BadInput, MalformedAnswer, Refused
from data.images.views import jpeg_of
from data.records import ChatReply, ChatRequest, Job, RankedImage
from rerank.cotrr.messages import (
    CotrrRequests,
    QueryParts,
    Ranking,
    evaluations_in,
    parse_evaluation,
    parse_parts,
    parse_ranking,
    parse_ranking_as_authors,
)
from rerank.prompting import Prompts, is_readable
from rerank.queries import Query, reading_reference
from rerank.reranker import FAILURES, UNREADABLE_SCORE, Tally, begin, ranked_by_score, share_of, total_cost
from rerank.scheduling import FairChat, all_of, read_in_thread
from rerank.settings import CotrrSettings, RankFusion

RRF_K: Final = 60  # Cormack et al. 2009; not tuned here

ResultT = TypeVar("ResultT")
Costs = list[float | None]
"""Cost of each call in US dollars; None if unknown."""


_WORDS: Final = {
    "evaluated": ("evaluation", "evaluations"),
    "rankings": ("ranking", "rankings"),
    "refused": ("reply refused", "replies refused"),
    "retried": ("reply asked for again", "replies asked for again"),
    "unusable": ("reply unusable after all tries", "replies unusable after all tries"),
    "not_deconstructed": ("query used without deconstruction", "queries used without deconstruction"),
    "not_evaluated": ("photo ranked without an evaluation", "photos ranked without an evaluation"),
    "failed_rankings": ("failed ranking", "failed rankings"),  # other orders of the same photos may have succeeded
    "failed_windows": ("window left in its order", "windows left in their order"),
    "empty_rankings": ("ranking without a known number", "rankings without a known number"),  # replies = authors
    "not_json": ("ranking not in the requested JSON", "rankings not in the requested JSON"),
    "duplicates": ("duplicate number removed", "duplicate numbers removed"),
    "invalid": ("invalid number removed", "invalid numbers removed"),
    "missing": ("photo missing in a ranking and added at the end", "photos missing in rankings and added at the end"),
}
_WARNED: Final = {
    "not_deconstructed": (
        "query could not be deconstructed and was used whole",
        "queries could not be deconstructed and were used as they are",
    ),
    "failed_windows": ("window stayed in first-stage order", "windows stayed in first-stage order"),
    "empty_rankings": (
        "ranking named none of its photos and stayed in first-stage order",
        "rankings named none of their photos and stayed in first-stage order",
    ),
}


@dataclass(slots=True, kw_only=True)
class _Photo:
    """One photo of a query in progress."""

    index: int
    jpeg: bytes = b""
    evaluation: str | None = None
    costs: Costs = field(default_factory=list)
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """A job in progress."""

    job: Job
    query: Query
    costs: Costs = field(default_factory=list)
    """Costs of the calls for the whole query."""


class CotrrReranker:
    """Ranks the photos of a query by one model's comparison of all of them; a `Reranker`.

    Queries are texts, composed (a reference image and a change) or dialogues. A reference photo is shown in every call
    that sees photos; the vision model then deconstructs the query.

    Scores express places only: n for the first of n photos, or the mean over the orders shown. A photo that cannot be
    read or evaluated is an error row behind all others. Where no ranking succeeds, all photos of the query are error
    rows: first-stage order is never returned as a re-ranking.

    Args:
        vision: looks at photos.
        text: deconstructs the query and ranks notes; without it the vision model does.
        settings: form, stages and constants.
        prompts: the prompts `cotrr_*`.

    Source:
        Wu et al., 2025 (arXiv 2509.14746): query deconstruction, image evaluation, listwise ranking, at temperature 0.
        Differs, in all presets: our own prompts, with judgements on a fixed scale, and replies by JSON schema. `paper`:
        one call a stage, one ranking of all notes; the text does not say how many candidates, so `--depth` is open;
        more than 100 go in overlapping windows. `default`: windows of 50 notes or 20 photos, each shown in two orders.

        `authors` is the published code (`freshfish15/CoTRR`), which differs from the text: the first ten candidates in
        one message with all stages, pictures and texts in turn, no temperature, three tries of the same request.
        It differs from the code: unreadable photos are error rows (there, a gap in the numbers); after three unusable
        replies all rows are errors in first-stage order (there, as if that were a result); tries follow at once, with a
        seed; one worked example for all tasks; a dialogue is given as a whole, and composed queries keep their
        reference image (there, files that are not published replace them).
    """

    def __init__(
        self,
        vision: ChatModel,
        *,
        text: ChatModel | None = None,
        settings: CotrrSettings | None = None,
        prompts: Prompts | None = None,
    ) -> None:
        self._vision = vision if isinstance(vision, FairChat) else FairChat(vision)
        self._text = self._vision if text is None else text if isinstance(text, FairChat) else FairChat(text)
        self._settings = settings or CotrrSettings()
        self._requests = CotrrRequests(self._settings, prompts or Prompts())
        self.tally = Tally(words=_WORDS, warned=_WARNED)

    async def rank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first."""
        rows, query = begin(job)
        if not rows:
            return []
        if job.reference_image is not None:
            with reading_reference(job):
                query = replace(query, reference=await self._jpeg_of(job.reference_image))
        work = _Work(job=job, query=query)
        photos = [_Photo(index=i) for i in sorted(range(len(rows)), key=lambda i: rows[i].rank)]
        scores: dict[int, float] = {}
        try:
            scores = await self._scores(work, photos)
        except FAILURES as error:
            self.tally.failures.append(error)
            for photo in photos:
                photo.error = photo.error or str(error)
        # The photos share the cost of the calls for the whole query.
        share = share_of(total_cost(work.costs), len(photos))
        return ranked_by_score(
            replace(
                rows[photo.index],
                score=scores.get(photo.index, UNREADABLE_SCORE),
                error=photo.error,
                evaluation=photo.evaluation,
                cost_usd=total_cost((*photo.costs, share)),
            )
            for photo in photos
        )

    # --- the stages -----------------------------------------------------------------------------------------------

    async def _scores(self, work: _Work, photos: Sequence[_Photo]) -> dict[int, float]:
        """Return index -> score of the judged photos; sets the errors of the others."""
        settings = self._settings
        parts: QueryParts | None = None
        if settings.form == "staged" and settings.deconstructs:
            parts = await self._deconstruct(work)
        await all_of([self._prepare(photo, work, parts) for photo in photos])
        judged = [photo for photo in photos if photo.error is None]
        n, order = len(judged), list(judged)
        results: list[list[float] | None] = []  # scores of each window; None where no ranking succeeded
        for first, last in windows(n, settings.window_size, settings.stride):
            shown = order[first:last]
            scores = await self._window(work, shown, parts)
            results.append(scores)
            if scores is None:
                self.tally.counts["failed_windows"] += 1
                continue
            worst = [-score for score in scores]
            order[first:last] = [shown[place] for place in sorted(range(len(shown)), key=worst.__getitem__)]
        if results and all(scores is None for scores in results):
            raise MalformedAnswer(f"no usable ranking of the photos of query {work.job.query_id}")
        if settings.form == "one-call" and settings.evaluates:
            n_evaluated = sum(photo.evaluation is not None for photo in judged)
            self.tally.counts["evaluated"] += n_evaluated
            self.tally.counts["not_evaluated"] += n - n_evaluated
        if len(results) == 1 and results[0] is not None:
            return {photo.index: score for photo, score in zip(judged, results[0], strict=True)}
        return {photo.index: float(n - place) for place, photo in enumerate(order)}

    async def _deconstruct(self, work: _Work) -> QueryParts | None:
        chat = self._vision if work.query.reference else self._text
        request = self._requests.deconstruction(work.query)
        try:
            return await self._ask(chat, request, parse_parts, work.costs)
        except (MalformedAnswer, Refused):
            self.tally.counts["not_deconstructed"] += 1
            self.tally.has_fallbacks = True
            return None

    async def _prepare(self, photo: _Photo, work: _Work, parts: QueryParts | None) -> None:
        """Read a photo, and have it evaluated if rankings are based on notes."""
        try:
            photo.jpeg = await self._jpeg_of(work.job.candidates[photo.index].path)
            if not self._settings.sees_photos:
                request = self._requests.evaluation(work.query, parts, photo.jpeg)
                parse = partial(parse_evaluation, parts=parts or ())
                photo.evaluation = await self._ask(self._vision, request, parse, photo.costs)
                photo.jpeg = b""  # not needed any more
                self.tally.counts["evaluated"] += 1
        except (BadInput, *FAILURES) as error:
            self.tally.failures.append(error)
            photo.error = str(error)

    async def _jpeg_of(self, path: str) -> bytes:
        return await read_in_thread(partial(jpeg_of, Path(path), max_side=self._settings.max_side))

    # --- rankings -------------------------------------------------------------------------------------------------

    async def _window(self, work: _Work, photos: Sequence[_Photo], parts: QueryParts | None) -> list[float] | None:
        """Return the score of each photo of a window over all orders shown; None if no ranking succeeded."""
        tally, n = self.tally, len(photos)
        if n == 1 and not (self._settings.form == "one-call" and self._settings.evaluates):
            return [1.0]  # nothing to rank
        shown = input_orders(n, self._settings.orders, seed=work.job.query_id)

        async def one(order: Sequence[int]) -> list[float] | None:
            try:
                ranking = await self._ranking(work, [photos[place] for place in order], parts)
            except (MalformedAnswer, Refused) as error:
                tally.counts["failed_rankings"] += 1
                tally.failures.append(error)
                return None
            tally.counts["rankings"] += 1
            if not ranking.positions:  # as in the authors' code, but not in silence
                tally.counts["empty_rankings"] += 1
                tally.failures.append(MalformedAnswer(f"a ranking named none of {n} photos"))
            tally.counts.update(ranking.faults)
            return ranks_of([order[position] for position in ranking.positions], n)

        rankings = [ranks for ranks in await all_of([one(order) for order in shown]) if ranks]
        if not rankings:
            return None
        scores = fuse_ranks(rankings, self._settings.fusion)
        return [score + n + 1 for score in scores] if self._settings.fusion == "mean-rank" else scores

    async def _ranking(self, work: _Work, photos: Sequence[_Photo], parts: QueryParts | None) -> Ranking:
        """Return the model's ranking of photos, shown in the given order."""
        settings, requests, n = self._settings, self._requests, len(photos)
        parse = partial(self._parse, n=n)
        if settings.form == "one-call":
            return await self._all_in_one(work, photos)
        if settings.evaluates:
            notes = [photo.evaluation for photo in photos if photo.evaluation is not None]
            request = requests.ranking_of_notes(work.query, parts, notes)
            return await self._ask(self._text, request, parse, work.costs)
        request = requests.ranking_of_photos(work.query, parts, [photo.jpeg for photo in photos])
        return await self._ask(self._vision, request, parse, work.costs)

    async def _all_in_one(self, work: _Work, photos: Sequence[_Photo]) -> Ranking:
        n = len(photos)

        def parse(text: str) -> tuple[Ranking, dict[int, str]]:
            return self._parse(text, n), evaluations_in(text, n)

        request = self._requests.all_in_one(work.query, [photo.jpeg for photo in photos])
        ranking, evaluations = await self._ask(self._vision, request, parse, work.costs)
        if self._settings.evaluates:
            for place, photo in enumerate(photos):
                photo.evaluation = photo.evaluation or evaluations.get(place)
        return ranking

    def _parse(self, text: str, n: int) -> Ranking:
        if self._settings.replies == "authors":
            return parse_ranking_as_authors(text, n)
        return parse_ranking(text, n, n_wanted=self._requests.n_wanted(n))

    async def _ask(
        self,
        chat: ChatModel,
        request: ChatRequest,
        parse: Callable[[str], ResultT],
        costs: Costs,
        *,
        n_tried: int = 0,
    ) -> ResultT:
        """Return the parsed reply; after an unusable one, the request is sent again as the settings say."""
        as_authors, is_last = self._settings.replies == "authors", n_tried + 1 >= self._settings.tries
        reply: ChatReply | None = None
        problem = ""
        if is_last or as_authors:  # else an unusable reply is part of the next request
            request = replace(request, usable=partial(is_readable, read=parse))
        try:
            reply = await chat.reply(request)
        except Refused:
            self.tally.counts["refused"] += 1
            if is_last or not as_authors:
                raise
        except MalformedAnswer as error:  # cut off: with the cost of its tries
            costs.append(error.cost_usd)
            raise
        if reply is not None:
            costs.append(reply.cost_usd)
            try:
                return parse(reply.text)
            except MalformedAnswer as error:
                problem = str(error)
                if is_last:
                    self.tally.counts["unusable"] += 1
                    raise MalformedAnswer(f"{chat.name}: {problem}") from error
        self.tally.counts["retried"] += 1
        if as_authors or reply is None:
            again = replace(request, seed=n_tried + 1)  # else a cache would return the same reply
        else:
            again = self._requests.again(request, reply, problem)
        return await self._ask(chat, again, parse, costs, n_tried=n_tried + 1)


def ranks_of(positions: Sequence[int], n: int) -> list[float]:
    """Return the rank of each of `n` items; unnamed items share the mean of the remaining ranks."""
    ranks = [(len(positions) + 1 + n) / 2] * n
    for rank, position in enumerate(positions, start=1):
        ranks[position] = float(rank)
    return ranks


def fuse_ranks(rankings: Sequence[Sequence[float]], rule: RankFusion = "mean-rank") -> list[float]:
    """Return a score for each item from its ranks in several rankings, higher is better.

    `mean-rank` is minus the mean rank (Borda count); `rrf` is the sum of 1 / (60 + rank), which favours first places.
    """
    items = zip(*rankings, strict=True)
    if rule == "rrf":
        return [sum(1 / (RRF_K + rank) for rank in ranks) for ranks in items]
    return [-sum(ranks) / len(ranks) for ranks in items]


def input_orders(n: int, n_orders: int, *, seed: str) -> list[list[int]]:
    """Return orders to show `n` items in: the given one, its reverse, then shuffles, each followed by its reverse.

    Over an order and its reverse every item has the same mean position, so position bias cancels to first order.
    """
    random = Random(seed)
    orders: list[list[int]] = []
    while len(orders) < n_orders:
        order = list(range(n))
        if orders:
            random.shuffle(order)
        orders += [order, order[::-1]]
    return orders[:n_orders]


def windows(n: int, size: int, step: int) -> list[tuple[int, int]]:
    """Return the half-open ranges to rank in turn, last range first, so that good items move to the front.

    Neighbouring ranges overlap by `size - step`: so many items can move from one to the other. The first `size - step`
    places of the result are right if the items that belong there win each of their rankings.

    Source:
        Sun et al., EMNLP 2023, section 3.2 (sliding windows).
    """
    ranges = []
    end = n
    while end > size:
        ranges.append((end - size, end))
        end -= step
    if n:
        ranges.append((0, min(n, size)))
    return ranges
