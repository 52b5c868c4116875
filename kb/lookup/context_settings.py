"""Sources of context: which are asked about a query, when, and in which order; and the ones of a run, opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, Literal, get_args

if TYPE_CHECKING:
    from data.contracts import ChatModel
    from kb.lookup.wiki_terms import WikiTerms

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSources:
    """Sources of context beside the knowledge base, and how they are asked; one object for all threads of a run."""

    settings: ContextSettings = field(default_factory=ContextSettings)
    """Which sources are asked, when and in which order."""
    wiki: WikiTerms | None = None
    """Explains words that the knowledge base does not."""
    search: ChatModel | None = None
    """Model that searches the web, such as Sonar; its answer is kept whole."""
    chat: ChatModel | None = None
    """Model that writes the passage from the texts found, of which sentences without support in them are dropped.
    Without it, or where the web answered, the texts are joined."""
    require_chat: bool = False
    """Raise if `chat` fails; otherwise the texts are joined and a warning is logged."""
    prompts: Path | None = None
    """Folder with a `context.md` or `search.md` that replaces the prompt of the model or the search."""
    learn: bool = True
    """Store learnt terms and answers; if the knowledge base is locked or read-only, a warning is logged."""
    failed: set[str] = field(default_factory=set)
    """Queries so far for which the wiki or the web search failed."""
    unwritten: set[str] = field(default_factory=set)
    """Queries so far without a usable reply of `chat`."""
    turn: Lock = field(default_factory=Lock)
    """Held while knowledge base or wiki is asked, or something is learnt."""
