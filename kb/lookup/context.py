"""Context of a query: a short passage on its words, with sources, and the words that nothing explains.

Passages contain only summaries and definitions of the knowledge base or a wiki, and answers of a search model.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Lock

from data.contracts import ChatModel, TextEncoder
from data.errors import KnowledgeBaseLocked, MissingRequirement, NotCached, SourceError
from data.records import Context
from kb.distill.prompts import DistilPrompts
from kb.lookup.context_settings import ContextSettings
from kb.lookup.coverage import unexplained
from kb.lookup.findings import Findings
from kb.lookup.gathering import Explainer, gather
from kb.lookup.learning import remember
from kb.lookup.lookup_index import Lookup, index_of, query_key
from kb.lookup.passages import compose
from kb.lookup.writing import write_passage
from kb.store.knowledge_base import KnowledgeBase

N_PARALLEL = 8  # queries that are searched on the web, and passages that a model writes, at the same time
_log = logging.getLogger(__name__)


def context(
    store: KnowledgeBase,
    query: str,
    encoder: TextEncoder,
    *,
    wiki: Explainer | None = None,
    search: ChatModel | None = None,
    settings: ContextSettings | None = None,
    chat: ChatModel | None = None,
    require_chat: bool = False,
    prompts: Path | None = None,
    learn: bool = True,
) -> Context:
    """Return the context of a query: a short passage on its terms and species, with sources.

    Terms come with definition and visible features, species with their description, and groups (genus, family, order
    or English group name) with their species in the knowledge base. A query without names is compared with terms and
    summaries as a whole, and answered only if the match is clear. What they leave unexplained is looked up in the wiki,
    then on the web, unless the settings say otherwise. For an albino, a hybrid, a juvenile, a female or a winter
    plumage, marks of the ordinary adult are left out. Learnt terms and answers are stored.

    Args:
        store: open knowledge base.
        query: free text, such as the query of a rerank job.
        encoder: sentence encoder of the knowledge base.
        wiki: explains words that the knowledge base does not.
        search: model that searches the web, such as Sonar; its answer is kept whole.
        settings: which sources are asked, when and in which order.
        chat: model that writes the passage from the texts found; sentences without support in them are dropped. Without
            a model, or where the web answered, the texts are joined.
        require_chat: raise if the chat model fails; otherwise the texts are joined and a warning is logged.
        prompts: folder with a `context.md` or `search.md` that replaces the prompt of the model or the search.
        learn: store learnt terms; if the knowledge base is locked or read-only, a warning is logged.

    Raises:
        SpaceMismatch: for another encoder.
        ConfigError: if the prompts cannot be filled.
        SourceError: if the wiki or search fails and is to be asked always, or the chat model if it is required; a
            refusal is not a failure. Otherwise a warning says what is lacking.
        CostStop: from the chat model or the search.
        NotCached: from the search, or the chat model if it is required.

    Example:
        >>> import kb, recognize
        >>> from kb.sources.starter import StarterSource
        >>> source, encoders = StarterSource(with_vectors=False), recognize.load_encoders("starter")
        >>> terms = [term for term in source.terms() if term.name in ("amplexus", "cere")]
        >>> _ = kb.build("frogs.kb", source.drawn_taxa()[:1], source, encoders, terms=terms)
        >>> with kb.open("frogs.kb") as store:
        ...     found = kb.context(store, "Two frogs in amplexus", encoders.sentence)
        >>> found.found, [term.name for term in found.terms]
        (True, ['amplexus'])

    Source:
        Divide and Conquer, section 3.1, expert context injection: `CONTEXT_PRESETS["paper"]` asks the web for each
        query and returns its answer alone. Differs by default: knowledge base and wiki come first, and the web is asked
        only about queries that they leave partly unexplained.
    """
    return next(contexts(
        store, [query], encoder, wiki=wiki, search=search, settings=settings, chat=chat, require_chat=require_chat,
        prompts=prompts, learn=learn,
    ))  # fmt: skip


def contexts(
    store: KnowledgeBase,
    queries: Sequence[str],
    encoder: TextEncoder,
    *,
    wiki: Explainer | None = None,
    search: ChatModel | None = None,
    settings: ContextSettings | None = None,
    chat: ChatModel | None = None,
    require_chat: bool = False,
    prompts: Path | None = None,
    learn: bool = True,
    turn: Lock | None = None,
    on_unwritten: Callable[[str], None] = lambda _: None,
    on_failed: Callable[[str], None] = lambda _: None,
) -> Iterator[Context]:
    """Yield the context of each query in order, as `context` returns it.

    Several are searched and written at the same time, of near queries the first; after a failure of the model the rest
    without it. `turn` is a lock on knowledge base and wiki, for several threads. `on_unwritten` gets each query without
    a usable reply of the chat model, `on_failed` each for which the wiki or the web search failed.
    """
    loaded = DistilPrompts(prompts)  # before anything costs money
    settings = settings or ContextSettings()
    turn = turn or Lock()

    def look(query: str) -> tuple[Context, Findings]:
        with turn:
            found, learnt = gather(
                store, query, encoder, wiki=wiki, search=search, settings=settings, prompts=loaded, turn=turn,
                on_failed=on_failed,
            )  # fmt: skip
            if learnt and learn:
                store.derived(Lookup).learn(learnt)
                try:
                    remember(store, learnt, encoder)
                except (KnowledgeBaseLocked, MissingRequirement) as error:
                    _log.warning("Learnt terms and answers are not stored: %s", error)
            answer = compose(store, query, found)
            return replace(answer, unexplained=unexplained(query, found, answer.passage)), found

    with ThreadPoolExecutor(N_PARALLEL) as pool:
        for start in range(0, len(queries), N_PARALLEL):
            some = queries[start : start + N_PARALLEL]
            # Near queries share the answer to the first of them, which is searched alone.
            names = index_of(store).names
            first = dict(zip(map(lambda query: query_key(query, names), reversed(some)), reversed(some), strict=True))
            looked = dict(zip(first.values(), pool.map(look, first.values()), strict=True))
            answers = [looked.get(query) or look(query) for query in some]
            if chat is None:
                yield from (answer for answer, _ in answers)
                continue
            pending: dict[str, Future[Context]] = {}
            for answer, found in answers:
                if answer.query not in pending:  # equal queries are paid for once
                    pending[answer.query] = pool.submit(
                        write_passage, answer, found, store, chat, prompts=loaded, on_unwritten=on_unwritten
                    )
            for answer, _ in answers:
                try:
                    yield pending[answer.query].result()
                except (SourceError, NotCached) as error:
                    if require_chat:
                        raise
                    if chat is not None:
                        _log.warning("The model failed; passages are composed without it: %s", error)
                    chat = None
                    yield answer
