"""A passage written by a chat model out of the texts that a look-up found, each sentence checked against them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from data.contracts import ChatModel
from data.errors import MalformedAnswer, Refused
from data.event_loop import wait_for
from data.lexicon.word_groups import group_of, words_of
from data.records import ChatMessage, ChatRequest, Context, Source, SpeciesEntry
from kb.distill.prompts import DistilPrompts
from kb.lookup.bm25 import tokens
from kb.lookup.findings import Findings
from kb.lookup.passages import described_members, group_passages, term_passage
from kb.lookup.word_index import LookupStore, is_question

MAX_WORDS = 120
MAX_TEXT_WORDS = 250  # of one text that the model gets
MAX_REPLY_TOKENS = 1_000
MIN_SUPPORT = 0.6
"""The least share of a sentence's telling words that its sources or the query must hold."""
FENCE = "=== TEXTS ==="
_SCHEMA = {
    "type": "object",
    "properties": {
        "sentences": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"text": {"type": "string"}, "sources": {"type": "array", "items": {"type": "integer"}}},
                "required": ["text", "sources"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["sentences"],
    "additionalProperties": False,
}
_NUMBER_WORDS = frozenset(
    (
        *("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
        *("twenty", "thirty", "forty", "fifty", "dozen", "hundred", "thousand", "twice", "half", "double"),
    )
)
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_MARK = re.compile(r"\s*\[\d+\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text that the model may use, and where it is from."""

    text: str
    source: Source


def written(
    answer: Context, found: Findings, store: LookupStore, chat: ChatModel, *, prompts: DistilPrompts | None = None
) -> Context:
    """Return the answer with its passage written anew by the model; as it was where the model gives nothing of use.

    Each sentence ends with the numbers of its sources, `[1]`, which are positions in `sources`; only cited ones stay.

    Args:
        answer: what was composed.
        found: what it was composed from.
        store: names the members of groups, which stand at the end of the passage as they are.
        chat: asked once.
        prompts: ours or the user's.

    Raises:
        SourceError: if the provider failed for good.
        CostStop, NotCached: from the model.
    """
    texts = texts_of(found, described_members(store, found))
    if not texts:
        return answer
    try:
        reply = wait_for(chat.reply(request_for(answer.query, texts, prompts)))
        sentences = supported(parse_reply(reply.text), texts, answer.query)
    except (Refused, MalformedAnswer):
        return answer
    if not sentences:
        return answer
    numbers = {number: i for i, number in enumerate(dict.fromkeys(n for _, cited in sentences for n in cited), start=1)}
    parts = [f"{text} {''.join(f'[{numbers[n]}]' for n in cited)}" for text, cited in sentences]
    return replace(
        answer,
        passage=" ".join([*parts, *group_passages(store, found)]),
        written_by=chat.name,
        sources=tuple(texts[number - 1].source for number in numbers),
    )


def texts_of(found: Findings, members: Sequence[SpeciesEntry] = ()) -> list[Text]:
    """Return the texts on what was found and on members of groups, each with its source.

    What has no source is known by its own name.
    """
    texts = [
        Text(
            text=term.definition if is_question(term) else term_passage(term),
            source=term.source or Source(title=term.name),
        )
        for term in found.terms
    ]
    for entry in (*found.species, *members):
        if entry.summary is not None:
            text = f"{entry.taxon.common_name} ({entry.taxon.scientific_name}): {entry.summary.text}"
            texts.append(Text(text=text, source=entry.source or Source(title=entry.taxon.common_name)))
    return [replace(text, text=" ".join(text.text.split()[:MAX_TEXT_WORDS])) for text in texts]


def request_for(query: str, texts: Sequence[Text], prompts: DistilPrompts | None = None) -> ChatRequest:
    """Return the request for a passage; the fence stands nowhere inside the texts or the query."""
    listed = "\n".join(f"[{i}] {_inside(text.text)}" for i, text in enumerate(texts, start=1))
    prompts = prompts or DistilPrompts()
    prompt = prompts.fill("context", query=_inside(query), texts=listed, fence=FENCE, max_words=str(MAX_WORDS))
    return ChatRequest(
        messages=(ChatMessage(role="user", text=prompt),), json_schema=_SCHEMA, max_tokens=MAX_REPLY_TOKENS
    )


def parse_reply(text: str) -> list[tuple[str, tuple[int, ...]]]:
    """Return the `(sentence, numbers of its sources)` pairs of a reply.

    Raises:
        MalformedAnswer: if it is not the JSON that was asked for.
    """
    try:
        found = json.loads(text[text.index("{") : text.rindex("}") + 1])
        pairs = [(item["text"], item["sources"]) for item in found["sentences"]]
    except (ValueError, KeyError, TypeError) as error:
        raise MalformedAnswer(f"expected sentences with sources as JSON, got {text[:80]!r}") from error
    if not all(isinstance(said, str) and isinstance(cited, list) for said, cited in pairs):
        raise MalformedAnswer(f"expected sentences with lists of sources, got {text[:80]!r}")
    return [(" ".join(_MARK.sub("", said).split()), tuple(n for n in cited if type(n) is int)) for said, cited in pairs]


def supported(
    sentences: Sequence[tuple[str, tuple[int, ...]]], texts: Sequence[Text], query: str
) -> list[tuple[str, tuple[int, ...]]]:
    """Return the sentences that their sources bear out, as far as words can tell, up to `MAX_WORDS` words.

    A sentence must name at least one text and none that does not exist. Every number, every word for a number and every
    colour in it must stand in a text that it names, and so must most of its telling words, or in the query.
    """
    kept: list[tuple[str, tuple[int, ...]]] = []
    room = MAX_WORDS
    for said, cited in sentences:
        if not said or not cited or not all(1 <= n <= len(texts) for n in cited):
            continue
        if is_borne_out(said, " ".join(texts[n - 1].text for n in cited), query) and len(said.split()) <= room:
            kept.append((said, tuple(dict.fromkeys(cited))))
            room -= len(said.split())
    return kept


def is_borne_out(said: str, text: str, query: str) -> bool:
    """Return whether a sentence says nothing that its text does not, judged by numbers, colours and telling words.

    Example:
        >>> is_borne_out("The male holds the female.", "The male clasps and holds a female.", "amplexus")
        True
        >>> is_borne_out("The male is green.", "The male clasps and holds a female.", "amplexus")
        False
    """
    if "://" in said or set(_DIGITS.findall(said)) - set(_DIGITS.findall(text)):
        return False
    words, given = words_of(said), set(words_of(text))
    if {word for word in words if word in _NUMBER_WORDS} - given:
        return False
    if set(tokens(" ".join(word for word in words if group_of(word) == "colour"))) - set(tokens(text)):
        return False
    telling = set(tokens(said))
    held = telling & (set(tokens(text)) | set(tokens(query)))
    return bool(telling) and len(held) >= MIN_SUPPORT * len(telling)


def _inside(text: str) -> str:
    return " ".join(text.replace(FENCE, " ").replace("===", " ").split())
