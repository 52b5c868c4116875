"""What `kb rerank --dry-run` says: how many calls a run would make at most, and what they would cost about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cli.common import output
from cli.common.config import Settings
from cli.verbs.rerank.order import RerankOrder

if TYPE_CHECKING:
    from cli.verbs.rerank.resources import Made
    from data.records import Job

MOST_QUESTIONS = 3
# Tokens as they are usual, for cost alone; replies say what they really took.
PROMPT, ANSWER, REASONED_ANSWER = 500, 20, 400
TEXT, SOURCES, WRITTEN = 1_000, 2_000, 400  # a request for questions or an explanation, what is found, what is written
NOTE, PLACE, COMPARISON = 120, 5, 200  # in a ranking


@dataclass(frozen=True, slots=True, kw_only=True)
class _Calls:
    """Calls of one kind: how many, of which model `[llm.KIND]`, with how many photos and tokens each."""

    n: int
    kind: str
    photos: int = 0
    tokens_in: int = PROMPT
    tokens_out: int = WRITTEN


def forecast(order: RerankOrder, settings: Settings, jobs: Sequence[Job], made: Made) -> str:
    """Return what a run would do at most."""
    n_photos = sum(len(job.candidates) for job in jobs)
    shown: dict[str, object] = {"queries": len(jobs), "photos": n_photos, "judge": made.judge}
    context = list(_context(jobs, made))
    calls = [*context, *(_cotrr if order.method == "cotrr" else _decompose)(order, jobs, made)]
    if not calls:
        return output.as_fields(shown)
    n = sum(call.n for call in calls)
    if order.method == "cotrr":
        shown |= {"calls, without those asked again": n}
    else:
        shown |= {"calls at most, with log-probabilities and nothing asked again": n}
    if context:
        shown |= {"of these for context": sum(call.n for call in context)}
    most = _cost_usd(calls, settings)
    shown |= {
        "cost about, at most": "unknown: set price_in and price_out"
        if most is None
        else f"${most:.2f}, ${most / max(1, len(jobs)):.4f} a query"
    }
    return output.as_fields(shown)


def _context(jobs: Sequence[Job], made: Made) -> Iterator[_Calls]:
    for kind in made.explaining:
        yield _Calls(n=len(jobs), kind=kind, tokens_in=SOURCES if kind == "text" else PROMPT)


def _decompose(order: RerankOrder, jobs: Sequence[Job], made: Made) -> Iterator[_Calls]:
    if made.means.text is not None:
        yield _Calls(n=len(jobs), kind=made.kinds[-1], tokens_in=TEXT)
    if made.judge != "vision":
        return
    chosen = order.settings(made.judge)
    is_together = chosen.is_together and chosen.is_chained and not order.reasoning and order.votes == 1
    n_each = 1 if is_together or order.direct else MOST_QUESTIONS
    n = sum(len(job.candidates) for job in jobs) * n_each * order.votes
    yield _Calls(n=n, kind="vision", photos=1, tokens_out=REASONED_ANSWER if order.reasoning else ANSWER)
    yield _Calls(n=2, kind="vision", photos=1, tokens_out=ANSWER)  # the probe


def _cotrr(order: RerankOrder, jobs: Sequence[Job], made: Made) -> Iterator[_Calls]:
    from rerank.cotrr.windows import windows

    settings = order.listwise.settings(order.preset)
    text = made.kinds[-1]  # the vision model itself, where there is no other
    is_staged = settings.form == "staged"
    for job in jobs:
        if is_staged and settings.deconstructs:
            yield _Calls(n=1, kind=text)
        if is_staged and settings.evaluates:
            yield _Calls(n=len(job.candidates), kind="vision", photos=1)
        for start, end in windows(len(job.candidates), settings.size, settings.stride):
            n = end - start
            if settings.sees_photos:
                tokens_out = COMPARISON + (PLACE if is_staged else NOTE) * n
                yield _Calls(n=settings.n_orders, kind="vision", photos=n, tokens_out=tokens_out)
            else:
                tokens = {"tokens_in": PROMPT + NOTE * n, "tokens_out": COMPARISON + PLACE * n}
                yield _Calls(n=settings.n_orders, kind=text, **tokens)


def _cost_usd(calls: Sequence[_Calls], settings: Settings) -> float | None:
    """Return what the calls cost; None where a price is not known."""
    cost = 0.0
    for call in calls:
        endpoint = settings.llm[call.kind]
        if endpoint.prices is None:
            return None
        tokens_in = call.tokens_in + call.photos * endpoint.image_tokens
        cost += call.n * endpoint.prices.cost_usd(tokens_in, call.tokens_out)
    return cost
