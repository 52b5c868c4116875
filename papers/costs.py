"""Cost of a published table: model calls, tokens, money and GPU hours, from the counts of its data sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final

from data.words import plural
from papers.catalogue import Calls, Model, Paper, Step, Table

if TYPE_CHECKING:
    from kb.endpoints.endpoint import Endpoint

PHOTOS_PER_S: Final = 100  # one encoder of ViT-L size on one A100 or H100, photos read from disk: a guess


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Cost of one step on one data set, or of several."""

    n_calls: int
    tokens_in: int
    tokens_out: int
    usd: float | None
    """None if a price is unknown."""
    gpu_hours: float

    def __add__(self, other: Cost) -> Cost:
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Cost(
            n_calls=self.n_calls + other.n_calls,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            usd=usd,
            gpu_hours=self.gpu_hours + other.gpu_hours,
        )


NOTHING: Final = Cost(n_calls=0, tokens_in=0, tokens_out=0, usd=0.0, gpu_hours=0.0)


def runs_of(paper: Paper, table: Table) -> Iterator[tuple[str, str]]:
    """Yield the shared steps of a table, with no data set, and then its steps on each data set."""
    yield from ((name, "") for name in table.steps if not paper.steps[name].each)
    yield from ((name, data) for data in table.data for name in table.steps if paper.steps[name].each)


def cost_of_table(paper: Paper, table: Table, endpoints: Mapping[str, Endpoint] | None = None) -> Cost:
    """Return the cost of all steps of a table."""
    return sum((cost_of(paper, name, data, endpoints) for name, data in runs_of(paper, table)), NOTHING)


def cost_of(paper: Paper, step: str, data: str, endpoints: Mapping[str, Endpoint] | None = None) -> Cost:
    """Return the cost of a step on a data set.

    Args:
        paper: the paper.
        step: name of the step.
        data: name of the data set; empty for a step that all share.
        endpoints: models at hand; without them the paper's models at their list prices.
    """
    found = paper.steps[step]
    counts = paper.data[data].counts if data else {}
    encoded = number_of(found.encodes, counts) if found.encodes else 0
    total = Cost(n_calls=0, tokens_in=0, tokens_out=0, usd=0.0, gpu_hours=encoded / PHOTOS_PER_S / 3600)
    for calls in found.calls:
        total += _cost_of_calls(paper.model(step, calls.kind), calls, counts, endpoints)
    return total


def derivations(paper: Paper, step: str, data: str) -> Iterator[str]:
    """Yield the derivation of each kind of call: `160 queries x 100 photos x 3 questions = 48,000 calls of vision`."""
    counts = paper.data[data].counts if data else {}
    for calls in paper.steps[step].calls:
        n = number_of(calls.times, counts)
        factors = " x ".join(_factor(each, counts) for each in calls.times)
        yield (
            f"{factors} = {plural(n, 'call')} of [llm.{calls.kind}] "
            f"({calls.tokens_in:,} tokens in and {calls.tokens_out:,} out each: {calls.basis})"
        )


def number_of(factors: Sequence[str], counts: Mapping[str, int]) -> int:
    """Return the product of factors: counts by name, and numbers with a unit."""
    return prod(counts[each] if each in counts else int(each.split()[0]) for each in factors)


def needed_kinds(step: Step) -> tuple[str, ...]:
    """Return the endpoints that a step calls."""
    return tuple(dict.fromkeys(calls.kind for calls in step.calls))


def cost_text(cost: Cost) -> str:
    """Return a cost in words.

    Example:
        >>> cost_text(Cost(n_calls=2000, tokens_in=8_000_000, tokens_out=40_000, usd=16.3, gpu_hours=0.0))
        '2,000 model calls, 8.0 M tokens in, 0.04 M out, about $16'
    """
    parts = []
    if cost.n_calls:
        parts.append(plural(cost.n_calls, "model call"))
        parts.append(f"{cost.tokens_in / 1e6:,.1f} M tokens in, {cost.tokens_out / 1e6:,.2f} M out")
        parts.append("cost unknown (set price_in and price_out)" if cost.usd is None else f"about ${cost.usd:,.0f}")
    if cost.gpu_hours:
        parts.append(f"about {cost.gpu_hours:.1f} GPU hours")
    return ", ".join(parts) or "nothing"


def _factor(factor: str, counts: Mapping[str, int]) -> str:
    return f"{counts[factor]:,} {factor}" if factor in counts else factor


def _cost_of_calls(
    model: Model, calls: Calls, counts: Mapping[str, int], endpoints: Mapping[str, Endpoint] | None
) -> Cost:
    n = number_of(calls.times, counts)
    usd: float | None
    if endpoints is None:
        tokens = calls.tokens_in * model.price_in + calls.tokens_out * model.price_out
        usd = n * (tokens / 1e6 + model.price_per_request)
    else:
        endpoint = endpoints.get(calls.kind)
        each = None
        if endpoint is not None:
            each = endpoint.cost_usd(calls.tokens_in, calls.tokens_out, drawings=int(calls.kind == "image"))
        usd = None if each is None else n * each
    speed = model.tokens_per_s if not usd else 0
    hours = n * calls.tokens_in / speed / 3600 if speed else 0.0
    return Cost(n_calls=n, tokens_in=n * calls.tokens_in, tokens_out=n * calls.tokens_out, usd=usd, gpu_hours=hours)
