"""Settings of context: which sources are asked about a query, when, and in which order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

ContextSource = Literal["kb", "wiki", "web"]
Mode = Literal["always", "if-needed", "never"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSettings:
    """Sources of context. `if-needed` asks a source only about what the sources before it left unexplained.

    Source:
        Divide and Conquer, section 3.1, searches the web for each query and uses nothing else: the preset `paper`.
    """

    kb: Mode = "if-needed"
    """The knowledge base and the shipped glossary."""
    wiki: Mode = "if-needed"
    """The wiki of `api_url`; `always` asks Wikipedia where no wiki is set."""
    web: Mode = "if-needed"
    """The search model `[llm.search]`."""
    order: tuple[ContextSource, ...] = ("kb", "wiki", "web")
    """Order of the sources, each once."""

    def __post_init__(self) -> None:
        if sorted(self.order) != sorted(get_args(ContextSource)):
            raise ValueError(f"order: expected kb, wiki and web, each once, got {', '.join(self.order) or 'nothing'}")


CONTEXT_PRESETS: Final[Mapping[str, ContextSettings]] = {
    "default": ContextSettings(),
    "paper": ContextSettings(kb="never", wiki="never", web="always"),
}
"""Preset -> settings."""
