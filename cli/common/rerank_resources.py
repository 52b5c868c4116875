"""Resources of the re-ranking methods: models, encoders and knowledge, opened as the plan of a run says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cli.common import options, wiring
from cli.common.language_models import DRAWINGS, connect_images, connect_model, cost_text
from cli.common.settings import Settings
from data.errors import MissingRequirement
from data.words import plural

if TYPE_CHECKING:
    from data.cache_file import CacheFile
    from data.contracts import ChatModel, TextImageEncoder
    from kb.endpoints.chat import Connection
    from kb.endpoints.endpoint import Budget
    from kb.endpoints.images import ImageConnection
    from kb.lookup.context_settings import ContextSettings
    from kb.store.knowledge_base import KnowledgeBase
    from rerank.captions import Captioner, LocalCaptioner, TextScorer
    from rerank.methods import RerankResources
    from rerank.plan import RunPlan
    from rerank.settings import CaptionSettings, VisretSettings
    from rerank.visret import Generator, NamedVectors


def photo_cache(settings: Settings) -> CacheFile:
    """Return the cache of captions, vectors and chances of species by models on this machine, for each photo."""
    from data.cache_file import CacheFile

    return CacheFile(settings.home / "rerank" / "photos.sqlite", fresh=options.invocation().fresh)


def text_baseline(
    settings: Settings,
    captions: CaptionSettings,
    vision: ChatModel | None,
    *,
    profile: str | None,
) -> tuple[Captioner, TextScorer]:
    """Return the captioner and the scorer of texts.

    Raises:
        MissingRequirement: if captions need `[llm.vision]`, and it is not set.
        MissingDependency: if a local model is set and its package is not installed.
    """
    from rerank.captions import SentenceScorer, VisionCaptioner
    from rerank.prompting import Prompts

    captioner: Captioner
    if captions.captioner != "vision":
        captioner = local_captioner(captions.captioner, photo_cache(settings))
    elif vision is None:
        raise MissingRequirement(
            "Captions need a vision model: [llm.vision] is not set.",
            hint="Set [llm.vision] in fieldmark.toml, or captions.captioner to a BLIP model.",
        )
    else:
        captioner = VisionCaptioner(vision, prompts=Prompts(settings.prompts))
    scorer: TextScorer
    if captions.scorer == "sentence":
        scorer = SentenceScorer(wiring.load_encoders(profile).sentence)
    else:
        from recognize.encoders.loading import require
        from recognize.encoders.sentence_models import CrossEncoderScorer

        require("sentence_transformers", "sentence-transformers")
        scorer = CrossEncoderScorer(captions.scorer)
    return captioner, scorer


def local_captioner(name: str, cache: CacheFile | None = None) -> LocalCaptioner:
    """Return a captioner on this machine, which stores its captions in a cache if one is given.

    Raises:
        MissingDependency: if transformers is not installed.
    """
    from recognize.encoders.loading import require
    from recognize.encoders.transformers_models import BlipCaptioner
    from rerank.captions import LocalCaptioner

    require("transformers", "transformers")
    return LocalCaptioner(BlipCaptioner(name), cache)


def open_generator(
    settings: Settings,
    visret: VisretSettings,
    stack: ExitStack,
    *,
    anchors: Callable[[str, int], NamedVectors | None] | None = None,
    budget: Budget,
    offline: bool,
) -> tuple[Generator, ImageConnection | None]:
    """Open the generator of drawings, closed with the stack, and the connection to `[llm.image]` if it is that.

    Errors as in `connect_images`; MissingDependency without diffusers, UsageError without the folder of drawings.
    """
    from rerank.visret import AnchorGenerator, FolderGenerator, PromptGenerator

    if visret.origin == "folder" and visret.drawings is not None:
        return FolderGenerator(visret.drawings), None
    if visret.origin == "anchors" and anchors is not None:
        return AnchorGenerator(anchors), None
    if visret.origin == "diffusers":
        from kb.endpoints.cache import DrawingCache
        from kb.endpoints.images import PipelineImages

        cache = DrawingCache(settings.home / DRAWINGS, fresh=options.invocation().fresh)
        local = PipelineImages(visret.model, cache=cache, seed=visret.seed, arguments=visret.pipeline)
        return PromptGenerator(local.draw), None
    images = stack.enter_context(connect_images(settings, budget=budget, offline=offline))
    return PromptGenerator(images.draw), images


def named_anchors(store: KnowledgeBase, space: str) -> Callable[[str, int], NamedVectors | None]:
    """Return a thread-safe function from a text and n to the first n anchors of each species that the text names."""
    import numpy as np

    from rerank.visret import NamedVectors

    parts_of, table = wiring.query_parts(store), store.anchor_vectors(space)

    def find(text: str, n: int) -> NamedVectors | None:
        taxa = dict.fromkeys(taxon for part in parts_of(text) if part.kind == "species" for taxon in part.taxon_ids)
        owners = [store.taxon_ids.index(taxon) for taxon in taxa]
        rows = [row for owner in owners for row in np.flatnonzero(table.owners == owner)[:n]]
        if not rows:
            return None
        has_anchors = {int(table.owners[row]) for row in rows}
        named = [taxon for taxon, owner in zip(taxa, owners, strict=True) if owner in has_anchors]
        species = tuple(entry.taxon.common_name or entry.taxon.scientific_name for entry in store.species(named))
        return NamedVectors(
            space=space, species=species, ids=tuple(table.ids[row] for row in rows), vectors=table.vectors[rows]
        )

    return find


CostLines = Callable[[int], list[str]]
"""Number of queries -> the model calls of a run and their cost in words; nothing if no model may be asked."""


def cost_lines(budget: Budget, connections: Sequence[Connection | ImageConnection], n_queries: int) -> list[str]:
    """Return the model calls of a run and their cost in words."""
    meter = budget.meter
    retries = plural(sum(connection.n_retries for connection in connections), "retry", "retries")
    calls = f"{plural(meter.calls, 'model call')}, {meter.cached:,} from the cache, {retries}"
    share = f"${meter.spent_usd / max(1, n_queries):.4f} per query"
    return [calls, f"cost {cost_text(meter)}" if meter.unpriced else f"{cost_text(meter)}, {share}"]


# Long: it opens one resource after the other, as the plan says.
@contextmanager
def open_resources(
    settings: Settings,
    plan: RunPlan,
    *,
    context: ContextSettings,
    max_cost: float | None = None,
    offline: bool = False,
    encoder: TextImageEncoder | None = None,
) -> Iterator[tuple[RerankResources, CostLines]]:
    """Open the resources that the plan names, and close them at the end; errors as in `connect_model`.

    `context` are the sources of context, of which the plan may exclude wiki and web; `encoder` compares queries with
    photos, in place of the profile's.
    """
    from kb.endpoints.endpoint import Budget
    from rerank.methods import RerankResources
    from rerank.prompting import Prompts
    from rerank.scheduling import FairChat

    if plan.method == "similarity":
        encoders = wiring.load_encoders(wiring.profile_of(settings)).text_image if encoder is None else (encoder,)
        yield RerankResources(encoders=encoders, settings=plan.settings), lambda _n_queries: []
        return
    with ExitStack() as stack:
        budget, look_up, parts, species = Budget(max_cost), None, None, None
        failed: Set[str] = frozenset()
        anchors, generator, images = None, None, None
        profile: str | None = settings.profile
        if plan.needs_knowledge:
            store = stack.enter_context(wiring.open_knowledge_base(settings))
            allowed = replace(
                context,
                wiki=context.wiki if plan.uses_wiki else "never",
                web=context.web if plan.context_search else "never",
            )
            model = None if plan.context_model else False
            sources = stack.enter_context(
                wiring.open_context_sources(settings, context=allowed, model=model, budget=budget, offline=offline)
            )
            look_up, parts = wiring.context_look_up(store, sources), wiring.query_parts(store)
            failed = sources.failed
            species = wiring.species_scorer(store) if plan.judge == "encoder" else None
            profile = store.info.profile
            if plan.generator == "anchors":
                own = wiring.load_encoders(profile).text_image[0] if encoder is None else encoder
                anchors = named_anchors(store, own.space)
        connections = [
            stack.enter_context(connect_model(settings, name, budget=budget, offline=offline)) for name in plan.models
        ]
        is_limited = budget.limit_usd is not None
        chats = {  # which queries share fairly
            name: FairChat(each, n_in_flight=settings.llm[name].max_concurrent, finishes_first=is_limited)
            for name, each in zip(plan.models, connections, strict=True)
        }
        if plan.generator is not None:
            visret = plan.settings.visret
            generator, images = open_generator(settings, visret, stack, anchors=anchors, budget=budget, offline=offline)
        captioner = scorer = None
        if plan.reads_texts:
            of_captions, vision = plan.settings.captions, chats.get("vision")
            captioner, scorer = text_baseline(settings, of_captions, vision, profile=profile)
        encoders = () if encoder is None else (encoder,)
        if plan.judge == "encoder" and encoder is None:
            encoders = wiring.load_encoders(profile).text_image
        resources = RerankResources(
            encoders=encoders,
            text=chats[plan.text_model] if plan.text_model else None,
            vision=chats.get("vision") if plan.judge == "vision" else None,
            context=look_up,
            context_failures=failed,
            parts=parts,
            generator=generator,
            species=species,
            cache=stack.enter_context(photo_cache(settings)) if plan.judge == "encoder" else None,
            captioner=captioner,
            scorer=scorer,
            prompts=Prompts(settings.prompts),
            settings=plan.settings,
        )
        has_models = bool(plan.models or plan.context_models or images is not None)
        opened: list[Connection | ImageConnection] = [*connections, *([images] if images is not None else [])]
        yield resources, partial(cost_lines, budget, opened) if has_models else lambda _n_queries: []
