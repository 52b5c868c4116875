"""CoTRR: a query taken apart, photos evaluated in words, and one ranking over all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypeVar

from data.contracts import ChatModel
from data.errors import BadInput, CostStop, MalformedAnswer, NotCached, Refused, SourceError
from data.records import ChatMessage, ChatRequest, Job, RankedImage
from rerank import cotrr_replies as replies
from rerank.cotrr_replies import Evaluation, QueryParts
from rerank.cotrr_tally import CotrrTally
from rerank.listwise import Fusion, Ranking, fused, input_orders, json_in, parse_ranking, position_bias, ranks_of
from rerank.order import first_stage_ranks
from rerank.pictures import MAX_SIDE, jpeg_of
from rerank.prompting import Prompts
from rerank.scheduling import FairChat, all_of, current_query
from rerank.windows import rank_in_windows

Form = Literal["staged", "one-call"]
Ablation = Literal["ranking", "evaluation", "deconstruction", "full"]
ResultT = TypeVar("ResultT")

N_PHOTOS_A_CALL: Final = 20  # models lose track of more, and servers limit them
N_NOTES_A_CALL: Final = 50
N_READERS: Final = 2  # threads that read photos
UNJUDGED_SCORE: Final = -1.0  # below every score of a ranked photo
TOKENS: Final = 1_500  # of a reply at most, without its lists; a limit of cost reckons with all of them
CUT_OFF_FACTOR: Final = 4  # so many times as much for a reply that was cut off: a thinking model thinks first
TOKENS_A_PLACE: Final = 10
TOKENS_A_NOTE: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class CotrrSettings:
    """How a list is ranked."""

    form: Form = "staged"
    """`staged`: a call for the query, one for each photo, and one for each ranking of the notes. `one-call`: all in
    one, with the photos in it."""
    deconstructs: bool = True
    evaluates: bool = True
    top_n: int | None = None
    """How many photos a ranking names; the rest follows in first-stage order. None: all."""
    window: int | None = None
    """How many photos one ranking sees; None: 20 where it sees the photos, 50 where it sees notes."""
    step: int | None = None
    """How far windows lie apart; None: half a window."""
    n_orders: int = 2
    """In how many orders the photos of a window are shown; the ranks are fused."""
    fusion: Fusion = "mean-rank"
    labels_photos: bool = True
    """Whether each photo comes in a message of its own, under its number. Some servers take one message alone."""
    max_side: int = MAX_SIDE

    def __post_init__(self) -> None:
        if self.n_orders < 1 or (self.top_n is not None and self.top_n < 1):
            raise ValueError(f"expected n_orders and top_n >= 1, got {self.n_orders} and {self.top_n}")
        if self.size < 2 or not 1 <= self.stride < self.size:
            raise ValueError(
                f"expected a window of 2 or more and 1 <= step < window, got {self.size} and {self.stride}"
            )

    @property
    def sees_photos(self) -> bool:
        """Whether rankings are made of the photos, not of notes on them."""
        return self.form == "one-call" or not self.evaluates

    @property
    def size(self) -> int:
        """The window in force."""
        return self.window or (N_PHOTOS_A_CALL if self.sees_photos else N_NOTES_A_CALL)

    @property
    def stride(self) -> int:
        """The step in force."""
        return self.step or max(1, self.size // 2)


PRESETS: Final[dict[str, CotrrSettings]] = {
    # A second ranking in the reverse order costs one more call on notes and cancels most of what a place is worth.
    "default": CotrrSettings(),
    "paper": CotrrSettings(n_orders=1),
    # The authors' published code: all candidates in one prompt, the best ten out.
    "authors": CotrrSettings(form="one-call", n_orders=1, top_n=10, window=100),
}
"""Preset -> settings with all three stages."""


def cotrr_settings(preset: str = "default", ablation: Ablation = "full") -> CotrrSettings:
    """Return a preset with all stages, or with some of them left out.

    `ranking` alone sees the query as it is and the photos; `evaluation` adds the notes on photos, `deconstruction` the
    parts of the query. (The first row of the ablation is `rerank.first_stage`.)

    Source:
        Wu et al., 2025 (arXiv 2509.14746), Table 3, models 2 to 5.

    Example:
        >>> settings = cotrr_settings("paper", "evaluation")
        >>> settings.deconstructs, settings.evaluates, settings.n_orders
        (False, True, 1)
    """
    if preset not in PRESETS:
        raise ValueError(f"expected one of {', '.join(PRESETS)}, got {preset!r}")
    return replace(
        PRESETS[preset],
        deconstructs=ablation in ("deconstruction", "full"),
        evaluates=ablation in ("evaluation", "full"),
    )


@dataclass(slots=True, kw_only=True)
class _Photo:
    """What is known of one photo of a query."""

    index: int
    jpeg: bytes = b""
    evaluation: Evaluation | None = None
    cost_usd: float | None = 0.0
    error: str | None = None


@dataclass(slots=True)
class _Bill:
    """What calls cost that are for all photos of a query."""

    cost_usd: float | None = 0.0

    def add(self, cost_usd: float | None) -> None:
        self.cost_usd = _added(self.cost_usd, cost_usd)


class CotrrReranker:
    """Ranks the photos of a query by one model's comparison of all of them; a `QueryReranker`.

    Scores say places only: n for the first of n photos, or the mean over the orders shown. A photo that cannot be read
    or evaluated is an error row behind all others; where no ranking came, all photos of the query are error rows: the
    order of the first stage is never given out as a re-ranking.

    Args:
        vision: looks at photos.
        text: takes the query apart and ranks notes; without it the vision model does.
        settings: see `cotrr_settings`.
        prompts: the prompts `cotrr_*`.
        root: the folder that relative paths of a job start from.

    Source:
        Wu et al., 2025 (arXiv 2509.14746): query deconstruction, image evaluation, listwise ranking, at temperature 0.
        Differs: prompts are in our words, with judgements from a fixed scale; lists are validated; more photos than a
        model takes are ranked in overlapping windows; `default` shows each window in two orders.
    """

    def __init__(
        self,
        vision: ChatModel,
        *,
        text: ChatModel | None = None,
        settings: CotrrSettings | None = None,
        prompts: Prompts | None = None,
        root: str | Path = ".",
    ) -> None:
        self._vision = vision if isinstance(vision, FairChat) else FairChat(vision)
        self._text = self._vision if text is None else text if isinstance(text, FairChat) else FairChat(text)
        self._settings = settings or PRESETS["default"]
        self._prompts = prompts or Prompts()
        self._root = Path(root)
        self._readers = ThreadPoolExecutor(N_READERS, thread_name_prefix="photos")
        self.tally = CotrrTally()

    async def rank(self, job: Job) -> list[RankedImage]:
        """Return all images of the job, best first.

        Raises:
            BadInput: if the job is no text query, or names an image twice.
            FieldmarkError: if the run as a whole cannot go on (a key is missing, the provider refuses us).
        """
        ranks = first_stage_ranks(job)
        if job.reference_image is not None:
            raise BadInput(f"the job {job.query_id} has a reference image, which the method cotrr does not take yet")
        if not job.text.strip():
            raise BadInput(f"the job {job.query_id} has no text")
        current_query.set(job.query_id)
        self.tally.n_queries += 1
        if not ranks:
            return []
        photos = [_Photo(index=i) for i in sorted(range(len(ranks)), key=lambda i: ranks[i])]
        bill = _Bill()
        scores: dict[int, float] = {}
        try:
            scores = await self._scores(job, photos, bill)
        except (SourceError, CostStop, NotCached) as error:
            self.tally.failures.append(error)
            for photo in photos:
                photo.error = photo.error or str(error)
        places = {photo.index: place for place, photo in enumerate(photos)}
        photos.sort(key=lambda p: (p.error is not None, -scores.get(p.index, UNJUDGED_SCORE), places[p.index]))
        share = None if bill.cost_usd is None else bill.cost_usd / max(1, len(photos))
        return [
            RankedImage(
                query_id=job.query_id,
                image_id=job.candidates[photo.index].image_id,
                rank=rank,
                score=UNJUDGED_SCORE if photo.error is not None else round(scores[photo.index], 6),
                first_stage_rank=ranks[photo.index],
                status="ok" if photo.error is None else "error",
                error=photo.error,
                evaluation=None if photo.evaluation is None else photo.evaluation.text(),
                cost_usd=_added(photo.cost_usd, share),
            )
            for rank, photo in enumerate(photos, start=1)
        ]

    def close(self) -> None:
        """End the threads that read photos."""
        self._readers.shutdown(wait=False, cancel_futures=True)

    # --- the stages -----------------------------------------------------------------------------------------------

    async def _scores(self, job: Job, photos: Sequence[_Photo], bill: _Bill) -> dict[int, float]:
        """Return index -> score of the photos that could be judged; sets the errors of the others."""
        settings = self._settings
        parts: QueryParts | None = None
        if settings.form == "staged" and settings.deconstructs:
            parts = await self._deconstruct(job, bill)
        await all_of([self._prepare(photo, job, parts) for photo in photos])
        judged = [photo for photo in photos if photo.error is None]
        by_index = {photo.index: photo for photo in judged}
        n, failed = len(judged), self.tally.n_failed_windows
        n_windows = 0
        last: list[float] = []  # the scores of the window that was ranked last: all there is where it is the only one

        async def rank(shown: Sequence[int]) -> Sequence[int]:
            nonlocal last, n_windows
            n_windows += 1
            last = await self._window(job, [by_index[i] for i in shown], parts, bill)
            order = sorted(range(len(shown)), key=lambda place: (-last[place], place))
            return [shown[place] for place in order]

        start = [photo.index for photo in judged]
        order = await rank_in_windows(start, size=settings.size, step=settings.stride, rank=rank)
        if n_windows and self.tally.n_failed_windows - failed >= n_windows:
            raise MalformedAnswer(f"no ranking of the photos of {job.query_id} came")
        if settings.form == "one-call" and settings.evaluates:
            n_evaluated = sum(photo.evaluation is not None for photo in judged)
            self.tally.n_evaluated += n_evaluated
            self.tally.n_not_evaluated += n - n_evaluated
        if n_windows == 1:
            return dict(zip(start, last, strict=True))
        return {index: float(n - place) for place, index in enumerate(order)}

    async def _deconstruct(self, job: Job, bill: _Bill) -> QueryParts | None:
        request = _asked(self._prompts.fill("cotrr_deconstruct", query=job.text), replies.parts_schema())
        try:
            parts = await self._ask(self._text, request, replies.parse_parts, bill.add)
        except (MalformedAnswer, Refused) as error:
            self.tally.n_not_deconstructed += 1
            self.tally.failures.append(error)
            return None
        self.tally.parts[job.query_id] = parts
        return parts

    async def _prepare(self, photo: _Photo, job: Job, parts: QueryParts | None) -> None:
        """Read a photo, and have it evaluated where rankings are made of notes."""
        path = self._root / job.candidates[photo.index].path
        read = partial(jpeg_of, path, max_side=self._settings.max_side)
        try:
            photo.jpeg = await asyncio.get_running_loop().run_in_executor(self._readers, read)
            self.tally.n_read += 1
            if not self._settings.sees_photos:
                photo.evaluation = await self._evaluate(photo, job, parts)
                photo.jpeg = b""  # nobody looks at it again
                self.tally.n_evaluated += 1
        except (BadInput, SourceError, CostStop, NotCached) as error:
            self.tally.failures.append(error)
            photo.error = str(error)

    async def _evaluate(self, photo: _Photo, job: Job, parts: QueryParts | None) -> Evaluation:
        asked = tuple(parts.given()) if parts is not None else ()
        prompt = self._prompts.fill(
            "cotrr_evaluate",
            query=job.text,
            parts=_as_block(parts),
            part_wise=', part by part and overall ("overall")' if asked else ' overall ("overall")',
            scale=f"The judgements, from best to worst: {', '.join(replies.JUDGEMENTS)}.",
        )
        request = ChatRequest(
            messages=(ChatMessage(role="user", text=prompt, images=(photo.jpeg,)),),
            json_schema=replies.evaluation_schema(asked),
            max_tokens=TOKENS,
        )

        def charge(cost_usd: float | None) -> None:
            photo.cost_usd = _added(photo.cost_usd, cost_usd)

        return await self._ask(self._vision, request, lambda text: replies.parse_evaluation(text, asked), charge)

    # --- rankings -------------------------------------------------------------------------------------------------

    async def _window(self, job: Job, photos: Sequence[_Photo], parts: QueryParts | None, bill: _Bill) -> list[float]:
        """Return the score of each photo of a window, from all orders that it was shown in.

        A window that no ranking came of keeps its order: its scores fall with the place.
        """
        tally, n = self.tally, len(photos)
        tally.n_windows += 1
        if n == 1 and not (self._settings.form == "one-call" and self._settings.evaluates):
            return [1.0]  # nothing to rank, and nothing else to learn
        shown = input_orders(n, self._settings.n_orders, seed=job.query_id)

        async def one(order: Sequence[int]) -> list[float] | None:
            try:
                ranking = await self._ranking(job, [photos[place] for place in order], parts, bill)
            except (MalformedAnswer, Refused) as error:
                tally.n_failed_rankings += 1
                tally.failures.append(error)
                return None
            tally.repairs += ranking.repairs
            return ranks_of([order[position] for position in ranking.positions], n)

        came = [
            (order, ranks) for order, ranks in zip(shown, await all_of([one(o) for o in shown]), strict=True) if ranks
        ]
        if not came:
            tally.n_failed_windows += 1
            return [float(n - place) for place in range(n)]
        if len(came) == len(shown):
            tally.add_bias(position_bias(shown, [ranks for _, ranks in came]))
        scores = fused([ranks for _, ranks in came], self._settings.fusion)
        return [score + n + 1 for score in scores] if self._settings.fusion == "mean-rank" else scores

    async def _ranking(self, job: Job, photos: Sequence[_Photo], parts: QueryParts | None, bill: _Bill) -> Ranking:
        """Return the ranking of photos in the order in which they are shown."""
        settings, n = self._settings, len(photos)
        wanted = n if settings.top_n is None else min(settings.top_n, n)
        parse = partial(parse_ranking, n=n, n_wanted=wanted)
        values = {"query": job.text, "n": str(n), "wanted": _wanted(n, wanted)}
        if settings.form == "one-call":
            return await self._all_in_one(photos, values, wanted, bill)
        if settings.evaluates:
            notes = "\n".join(f"[{i}] {p.evaluation.text()}" for i, p in enumerate(photos, 1) if p.evaluation)
            prompt = self._prompts.fill("cotrr_rank", **values, parts=_as_block(parts), notes=notes)
            request = _asked(prompt, replies.ranking_schema(), max_tokens=TOKENS + TOKENS_A_PLACE * n)
            return await self._ask(self._text, request, parse, bill.add)
        prompt = self._prompts.fill("cotrr_rank_photos", **values, parts=_as_block(parts))
        request = self._with_photos(prompt, photos, replies.ranking_schema(), TOKENS + TOKENS_A_PLACE * n)
        return await self._ask(self._vision, request, parse, bill.add)

    async def _all_in_one(self, photos: Sequence[_Photo], values: dict[str, str], wanted: int, bill: _Bill) -> Ranking:
        chosen = {"deconstructs": self._settings.deconstructs, "evaluates": self._settings.evaluates}
        names = ["deconstruct"] * chosen["deconstructs"] + ["evaluate"] * chosen["evaluates"] + ["rank"]
        steps = "\n\n".join(f"{i}. {self._prompts.fill(f'cotrr_step_{name}')}" for i, name in enumerate(names, start=1))
        prompt = self._prompts.fill("cotrr_one_call", **values, steps=steps, example=replies.example(**chosen))
        n = len(photos)
        schema = replies.one_call_schema(**chosen)
        request = self._with_photos(prompt, photos, schema, TOKENS + TOKENS_A_NOTE * n)

        def parse(text: str) -> tuple[Ranking, dict[int, Evaluation]]:
            ranking = parse_ranking(text, n, n_wanted=wanted)
            try:
                payload, _ = json_in(text)
            except MalformedAnswer:
                payload = {}
            return ranking, replies.evaluations_in(payload, n)

        ranking, evaluations = await self._ask(self._vision, request, parse, bill.add)
        if chosen["evaluates"]:
            for place, photo in enumerate(photos):
                photo.evaluation = photo.evaluation or evaluations.get(place)
        return ranking

    def _with_photos(
        self, prompt: str, photos: Sequence[_Photo], schema: dict[str, object], max_tokens: int
    ) -> ChatRequest:
        if self._settings.labels_photos:
            messages = [ChatMessage(role="user", text=prompt)]
            messages += [
                ChatMessage(role="user", text=f"Photo {i}:", images=(photo.jpeg,)) for i, photo in enumerate(photos, 1)
            ]
        else:
            images = tuple(photo.jpeg for photo in photos)
            messages = [
                ChatMessage(role="user", text=f"{prompt}\n\nThe photos follow, 1 to {len(photos)}:", images=images)
            ]
        return ChatRequest(messages=tuple(messages), json_schema=schema, max_tokens=max_tokens)

    # --- asking ---------------------------------------------------------------------------------------------------

    async def _ask(
        self,
        chat: ChatModel,
        request: ChatRequest,
        parse: Callable[[str], ResultT],
        charge: Callable[[float | None], None],
    ) -> ResultT:
        """Return what `parse` makes of a reply; one that is no use is asked for once more, saying what was wrong.

        Raises:
            MalformedAnswer: if the second one is no use either.
            SourceError: if the provider failed for good, or the model declined.
        """
        for attempt in (1, 2):
            try:
                reply = await chat.reply(request)
            except Refused:
                self.tally.n_declined += 1
                raise
            charge(reply.cost_usd)
            try:
                return parse(reply.text)
            except MalformedAnswer as error:
                cause = "it was cut off" if reply.finish == "length" else str(error)
                if attempt == 2:
                    self.tally.n_useless += 1
                    raise MalformedAnswer(f"{chat.name}: {cause}") from error
                self.tally.n_asked_again += 1
                again = ChatMessage(role="user", text=self._prompts.fill("cotrr_again", problem=cause))
                said = ChatMessage(role="assistant", text=reply.text or "(nothing)")
                # The request differs, so that a cache does not give the same reply.
                request = replace(request, messages=(*request.messages, said, again))
                if reply.finish == "length":
                    request = replace(request, max_tokens=(request.max_tokens or TOKENS) * CUT_OFF_FACTOR)
        raise AssertionError  # the loop returns or raises


def _asked(prompt: str, schema: dict[str, object], *, max_tokens: int = TOKENS) -> ChatRequest:
    return ChatRequest(messages=(ChatMessage(role="user", text=prompt),), json_schema=schema, max_tokens=max_tokens)


def _as_block(parts: QueryParts | None) -> str:
    return f"\nThe query, taken apart:\n{parts.text()}\n" if parts is not None else ""


def _wanted(n: int, wanted: int) -> str:
    best = f"the numbers of all {n} photos" if wanted == n else f"the numbers of the best {wanted} of the {n} photos"
    return f'In "ranking", list {best}, each once, the best first.'


def _added(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other
