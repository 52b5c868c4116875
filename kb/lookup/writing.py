"""Passages written by a chat model from the texts of a look-up, each sentence checked against its sources."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from data.errors import MalformedAnswer, Refused
from data.event_loop import wait_for
from data.files import sha256_hex
from data.foreign_json import json_object
from data.lexicon.word_groups import group_of, tokens, words_of
from data.prompts import quoted
from data.records import ChatMessage, ChatReply, ChatRequest, Context, Source
from kb.distill.claims import NUMBERS
from kb.distill.prompts import DistilPrompts, cited_texts_schema
from kb.lookup.findings import Findings
from kb.lookup.passages import described_members, name_of, term_passage, told_of
from kb.store.knowledge_base import KnowledgeBase

if TYPE_CHECKING:
    from kb.lookup.context import ContextSources

MAX_WORDS = 120
MAX_TEXT_WORDS = 250  # per text in the request
MAX_REPLY_TOKENS = 1_000
MIN_SUPPORT = 0.6  # smallest share of a sentence's content words that must be in its sources or the query
_SCHEMA = cited_texts_schema("sentences", cited="sources")
_NUMBER_WORDS = frozenset(
    (*NUMBERS[1:], "twenty", "thirty", "forty", "fifty", "dozen", "hundred", "thousand", "twice", "half", "double")
)
_log = logging.getLogger(__name__)
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_MARK = re.compile(r"\s*\[\d+\]")
Text = tuple[str, Source]  # a text for the model, and its source


def write_passage(
    answer: Context, found: Findings, store: KnowledgeBase, sources: ContextSources, prompts: DistilPrompts
) -> Context:
    """Return the answer with a passage written by `sources.chat`, or unchanged if no sentence of its reply is usable.

    Each sentence ends with the numbers of its sources, such as `[1]`, 1-based in `sources`; only cited sources remain.
    A search model's answer is never rewritten. Queries without a usable reply are added to
    `sources.unwritten`.

    Raises:
        SourceError: if the provider fails.
        CostStop, NotCached: from the model.
    """
    texts = texts_of(found, store, answer.query)
    chat = sources.chat
    if chat is None or not texts or found.answer is not None:
        return answer
    try:
        request = request_for(answer.query, texts, prompts)
        reply = wait_for(chat.reply(replace(request, usable=lambda reply: bool(_sentences_in(reply, texts, answer)))))
        sentences = supported(parse_reply(reply.text), texts, answer.query)
        problem = "" if sentences else "no sentence is in its texts"
    except (Refused, MalformedAnswer) as error:
        problem = str(error)
    if problem:
        _log.warning("The passage on %r is put together without the model: %s", answer.query, problem)
        sources.unwritten.add(answer.query)
        return answer
    numbers = {number: i for i, number in enumerate(dict.fromkeys(n for _, cited in sentences for n in cited), start=1)}
    parts = [f"{text} {''.join(f'[{numbers[n]}]' for n in cited)}" for text, cited in sentences]
    return replace(
        answer, passage=" ".join(parts), written_by=chat.name, sources=tuple(texts[number - 1][1] for number in numbers)
    )


def _sentences_in(reply: ChatReply, texts: Sequence[Text], answer: Context) -> Sequence[object]:
    """Return the supported sentences in a reply; none if it is not of the requested form."""
    with suppress(MalformedAnswer):
        return supported(parse_reply(reply.text), texts, answer.query)
    return ()


def texts_of(found: Findings, store: KnowledgeBase, query: str) -> list[Text]:
    """Return the texts that hold for the query, each with its source or its name as source."""
    texts = [
        (text, term.source or Source(title=term.name)) for term in found.terms if (text := term_passage(term, query))
    ]
    for entry in (*found.species, *described_members(store, found)):
        if entry.summary is not None:
            sentences, caution = told_of(entry, found, query)
            text = f"{name_of(entry)}: {' '.join([*sentences, *caution])}"
            texts.append((text, entry.source or Source(title=entry.taxon.common_name)))
    return [(" ".join(text.split()[:MAX_TEXT_WORDS]), source) for text, source in texts]


def request_for(query: str, texts: Sequence[Text], prompts: DistilPrompts) -> ChatRequest:
    """Return the request for a passage; the lines around the texts contain a hash of them, so no text can end them."""
    listed = "\n".join(f"[{i}] {quoted(text)}" for i, (text, _) in enumerate(texts, start=1))
    fence = f"=== TEXTS {sha256_hex(listed)[:16]} ==="
    prompt = prompts.fill("context", query=quoted(query), texts=listed, fence=fence, max_words=str(MAX_WORDS))
    return ChatRequest(
        messages=(ChatMessage(role="user", text=prompt),), json_schema=_SCHEMA, max_tokens=MAX_REPLY_TOKENS
    )


def parse_reply(text: str) -> list[tuple[str, tuple[int, ...]]]:
    """Return the `(sentence, numbers of its sources)` pairs of a reply, or raise `MalformedAnswer`."""
    found: Any = json_object(text)[0] or {}
    try:
        pairs = [(item["text"], item["sources"]) for item in found["sentences"]]
    except (KeyError, TypeError) as error:
        raise MalformedAnswer(f"expected sentences with sources as JSON, got {text[:80]!r}") from error
    if not all(isinstance(sentence, str) and isinstance(cited, list) for sentence, cited in pairs):
        raise MalformedAnswer(f"expected sentences with lists of sources, got {text[:80]!r}")
    plain = ((" ".join(_MARK.sub("", sentence).split()), cited) for sentence, cited in pairs)
    return [(sentence, tuple(n for n in cited if type(n) is int)) for sentence, cited in plain]


def supported(
    sentences: Sequence[tuple[str, tuple[int, ...]]], texts: Sequence[Text], query: str
) -> list[tuple[str, tuple[int, ...]]]:
    """Return the sentences with existing sources that support them, up to `MAX_WORDS` words in all."""
    found: list[tuple[str, tuple[int, ...]]] = []
    room = MAX_WORDS
    for sentence, cited in sentences:
        if not sentence or not cited or not all(1 <= n <= len(texts) for n in cited):
            continue
        n_words = len(sentence.split())
        if n_words <= room and is_supported(sentence, " ".join(texts[n - 1][0] for n in cited), query):
            found.append((sentence, tuple(dict.fromkeys(cited))))
            room -= n_words
    return found


def is_supported(sentence: str, text: str, query: str) -> bool:
    """Return whether a text has the numbers and colours of a sentence, and with the query most of its content words."""
    if "://" in sentence or set(_DIGITS.findall(sentence)) - set(_DIGITS.findall(text)):
        return False
    words, given = words_of(sentence), set(words_of(text))
    if {word for word in words if word in _NUMBER_WORDS} - given:
        return False
    if set(tokens(" ".join(word for word in words if group_of(word) == "colour"))) - set(tokens(text)):
        return False
    content = set(tokens(sentence))
    shared = content & (set(tokens(text)) | set(tokens(query)))
    return bool(content) and len(shared) >= MIN_SUPPORT * len(content)
