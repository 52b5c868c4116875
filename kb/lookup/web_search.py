"""Web search by a model with citations, such as Perplexity's Sonar."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from data.contracts import ChatModel
from data.errors import Refused
from data.event_loop import wait_for
from data.files import sha256_hex
from data.records import ChatMessage, ChatRequest, Source, WebAnswer
from kb.distill.prompts import DistilPrompts
from kb.store.rows import ANSWER_ID

_log = logging.getLogger(__name__)


def search_web(query: str, search: ChatModel, prompts: DistilPrompts) -> WebAnswer | None:
    """Return a search model's answer to a query, whole and with its citations, or None if it is empty or a refusal.

    An answer without a cited page is kept with a warning; its source is the model.

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
    today = datetime.now(UTC).date().isoformat()
    return WebAnswer(
        term_id=f"{ANSWER_ID}{sha256_hex(query)[:16]}",
        name=query,
        definition=text,
        source=pages[0] if pages else Source(title=f"{reply.model}, without cited pages"),
        model=reply.model,
        asked_on=today,
        citations=tuple(cited),
    )
