"""Forecast of a run: the number of calls to models, and their approximate cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from data.records import Job
from rerank.captions.visa import N_QUESTIONS
from rerank.cotrr.orders import windows
from rerank.decompose.questions import MAX_QUESTIONS
from rerank.reranker import first_of
from rerank.run_plan import RunPlan

# Typical tokens, for the cost forecast only; replies report the real ones.
PROMPT: Final = 500
ANSWER, REASONED_ANSWER = 20, 400
TEXT, SOURCES, WRITTEN = 1_000, 2_000, 400  # request for questions, sources of an explanation, written text
INSTRUCTION, DRAWING = 40, 4_160  # a drawing of gpt-image-1 at high quality, for prices by token
NOTE, PLACE, COMPARISON = 120, 5, 200  # parts of a ranking


class PricedModel(Protocol):
    """A model with prices, such as an endpoint."""

    @property
    def image_tokens(self) -> int:
        """Tokens per image."""

    def cost_usd(self, input_tokens: int, output_tokens: int) -> float | None:
        """Return the cost of one request in US dollars; None if the prices are unknown."""

    def drawing_usd(self, n: int, input_tokens: int, output_tokens: int) -> float | None:
        """Return the cost of a request for `n` drawings in US dollars; None if the prices are unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Expected calls of one kind."""

    n: int
    model: str
    """Name of the endpoint."""
    photos: int = 0
    """Photos per call."""
    drawings: int = 0
    """Drawings per call."""
    tokens_in: int = PROMPT
    tokens_out: int = WRITTEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Upper bounds for a run, without retries and, for decompose, with log-probabilities."""

    n_queries: int
    n_photos: int
    calls: tuple[Calls, ...] = ()
    context_calls: tuple[Calls, ...] = ()

    @property
    def n_calls(self) -> int:
        """All calls."""
        return sum(call.n for call in (*self.context_calls, *self.calls))

    def cost_usd(self, models: Mapping[str, PricedModel]) -> float | None:
        """Return the cost in US dollars; None if a price is unknown."""
        cost = 0.0
        for call in (*self.context_calls, *self.calls):
            model = models[call.model]
            tokens_in = call.tokens_in + call.photos * model.image_tokens
            if call.drawings:
                each = model.drawing_usd(call.drawings, tokens_in, call.tokens_out)
            else:
                each = model.cost_usd(tokens_in, call.tokens_out)
            if each is None:
                return None
            cost += call.n * each
        return cost


def forecast(plan: RunPlan, jobs: Sequence[Job]) -> Forecast:
    """Return the expected calls of a run."""
    jobs = [first_of(job, plan.settings.depth) for job in jobs]
    calls = _CALLS.get(plan.method)
    return Forecast(
        n_queries=len(jobs),
        n_photos=sum(len(job.candidates) for job in jobs),
        calls=tuple(calls(plan, jobs)) if calls is not None else (),
        context_calls=tuple(
            Calls(n=len(jobs), model=model, tokens_in=SOURCES if model == "text" else PROMPT)
            for model in plan.context_models
        ),
    )


def _decompose(plan: RunPlan, jobs: Sequence[Job]) -> Iterator[Calls]:
    yield from _text(plan, jobs, tokens_in=TEXT)
    if plan.judge != "vision":
        return
    settings, vision = plan.settings.decompose, plan.settings.vision
    is_together = settings.together and settings.is_chained and vision.reasons == "none" and vision.samples == 1
    n_each = 1 if is_together or settings.direct else MAX_QUESTIONS
    n = sum(len(job.candidates) for job in jobs) * n_each * vision.samples
    yield Calls(n=n, model="vision", photos=1, tokens_out=ANSWER if vision.reasons == "none" else REASONED_ANSWER)
    yield Calls(n=2, model="vision", photos=1, tokens_out=ANSWER)  # the probe


def _text(plan: RunPlan, jobs: Sequence[Job], **tokens: int) -> Iterator[Calls]:
    if plan.text_model is not None:
        yield Calls(n=len(jobs), model=plan.text_model, **tokens)


def _visret(plan: RunPlan, jobs: Sequence[Job]) -> Iterator[Calls]:
    yield from _text(plan, jobs, tokens_out=INSTRUCTION)
    if plan.generator == "endpoint":
        n = plan.settings.visret.images
        yield Calls(n=len(jobs), model="image", drawings=n, tokens_in=INSTRUCTION, tokens_out=n * DRAWING)


def _captions(plan: RunPlan, jobs: Sequence[Job]) -> Iterator[Calls]:
    yield from _text(plan, jobs, tokens_in=TEXT)
    n = sum(len(job.candidates) for job in jobs)
    if plan.settings.captions.captioner == "vision":
        yield Calls(n=n, model="vision", photos=1, tokens_out=NOTE)
    if plan.method == "visa":
        yield Calls(n=n * N_QUESTIONS, model="vision", photos=1, tokens_out=INSTRUCTION)


def _cotrr(plan: RunPlan, jobs: Sequence[Job]) -> Iterator[Calls]:
    settings = plan.settings.cotrr
    text = plan.text_model or "vision"
    is_staged = settings.form == "staged"
    for job in jobs:
        n_references = int(job.reference_image is not None)
        if is_staged and settings.deconstructs:
            yield Calls(n=1, model="vision" if n_references else text, photos=n_references)
        if is_staged and settings.evaluates:
            yield Calls(n=len(job.candidates), model="vision", photos=1 + n_references)
        for start, end in windows(len(job.candidates), settings.window_size, settings.stride):
            n = end - start
            if settings.sees_photos:
                tokens_out = COMPARISON + (PLACE if is_staged else NOTE) * n
                yield Calls(n=settings.orders, model="vision", photos=n + n_references, tokens_out=tokens_out)
            else:
                tokens = {"tokens_in": PROMPT + NOTE * n, "tokens_out": COMPARISON + PLACE * n}
                yield Calls(n=settings.orders, model=text, **tokens)


_CALLS: Final = {"cotrr": _cotrr, "decompose": _decompose, "captions": _captions, "visa": _captions} | dict.fromkeys(
    ("visret", "rewrite"), _visret
)
