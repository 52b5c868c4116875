"""Resources of `kb rerank`: models, encoders, knowledge and caches, opened as the plan of the run says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cli.common import wiring
from cli.common.config import Settings
from cli.common.language_models import connect_images, connect_model

if TYPE_CHECKING:
    from kb.endpoints.budget import Budget
    from kb.endpoints.connection import Connection
    from kb.endpoints.drawing.connection import ImageConnection
    from kb.lookup.settings import ContextSettings
    from rerank.methods import RerankResources
    from rerank.run_plan import RunPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenResources:
    """The resources of a run, and its connections to models."""

    resources: RerankResources
    connections: Sequence[Connection | ImageConnection] = ()
    budget: Budget | None = None
    """Cost of all models together; None if the run asks none."""

    @property
    def n_retries(self) -> int:
        """Repeated attempts."""
        return sum(connection.n_retries for connection in self.connections)


@contextmanager
def open_resources(
    settings: Settings,
    plan: RunPlan,
    *,
    context: ContextSettings,
    max_cost: float | None = None,
    offline: bool = False,
    rejudge: bool = False,
) -> Iterator[OpenResources]:
    """Open the resources that the plan names, and close them at the end.

    `context` are the sources of context, of which the plan may exclude wiki and web.
    `offline` uses cached replies only and needs no key; `rejudge` ignores judgements of earlier runs.

    Raises:
        MissingRequirement: if a model is not configured, or its key is missing.
        UsageError: if the cost is limited and a price is unknown.
    """
    from kb.endpoints.budget import Budget
    from rerank.judgement_cache import JudgementCache
    from rerank.methods import RerankResources
    from rerank.prompting import Prompts
    from rerank.scheduling import FairChat

    if plan.method == "similarity":
        yield OpenResources(resources=RerankResources(encoders=wiring.load_encoders(settings.profile).text_image))
        return
    with ExitStack() as stack:
        budget, look_up, parts, species = Budget(max_cost), None, None, None
        profile: str | None = settings.profile
        if plan.needs_knowledge:
            store = stack.enter_context(wiring.open_knowledge_base(settings))
            sources = stack.enter_context(
                wiring.open_context_sources(
                    settings,
                    context=replace(
                        context,
                        wiki=context.wiki if plan.uses_wiki else "never",
                        web=context.web if plan.context_search else "never",
                    ),
                    model=None if plan.context_model else False,
                    budget=budget,
                    offline=offline,
                )
            )
            look_up, parts = wiring.context_look_up(store, sources), wiring.query_parts(store)
            species = wiring.species_scorer(store) if plan.judge == "encoder" else None
            profile = store.info.profile
        connections = [
            stack.enter_context(connect_model(settings, name, budget=budget, offline=offline)) for name in plan.models
        ]
        chats = {
            name: FairChat(
                connection,
                n_in_flight=settings.llm[name].max_concurrent,
                finishes_first=budget.limit_usd is not None,
            )
            for name, connection in zip(plan.models, connections, strict=True)
        }
        images = stack.enter_context(connect_images(settings, budget=budget, offline=offline)) if plan.draws else None
        cache = JudgementCache(None if rejudge else settings.home / "rerank" / "judgements.sqlite")
        resources = RerankResources(
            encoders=wiring.load_encoders(profile).text_image if plan.judge == "encoder" else (),
            text=chats[plan.text_model] if plan.text_model else None,
            vision=chats.get("vision") if plan.judge == "vision" else None,
            context=look_up,
            parts=parts,
            draw=images.draw if images is not None else None,
            species=species,
            cache=stack.enter_context(cache),
            prompts=Prompts(settings.prompts),
        )
        has_models = bool(plan.models or plan.context_models or plan.draws)
        opened: list[Connection | ImageConnection] = [*connections, *([images] if images is not None else [])]
        yield OpenResources(resources=resources, connections=opened, budget=budget if has_models else None)
