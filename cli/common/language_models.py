"""Language models and distillers from the settings, and reports of their use."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cli.common import options, output
from cli.common.settings import Settings
from data.errors import MissingRequirement, UsageError
from data.words import plural

if TYPE_CHECKING:
    from kb.distill.distillers import AnyDistiller
    from kb.endpoints.chat import Connection
    from kb.endpoints.endpoint import Budget, Endpoint, Meter
    from kb.endpoints.images import ImageConnection
    from kb.pipeline.estimate import DistilEstimate  # numpy is behind it

REPLIES = "replies.sqlite"
"""File in FIELDMARK_HOME: cached replies of models, for all knowledge bases and jobs."""
DRAWINGS = "drawings"
"""Folder in FIELDMARK_HOME: drawings of `[llm.image]`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDistiller:
    """The distiller of a run, and the connection to its model where it has one."""

    distiller: AnyDistiller
    chat: Connection | None = None


@contextmanager
def open_distiller(
    settings: Settings, path: Path, *, max_cost: float | None = None, offline: bool = False, is_dry_run: bool = False
) -> Iterator[OpenDistiller]:
    """Open the distiller in the settings, else the kind of the last build. A dry run calls no model and needs no key.

    Raises:
        MissingRequirement: if it needs a model and there is no `[llm.text]`, or no key for it.
        UsageError: if the cost is limited and the price is unknown; if `max_cost` or `offline` is given for a distiller
            without a model.
    """
    from kb.distill import DEFAULT
    from kb.distill.distillers import MODES, make_distiller
    from kb.endpoints.endpoint import Budget
    from kb.store.stage_outputs import last_distiller

    name = settings.distiller or last_distiller(path) or DEFAULT
    if name not in MODES:
        for option, is_given in (("--max-cost", max_cost is not None), ("--offline", offline)):
            if is_given:
                raise UsageError(
                    f"{option} needs a model, and the distiller {name} uses none.", hint="Add --distiller model."
                )
        # Prompts of the settings are for models.
        yield OpenDistiller(distiller=make_distiller(name, keep_names=settings.keep_names))
        return
    with connect_model(settings, "text", budget=Budget(max_cost), offline=offline or is_dry_run) as chat:
        made = make_distiller(name, chat=chat, prompts=settings.prompts, keep_names=settings.keep_names)
        yield OpenDistiller(distiller=made, chat=chat)


@contextmanager
def connect_model(settings: Settings, kind: str, *, budget: Budget, offline: bool) -> Iterator[Connection]:
    """Connect to the model of `[llm.KIND]`, with the reply cache in FIELDMARK_HOME; `offline` uses that alone.

    Raises:
        MissingRequirement: if there is no such table, or its key is missing.
        UsageError: if the cost is limited and the price is unknown.
    """
    from kb.endpoints.cache import ReplyCache
    from kb.endpoints.chat import Connection

    hint = f'Add [llm.{kind}] with model = "...", base_url = "https://.../v1" and api_key_env = "...".'
    endpoint, key = _endpoint(settings, kind, budget, offline=offline, missing="No model set", hint=hint)
    cache = ReplyCache(settings.home / REPLIES, fresh=options.invocation().fresh)
    with Connection(endpoint, key, cache=cache, budget=budget, offline=offline) as chat:
        yield chat


@contextmanager
def connect_images(settings: Settings, *, budget: Budget, offline: bool) -> Iterator[ImageConnection]:
    """Connect to the model of `[llm.image]`, with the drawings in FIELDMARK_HOME; errors as in `connect_model`."""
    from kb.endpoints.cache import DrawingCache
    from kb.endpoints.images import ImageConnection

    hint = 'Add [llm.image] with model = "gpt-image-1", price_per_request and api_key_env = "...".'
    endpoint, key = _endpoint(settings, "image", budget, offline=offline, missing="No image generator set", hint=hint)
    cache = DrawingCache(settings.home / DRAWINGS, fresh=options.invocation().fresh)
    with ImageConnection(endpoint, key, cache=cache, budget=budget, offline=offline) as images:
        yield images


def _endpoint(
    settings: Settings, kind: str, budget: Budget, *, offline: bool, missing: str, hint: str
) -> tuple[Endpoint, str]:
    """Return an endpoint and its key; its budget goes into the invocation, where `python -m papers` reads the cost."""
    endpoint = settings.llm.get(kind)
    if endpoint is None:
        raise MissingRequirement(f"{missing}: fieldmark.toml has no [llm.{kind}].", hint=hint)
    if budget not in (budgets := options.invocation().budgets):
        budgets.append(budget)
    return endpoint, "" if offline else key_of(endpoint, os.environ, kind=kind)


def key_of(endpoint: Endpoint, environment: Mapping[str, str], *, kind: str) -> str:
    """Return the API key of `[llm.KIND]`, empty where it needs none.

    Raises:
        MissingRequirement: if the variable that should hold it is not set, or cannot hold a key.
    """
    if endpoint.api_key_env is None:
        return ""
    key = environment.get(endpoint.api_key_env, "").strip()
    if not key:
        raise MissingRequirement(
            f"The API key of [llm.{kind}] is read from {endpoint.api_key_env}, which is not set.",
            hint=f"export {endpoint.api_key_env}=... (or remove api_key_env if the server needs no key)",
        )
    if not all("!" <= sign <= "~" for sign in key):
        raise MissingRequirement(
            f"{endpoint.api_key_env} of [llm.{kind}] contains spaces or characters that no API key has.",
            hint="Copy the key again, without quotation marks or an ellipsis.",
        )
    output.hide(key)
    return key


def usage_fields(distilling: OpenDistiller) -> dict[str, object]:
    """Return the use of the model as lines of a report; nothing without a model."""
    chat = distilling.chat
    if chat is None:
        return {}
    meter = chat.budget.meter
    calls = [f"{meter.calls:,}"]
    calls += [f"{meter.cached:,} from the cache"] if meter.cached else []
    calls += [f"{meter.cut_off:,} cut off and asked for again"] if meter.cut_off else []
    calls += [plural(chat.n_retries, "retry", "retries")] if chat.n_retries else []
    repairs = sorted(getattr(distilling.distiller, "repairs", {}).items(), key=lambda item: (-item[1], item[0]))
    return {
        "model": chat.name,
        "model calls": ", ".join(calls),
        "tokens": f"{meter.input_tokens:,} in, {meter.output_tokens:,} out",
        "cost": cost_text(meter, "text"),
        "repaired": ", ".join(f"{kind} {n:,}" for kind, n in repairs),
    }


def cost_text(meter: Meter, kind: str = "") -> str:
    """Return the cost so far in words, for a model of `[llm.KIND]`."""
    if meter.unpriced:
        return f"unknown: set price_in and price_out of {f'[llm.{kind}]' if kind else 'the models'}"
    lost = f", and up to ${meter.unsure_usd:.4f} for lost replies" if meter.unsure_usd else ""
    spent = "less than $0.0001" if 0 < meter.spent_usd < 0.0001 else f"${meter.spent_usd:.4f}"
    return spent + lost


def estimate_fields(estimate: DistilEstimate) -> dict[str, object]:
    """Return the estimated cost of distilling as lines of a report."""
    sizes = f"from {plural(estimate.measured, 'article')}" if estimate.measured else "for articles of the usual length"
    cost = None
    if (usd := estimate.cost_usd) is not None:
        cost = f"about ${usd:.2f}" if usd >= 0.01 or not usd else f"about ${usd:.1g}"
    return {
        "distiller": estimate.distiller,
        "to distil": plural(estimate.pages, "page") + (f", {estimate.done:,} done before" if estimate.done else ""),
        "model calls": f"{estimate.calls:,}, cached ones not counted",
        "tokens": f"about {_rounded(estimate.input_tokens)} in, {_rounded(estimate.output_tokens)} out ({sizes})",
        "time": f"about {max(estimate.minutes, 0.1):.1f} minutes, {estimate.n_concurrent} at a time",
        "cost": cost or "unknown: set price_in and price_out of [llm.text]",
    }


def _rounded(n: int) -> str:
    """Return a number rounded to three digits."""
    scale = 10 ** max(0, len(str(n)) - 3)
    return f"{round(n / scale) * scale:,}"
