"""Resources of `kb rerank`: models, encoders, knowledge and caches, opened as the plan of the run says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cli.common import wiring
from cli.common.captions import text_baseline
from cli.common.config import Settings
from cli.common.drawings import named_anchors, open_generator
from cli.common.language_models import connect_model

if TYPE_CHECKING:
    from data.contracts import TextImageEncoder
    from kb.endpoints.budget import Budget
    from kb.endpoints.connection import Connection
    from kb.endpoints.drawing.connection import ImageConnection
    from kb.lookup.context_settings import ContextSettings
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
    encoder: TextImageEncoder | None = None,
) -> Iterator[OpenResources]:
    """Open the resources that the plan names, and close them at the end.

    `context` are the sources of context, of which the plan may exclude wiki and web.
    `offline` uses cached replies only and needs no key; `rejudge` ignores judgements of earlier runs.
    `encoder` compares queries with photos, in place of the profile's.

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
        encoders = wiring.load_encoders(wiring.profile_of(settings)).text_image if encoder is None else (encoder,)
        yield OpenResources(resources=RerankResources(encoders=encoders))
        return
    with ExitStack() as stack:
        budget, look_up, parts, species = Budget(max_cost), None, None, None
        anchors, generator, images = None, None, None
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
            if plan.generator == "anchors":
                own = wiring.load_encoders(profile).text_image[0] if encoder is None else encoder
                anchors = named_anchors(store, own.space)
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
        if plan.generator is not None:
            visret = plan.settings.visret
            generator, images = open_generator(settings, visret, stack, anchors=anchors, budget=budget, offline=offline)
        cache = JudgementCache(None if rejudge else settings.home / "rerank" / "judgements.sqlite")
        stack.enter_context(cache)
        captioner = scorer = None
        if plan.reads_texts:
            captioner, scorer = text_baseline(
                settings, plan.settings.captions, chats.get("vision"), cache=cache, profile=profile
            )
        encoders = () if encoder is None else (encoder,)
        if plan.judge == "encoder" and encoder is None:
            encoders = wiring.load_encoders(profile).text_image
        resources = RerankResources(
            encoders=encoders,
            text=chats[plan.text_model] if plan.text_model else None,
            vision=chats.get("vision") if plan.judge == "vision" else None,
            context=look_up,
            parts=parts,
            generator=generator,
            species=species,
            cache=cache,
            captioner=captioner,
            scorer=scorer,
            prompts=Prompts(settings.prompts),
        )
        has_models = bool(plan.models or plan.context_models or images is not None)
        opened: list[Connection | ImageConnection] = [*connections, *([images] if images is not None else [])]
        yield OpenResources(resources=resources, connections=opened, budget=budget if has_models else None)
