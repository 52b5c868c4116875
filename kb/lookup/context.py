"""Context of a query: a short passage on its words, with sources, and the words that nothing explains.

Knowledge base, wiki and web (a model with citations, such as Sonar) are asked in turn. Passages contain only summaries
and definitions of the knowledge base or the wiki, and answers of the search model.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from threading import Event

from data.arrays import check_vectors
from data.codec import dumps
from data.contracts import ChatModel, TextEncoder
from data.errors import FieldmarkError, NotCached, Refused, SourceError
from data.event_loop import wait_for
from data.files import is_shipped, sha256_hex, writer_lock
from data.records import ChatMessage, ChatRequest, Context, Source, Term, WebAnswer
from kb.distill.prompts import DistilPrompts
from kb.lookup.context_settings import ContextSources, Mode
from kb.lookup.entries import subspecies_of
from kb.lookup.findings import Findings, look_up, unexplained
from kb.lookup.lookup_index import check_encoder, index_of, learn, query_key
from kb.lookup.passages import compose, write_passage
from kb.shipped import learnt_file
from kb.store.generations import publishing
from kb.store.knowledge_base import KnowledgeBase
from kb.store.layout import collection_name
from kb.store.ledger import Ledger, Step, fingerprint
from kb.store.rows import ANSWER_ID, encode_mark, entry_of, items_of
from kb.store.stage_outputs import DistilOutput

N_PARALLEL = 8  # queries that are searched on the web, and passages that a model writes, at the same time
_log = logging.getLogger(__name__)


def context(store: KnowledgeBase, query: str, encoder: TextEncoder, sources: ContextSources | None = None) -> Context:
    """Return the context of a query: a short passage on its terms and species, with sources.

    Terms come with definition and visible features, species with their description, and groups (genus, family, order
    or English group name) with their species in the knowledge base. A query without names is compared with terms and
    summaries as a whole, and answered only if the match is clear. What they leave unexplained is looked up in the wiki,
    then on the web, unless the settings say otherwise. For an albino, a hybrid, a juvenile, a female or a winter
    plumage, marks of the ordinary adult are left out. Learnt terms and answers are stored, those for the shipped
    knowledge base in a file beside it.

    Args:
        store: open knowledge base.
        query: free text, such as the query of a rerank job.
        encoder: sentence encoder of the knowledge base.
        sources: wiki, web search and models; by default the knowledge base alone.

    Raises:
        SpaceMismatch: for another encoder.
        ConfigError: if the prompts cannot be filled.
        SourceError, NotCached: if the wiki or search fails and is to be asked always, or the chat model if it is
            required; a refusal is not a failure. Otherwise a warning says what is lacking.
        CostStop: from the chat model or the search.

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
    return next(contexts(store, [query], encoder, sources))


def contexts(
    store: KnowledgeBase, queries: Sequence[str], encoder: TextEncoder, sources: ContextSources | None = None
) -> Iterator[Context]:
    """Yield the context of each query in order, as `context` returns it.

    Several are searched and written at the same time; near queries wait for the first of them, whose answer they share.
    After a failure of the model the rest is written without it.
    """
    sources = sources or ContextSources()
    prompts = DistilPrompts(sources.prompts)  # before anything costs money
    check_encoder(store, encoder)
    is_down = Event()

    def look(query: str) -> Context:
        with sources.turn:
            found = _gather(store, query, encoder, sources, prompts)
            answer = compose(store, query, found)
            said = answer.passage if subspecies_of(store, query) is None else f"{answer.passage} {query}"
            answer = replace(answer, unexplained=unexplained(query, found, said))
        if sources.chat is None or is_down.is_set():
            return answer
        try:
            return write_passage(answer, found, store, sources, prompts)
        except (SourceError, NotCached) as error:
            if sources.require_chat:
                raise
            with sources.turn:
                if not is_down.is_set():
                    _log.warning("The model failed; passages are composed without it: %s", error)
                is_down.set()
            return answer

    with ThreadPoolExecutor(N_PARALLEL) as pool:
        for start in range(0, len(queries), N_PARALLEL):
            some = queries[start : start + N_PARALLEL]
            first = {query_key(query): query for query in reversed(some)}
            running = {query: pool.submit(look, query) for query in first.values()}
            for query in some:  # one by one: what is paid for comes out also before a stop for cost
                yield running[query].result() if query in running else look(query)


def _gather(
    store: KnowledgeBase, query: str, encoder: TextEncoder, sources: ContextSources, prompts: DistilPrompts
) -> Findings:
    """Return the findings of all sources on a query, and learn the new ones.

    The caller holds `sources.turn`; others have it while the web is searched.
    """
    found, learnt = Findings(), list[Term]()
    for source in sources.settings.order if query.strip() else ():
        mode: Mode = getattr(sources.settings, source)
        if mode == "never":
            continue
        failed = sources.failed if mode != "always" else None
        gaps = unexplained(query, found, compose(store, query, found).passage)
        is_needed = mode == "always" or bool(gaps)
        if source == "kb" and (is_needed or not found):
            of_kb = look_up(store, query, encoder)
            terms = {term.term_id: term for term in (*of_kb.terms, *found.terms)}
            found = replace(of_kb, terms=tuple(terms.values()), answer=found.answer or of_kb.answer)
        elif source == "wiki" and is_needed and sources.wiki is not None:
            known = [mention.text for mention in found.mentions if mention.kind == "term"]
            asked, known = (query, known) if mode == "always" else ("; ".join(gaps), [])
            with _optional(query, "The wiki", failed):
                explained = sources.wiki.explain(asked, known=known)
                new = [term for term in explained if term.term_id not in index_of(store).stored]
                learnt += new
                found = replace(found, terms=(*found.terms, *new))
        elif source == "web" and is_needed and found.answer is None:
            answer = index_of(store).answer_to(query)
            if answer is None and sources.search is not None:
                sources.turn.release()
                try:
                    with _optional(query, "The web search", failed):
                        answer = search_web(query, sources.search, prompts)
                finally:
                    sources.turn.acquire()
                learnt += [] if answer is None else [answer]
            found = replace(found, answer=answer)
    if learnt and sources.learn:
        learn(store, learnt)
        try:
            remember(store, learnt, encoder)
        except FieldmarkError as error:
            names = ", ".join(f'"{term.name}"' for term in learnt)
            _log.warning("Not stored, and looked up again next time: %s. %s", names, error)
    return found


@contextmanager
def _optional(query: str, source: str, failed: set[str] | None) -> Iterator[None]:
    """Let the block fail with a warning and add the query to `failed`; without `failed` it raises."""
    try:
        yield
    except (SourceError, NotCached) as error:
        if failed is None:
            raise
        _log.warning("%s failed, and the context of %r lacks it: %s", source, query, error)
        failed.add(query)


def search_web(query: str, search: ChatModel, prompts: DistilPrompts) -> WebAnswer | None:
    """Return a search model's answer to a query, whole and with its citations, or None if it is empty or a refusal.

    Source:
        Divide and Conquer, section 3.1: a concise passage that defines key terms and highlights distinguishing visual
        characteristics (about 100 tokens, table 2), from Perplexity's Sonar. The paper's prompt is not published.

    Raises:
        SourceError: if the provider fails.
        CostStop, NotCached: from the model.
    """
    prompt = prompts.fill("search", query=query)
    try:
        reply = wait_for(search.reply(ChatRequest(messages=(ChatMessage(role="user", text=prompt),))))
    except Refused as error:
        _log.warning("%s", error)
        return None
    text = reply.text.strip()
    if not text:
        return None
    cited = [passage.source for passage in reply.citations]
    pages = [source for source in cited if source.url]
    if not pages:
        _log.warning('The search model cites no page for "%s"; its answer is used without.', query)
    return WebAnswer(
        term_id=f"{ANSWER_ID}{sha256_hex(query)[:16]}",
        name=query,
        definition=text,
        source=pages[0] if pages else Source(title=f"{reply.model}, without cited pages"),
        model=reply.model,
        asked_on=datetime.now(UTC).date().isoformat(),
        citations=tuple(cited),
    )


def remember(store: KnowledgeBase, terms: Sequence[Term], encoder: TextEncoder) -> None:
    """Store terms and answers as a build would, so that the next look-up needs neither wiki nor web.

    The open knowledge base keeps the state in which it was opened. Those for the shipped one go to a file beside it.

    Raises:
        KnowledgeBaseLocked: if another process is writing to it.
        MissingRequirement: if the disk is full or read-only.
        SourceUnavailable: if its Chroma server does not answer.
        StoreError: if its vectors are damaged.
    """
    new = {term.term_id: term for term in terms}
    if not new:
        return
    if is_shipped(store.path):
        with learnt_file(store.path) as file:
            for key, term in new.items():
                file.put(key, dumps(term))
        return
    info = store.layout.require()
    name = collection_name("terms", info.sentence)
    texts = {key: str(text) for key, term in new.items() for _, text in items_of(term, "terms")}
    vectors = check_vectors(encoder.encode_texts(list(texts.values())), dim=encoder.dim)
    with (
        writer_lock(store.layout.lock),
        closing(Ledger(store.layout.ledger)) as ledger,
        publishing(store.layout, info, ledger),
    ):
        ledger.add_subjects((key, "term", term.name, dumps(term)) for key, term in new.items())
        ledger.encoded.put(name, [(key, key, vector) for key, vector in zip(texts, vectors, strict=True)])
        for key, term in new.items():
            output = dumps(DistilOutput(term=term, source=term.source))
            mark = fingerprint(dumps(term))
            ledger.record(
                (
                    Step(subject_id=key, stage="resolve", fingerprint=mark),
                    Step(subject_id=key, stage="distil", fingerprint=mark, output=output),
                    Step(subject_id=key, stage="encode", space=name, fingerprint=encode_mark(term, name, "terms")),
                )
            )
        ledger.publish([entry_of(term) for term in new.values()])
