"""The generator of drawings in the settings of VisRet."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from cli.common.config import Settings
from cli.common.language_models import DRAWINGS, connect_images

if TYPE_CHECKING:
    from kb.endpoints.budget import Budget
    from kb.endpoints.drawing.connection import ImageConnection
    from kb.store.knowledge_base import KnowledgeBase
    from rerank.visret.generators import Generator, NamedVectors
    from rerank.visret.settings import VisretSettings


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

    Raises:
        MissingRequirement: if `[llm.image]` is not set, its key is missing, or diffusers is not installed.
        UsageError: if the cost is limited and the price is unknown, or there is no folder of drawings.
    """
    from rerank.visret.generators import AnchorGenerator, FolderGenerator, PromptGenerator

    if visret.origin == "folder" and visret.drawings is not None:
        return FolderGenerator(visret.drawings), None
    if visret.origin == "anchors" and anchors is not None:
        return AnchorGenerator(anchors), None
    if visret.origin == "diffusers":
        from kb.endpoints.drawing.connection import DrawingCache
        from kb.endpoints.drawing.pipeline import PipelineImages

        cache = DrawingCache(settings.home / DRAWINGS)
        local = PipelineImages(visret.model, cache=cache, seed=visret.seed, arguments=visret.pipeline)
        return PromptGenerator(stack.enter_context(local).draw), None
    images = stack.enter_context(connect_images(settings, budget=budget, offline=offline))
    return PromptGenerator(images.draw), images


def named_anchors(store: KnowledgeBase, space: str) -> Callable[[str, int], NamedVectors | None]:
    """Return a thread-safe function from a text and n to the first n anchors of each species that the text names."""
    import numpy as np

    from cli.common.wiring import query_parts
    from rerank.visret.generators import NamedVectors

    parts_of, table = query_parts(store), store.anchor_vectors(space)

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
