"""What a run of `kb rerank` works with: models, knowledge, what was kept, joined as the order and the settings say."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cli.common import output, wiring
from cli.common.config import Settings
from cli.common.endpoints import key_of
from cli.common.models import REPLIES
from cli.verbs.rerank.order import RerankOrder
from data.errors import MissingRequirement

if TYPE_CHECKING:
    from data.contracts import Judge
    from kb.endpoints import Budget, Connection
    from rerank.methods import Means
    from rerank.prompting import Prompts
    from rerank.scheduling import FairChat


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What a run works with."""

    means: Means
    judge: str
    budget: Budget
    """Of all models together; it has counted what was asked of them."""
    connections: tuple[Connection, ...] = ()
    """To the models that judge, write questions and rank; those that explain words are not among them."""
    kinds: tuple[str, ...] = ()
    """The tables `[llm.*]` of these models, in the same order."""
    explaining: tuple[str, ...] = ()
    """The tables `[llm.*]` of the models that may explain the words of a query."""

    @property
    def n_retries(self) -> int:
        """Tries beyond the first ones."""
        return sum(connection.n_retries for connection in self.connections)


@contextmanager
def made_for(settings: Settings, order: RerankOrder) -> Iterator[Made]:
    """Give what the method needs, and close it again.

    Raises:
        MissingRequirement: if a model is needed that is not set, or whose key is missing.
        UsageError: if the cost is limited and a price is not known.
    """
    from kb.endpoints import Budget
    from rerank.methods import Means

    if order.method == "similarity":
        means = Means(encoders=wiring.load_encoders(order.profile or settings.profile).text_image)
        yield Made(means=means, judge="encoder", budget=Budget())
        return
    with ExitStack() as stack:
        yield (_cotrr if order.method == "cotrr" else _decompose)(settings, order, stack)


def _decompose(settings: Settings, order: RerankOrder, stack: ExitStack) -> Made:
    from kb.endpoints import Budget
    from rerank.judgement_cache import KeptResults
    from rerank.methods import Means
    from rerank.prompting import Prompts

    judge = order.judge or ("vision" if "vision" in settings.llm else "encoder")
    by_model = not order.direct and (order.questions_by or ("model" if judge == "vision" else "rule")) == "model"
    prompts = Prompts(order.prompts)
    store = stack.enter_context(wiring.opened_or_starter(settings))
    helpers = stack.enter_context(_helpers(settings, order, judge))
    kept = stack.enter_context(KeptResults(None if order.again else settings.home / "rerank" / "kept.sqlite"))
    link = _Link(settings, order, helpers.budget or Budget(order.max_cost), stack)
    means = Means(
        context=wiring.context_look_up(store, helpers),
        parts=wiring.query_parts(store),
        kept=kept,
        prompts=prompts,
        decompose=order.settings(judge),
    )
    if judge == "vision":
        means = replace(means, judge=_vision_judge(order, prompts, link.chat("vision")))
    else:
        means = replace(means, encoders=wiring.load_encoders(store.info.profile).text_image)
        if not order.dry_run and order.judge is None:
            output.note("no [llm.vision] is set: the encoders judge, which are weak for anything but looks")
    if by_model:
        means = replace(means, text=link.chat("text", "vision"))  # a vision model reads texts as well
    explaining = (("search", helpers.search), ("text", helpers.chat))
    return link.made(means, judge=judge, explaining=tuple(kind for kind, helper in explaining if helper is not None))


@contextmanager
def _helpers(settings: Settings, order: RerankOrder, judge: str) -> Iterator[wiring.ContextHelpers]:
    """Give whom a look-up of context asks beside the knowledge base: the wiki that the settings name, and models.

    Models are asked where a model judges: with the encoders a run is free, and stays so unless it is told otherwise.
    """
    asks_models = None if judge == "vision" else False
    with wiring.helpers_of_context(
        settings,
        wiki=None if order.uses_context and not order.is_silent else False,
        web=(asks_models if order.asks_web is None else order.asks_web) if order.uses_context else False,
        model=asks_models if order.uses_context else False,
        max_cost=order.max_cost,
        offline=order.is_silent,
    ) as helpers:
        yield helpers


def _cotrr(settings: Settings, order: RerankOrder, stack: ExitStack) -> Made:
    from kb.endpoints import Budget
    from rerank.methods import Means
    from rerank.prompting import Prompts

    link = _Link(settings, order, Budget(order.max_cost), stack)
    vision = link.chat("vision")
    # The vision model reads notes as well; another one is asked only where it is set.
    text = link.chat("text") if "text" in settings.llm else None
    means = Means(vision=vision, text=text, prompts=Prompts(order.prompts), cotrr=order.listwise.settings(order.preset))
    return link.made(means, judge="vision")


def _vision_judge(order: RerankOrder, prompts: Prompts, chat: FairChat) -> Judge:
    from rerank.judges.vision import VisionJudge, VisionSettings

    vision = VisionSettings(
        is_reasoned=order.reasoning,
        n_votes=order.votes,
        spelling="exact" if order.preset == "paper" else "merged",
        without_logprobs=order.without_logprobs,
    )
    return VisionJudge(chat, settings=vision, prompts=prompts)


class _Link:
    """Connects to the models of the settings, all within one budget and with one file of kept replies."""

    def __init__(self, settings: Settings, order: RerankOrder, budget: Budget, stack: ExitStack) -> None:
        self._settings, self._order, self._stack = settings, order, stack
        self._budget = budget
        self._connections: list[Connection] = []
        self._kinds: list[str] = []

    def chat(self, *kinds: str) -> FairChat:
        """Return the first of these models that is set, with its calls shared fairly.

        Raises:
            MissingRequirement: if none is set, or its key is missing.
        """
        from kb.endpoints import Connection, ReplyCache
        from rerank.scheduling import FairChat

        kind = self._first_of(kinds)
        endpoint = self._settings.llm[kind]
        is_silent = self._order.is_silent
        connection = Connection(
            endpoint,
            "" if is_silent else key_of(endpoint, os.environ, kind=kind),
            cache=ReplyCache(self._settings.home / REPLIES),
            budget=self._budget,
            offline=is_silent,
        )
        self._stack.callback(connection.close)
        self._connections.append(connection)
        self._kinds.append(kind)
        return FairChat(
            connection, n_in_flight=endpoint.max_concurrent, finishes_first=self._budget.limit_usd is not None
        )

    def made(self, means: Means, *, judge: str, explaining: tuple[str, ...] = ()) -> Made:
        """Return the means with the connections that were made for them."""
        return Made(
            means=means,
            judge=judge,
            budget=self._budget,
            connections=tuple(self._connections),
            kinds=tuple(self._kinds),
            explaining=explaining,
        )

    def _first_of(self, kinds: Sequence[str]) -> str:
        found = next((kind for kind in kinds if kind in self._settings.llm), None)
        if found is None:
            raise MissingRequirement(
                f"no model is set that could do this: there is no [llm.{kinds[0]}]",
                hint=f"[llm.{kinds[0]}] in fieldmark.toml; --method decompose --judge encoder needs none",
            )
        return found
