"""Sources of context of a run of `kb rerank`: settings, preset and flag together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.common import options, output, wiring
from cli.common.config import Settings
from kb.lookup.context_settings import ContextSettings

if TYPE_CHECKING:
    from rerank.settings import RerankSettings


def context_of_run(
    settings: Settings, methods: RerankSettings, *, method: str, preset: str, web: bool | None
) -> tuple[ContextSettings, bool | None]:
    """Return the sources of context, and whether the web search is required (None: where it is set).

    The preset `paper` searches the web for each query; without a search model it warns and uses the default.
    """
    context = options.context_settings(preset=preset, web=web)
    if method != "decompose" or not methods.decompose.context:
        return context, web
    is_of_preset = context.web == "always" and options.context_settings(web=web).web != "always"
    if is_of_preset and "search" not in settings.llm:
        output.warn(
            f'The preset "{preset}" searches the web for each query, and [llm.search] is not set: '
            "context comes from the knowledge base instead"
        )
        context = options.context_settings(web=web)
    return context, wiring.IS_WANTED[context.web]
