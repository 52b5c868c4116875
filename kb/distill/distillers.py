"""Distillers: their contracts, and the ones that ship, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, get_args, runtime_checkable

from data.contracts import ChatModel
from data.errors import MissingRequirement, UsageError
from data.records import Article, Summary, Taxon
from kb.distill.extractive import ExtractiveDistiller
from kb.distill.model import Distilled, Mode, ModelDistiller
from kb.distill.names import DEFAULT, DISTILLERS, DistillerName
from kb.distill.prompts import DistilPrompts
from kb.distill.raw import ArticleDistiller, ChunksDistiller


class Distiller(Protocol):
    """Makes a summary of the looks of a species out of an article."""

    @property
    def name(self) -> str:
        """Name and version; another one distils anew."""

    def distil(self, article: Article, taxon: Taxon) -> Summary | None:
        """Return the summary, or None if the article says nothing of looks."""


@runtime_checkable
class AsyncDistiller(Protocol):
    """Makes summaries by waiting on a model; many articles may be waited for at once."""

    @property
    def name(self) -> str:
        """Name and version, model and prompts; another one distils anew."""

    async def distil_async(self, article: Article, taxon: Taxon) -> Distilled:
        """Return the summary, if the article says anything of looks."""


AnyDistiller = Distiller | AsyncDistiller


MODES: tuple[Mode, ...] = get_args(Mode)
_WITHOUT_MODEL: dict[str, Callable[[], Distiller]] = {
    "extractive": ExtractiveDistiller,
    "article": ArticleDistiller,
    "chunks": ChunksDistiller,
}


def make_distiller(name: str, *, chat: ChatModel | None = None, prompts: Path | None = None) -> AnyDistiller:
    """Return the distiller of a name.

    Args:
        name: one of `DISTILLERS`.
        chat: the language model of those that ask one.
        prompts: a folder whose prompts replace ours.

    Raises:
        MissingRequirement: if it asks a language model and there is none.
        UsageError: for a name that there is not, or prompts for a distiller without a model.
    """
    if name in _WITHOUT_MODEL:
        if prompts is not None:
            raise UsageError(f"the distiller {name} asks no model, so it has no prompts")
        return _WITHOUT_MODEL[name]()
    for mode in MODES:
        if name == mode:
            if chat is None:
                raise MissingRequirement(
                    f"the distiller {name} asks a language model, and none is given",
                    hint="set [llm.text] in fieldmark.toml (model, base_url, api_key_env); in Python: chat=",
                )
            return ModelDistiller(chat, mode=mode, prompts=DistilPrompts(prompts))
    raise UsageError(f"no distiller is called {name!r}", hint=f"there are: {', '.join(DISTILLERS)}")


def kind_of(distiller_name: str) -> str:
    """Return which of the distillers made a name like `extractive/1` or `model/1 gpt-4o@... prompts ...`."""
    return distiller_name.partition("/")[0]


def distiller_for(
    known: str | None, given: AnyDistiller | DistillerName | None, *, chat: ChatModel | None = None
) -> AnyDistiller:
    """Return the distiller to go on with.

    Args:
        known: the kind that the knowledge base was last built with, if it was. It stays with it: a build or an update
            that names none must not throw away what a model was paid for.
        given: a distiller, the name of one, or None.
        chat: the language model; where it is given and nothing else said, it is used.

    Raises:
        MissingRequirement: if the knowledge base needs a model and none is given.
        UsageError: for a name that there is not.
    """
    if given is not None and not isinstance(given, str):
        return given
    name = given or known or DEFAULT
    if given is None and chat is not None and known not in MODES:
        name = "model"
    if given is None and name not in DISTILLERS:  # a distiller of the caller's own made it, and only the caller has it
        raise UsageError(f"the knowledge base was distilled by {name!r}", hint=f"name one of {', '.join(DISTILLERS)}")
    return make_distiller(name, chat=chat)
