"""Passages composed of the texts found by a look-up, or written from them by a chat model and checked."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from data.codec import json_object
from data.errors import Refused
from data.event_loop import wait_for
from data.files import sha256_hex
from data.lexicon.words import VISUAL_GROUPS, english_group, group_of, tokens, words_of
from data.prompts import quoted
from data.records import ChatMessage, ChatReply, ChatRequest, Context, Source, SpeciesEntry, Term, TermNote
from data.words import NUMBERS, capitalised
from kb.distill.prompts import DistilPrompts, cited_texts_schema
from kb.distill.sentences import split_sentences
from kb.lookup.context_settings import ContextSources
from kb.lookup.entries import subspecies_of
from kb.lookup.findings import Findings
from kb.lookup.lookup_index import LookupIndex, index_of
from kb.lookup.mentions import Mention, groups_in
from kb.lookup.variants import (
    EARLY_STAGES,
    fitting_sentences,
    kinds_in,
    sentences_of,
    states_looks,
    variant_in,
    variant_of,
)
from kb.store.knowledge_base import KnowledgeBase

MAX_GROUP_MEMBERS = 8
MAX_DESCRIBED_MEMBERS = 2  # of a group; with more, each gets too few words
MAX_SENTENCES = 4
MAX_SENTENCE_WORDS, MAX_MEMBER_WORDS = 70, 40
NOT_ORDINARY = "The usual colours and markings of the species are left out: they may not hold here."


def compose(store: KnowledgeBase, query: str, found: Findings) -> Context:
    """Return the context of a query: a search model's answer whole, then terms, species and members of small groups."""
    told = _passages(store, found, query)
    parts = [text for text, _ in told]
    sources = [
        source
        for text, of in told
        for source in ([of.source] if isinstance(of, Term) else store.sources_of_text(of, text))
    ]
    answer = found.answer
    cited = () if answer is None else answer.citations or (answer.source,)
    passage = "\n".join(filter(None, ("" if answer is None else answer.definition, " ".join(parts))))
    others = dict.fromkeys(each for each in sources if each is not None and each not in cited)
    lumped = subspecies_of(store, query)
    fit = _fit(index_of(store), query) if found.groups else {}
    listed = (*([] if lumped is None else [lumped[1]]), *(_group_line(store, group, fit) for group in found.groups))
    return Context(
        query=query,
        passage=passage,
        terms=tuple(TermNote(name=t.name, definition=t.definition, look_for=t.look_for) for t in found.terms),
        sources=(*filter(None, cited), *others),
        found=bool(passage or listed),
        written_by=None if answer is None else answer.model,
        asked_on=None if answer is None else answer.asked_on,
        groups=listed,
    )


def _fit(index: LookupIndex, query: str) -> dict[str, float]:
    """Return taxon id -> fit of a species' words to the looks in a query; without a colour or pattern all 0."""
    looks = [word for word in words_of(query) if group_of(word) in VISUAL_GROUPS] if states_looks([query]) else []
    scores, _ = index.summaries.match(tokens(" ".join(looks)))
    return dict(zip((taxon.taxon_id for taxon in index.taxa), map(float, scores), strict=True))


def _group_line(store: KnowledgeBase, group: Mention, fit: Mapping[str, float]) -> str:
    """Return the species of a group, those with the looks in the query first; of a large one without, its families.

    Families (of a part of a family, genera) come with the number of species meant.
    """
    ids = sorted(group.ids, key=lambda key: -fit[key])
    listed = [entry.taxon.common_name for entry in store.species(ids[:MAX_GROUP_MEMBERS])]
    n_all = len(ids)
    if n_all > MAX_GROUP_MEMBERS and not fit[ids[0]]:
        held = set(ids)
        members = [taxon for taxon in index_of(store).taxa if taxon.taxon_id in held]
        families = {taxon.lineage.get("family", "") for taxon in members}
        rank: Literal["family", "genus"] = "genus" if group.is_scientific and len(families) == 1 else "family"
        above = Counter(taxon.lineage.get(rank, "") for taxon in members)
        if "" not in above and (rank == "family" or len(above) > 1):
            counted = ((name, english_group(name), n) for name, n in above.most_common(MAX_GROUP_MEMBERS))
            listed = [f"{name} ({f'{english}, ' if english else ''}{n} species)" for name, english, n in counted]
            n_all = len(above)
    more = f" and {n_all - len(listed)} more" if n_all > len(listed) else ""
    return f"{capitalised(group.text)}: {', '.join(listed)}{more}"


def _passages(
    store: KnowledgeBase, found: Findings, query: str, *, max_words: int | None = None
) -> list[tuple[str, Term | SpeciesEntry]]:
    """Return the passages of terms, described species and the members of small groups, each with its origin.

    A species has its first few sentences, or `max_words` words.
    """
    described = {entry.taxon.taxon_id for entry in found.species}
    small = (group.ids for group in found.groups if len(group.ids) <= MAX_DESCRIBED_MEMBERS)
    members = store.species(list(dict.fromkeys(i for ids in small for i in ids if i not in described)))
    told: list[tuple[str, Term | SpeciesEntry]] = [(term_passage(term, query), term) for term in found.terms]
    for entries, words in ((found.species, MAX_SENTENCE_WORDS), (members, MAX_MEMBER_WORDS)):
        n_sentences = MAX_SENTENCES if max_words is None else None
        told += [
            (species_passage(entry, found, query, max_words=max_words or words, max_sentences=n_sentences), entry)
            for entry in entries
        ]
    return [(text, of) for text, of in told if text]


def term_passage(term: Term, query: str = "") -> str:
    """Return a term with its definition and visible features; of an organism, only the ones of the variant asked."""
    definition, look_for = (fitting_text(text, term, query) for text in (term.definition, term.look_for))
    if not (definition or look_for):
        return ""
    seen = f"What to look for: {_ended(look_for)}" if look_for else ""
    return f"{capitalised(term.name)}: {' '.join(filter(None, (_ended(definition) if definition else '', seen)))}"


def fitting_text(text: str, term: Term, query: str) -> str:
    """Return the sentences of a text that hold for the variant of the organism that a query asks for."""
    is_of_organism = term.source is not None and term.source.url and groups_in(words_of(term.definition))
    name = next((name for name in (term.name, *term.aliases) if name.lower() in query.lower()), "")
    if not (is_of_organism and name and text):
        return text
    variant = variant_of(query, name, query.lower().index(name.lower()))
    sentences = [text[span.start : span.end] for span in split_sentences(text)]
    return " ".join(fitting_sentences(sentences, variant))


def species_passage(
    entry: SpeciesEntry, found: Findings, query: str, *, max_words: int, max_sentences: int | None
) -> str:
    """Return the names of a species and the sentences that hold for the variant asked; nothing without a description.

    Sentences on the variant and with most words of the query come first, those on larvae and pupae that it does not ask
    for last. A caution on the ones left out ends it, unless all marks hold, or a sex, age or stage has its own.
    """
    if entry.summary is None:
        return ""
    statements, taxon = sentences_of(entry), entry.taxon
    mention = next((mention for mention in found.mentions if taxon.taxon_id in mention.ids), None)
    variant = variant_in(query, mention, found.mentions, found.terms, entry) if mention is not None else frozenset()
    asked = set(tokens(query)) - set(tokens(" ".join((*taxon.common_names, taxon.scientific_name))))

    def fit(text: str) -> int:
        stated = kinds_in(text)
        is_of_stage = not variant and not stated.isdisjoint(EARLY_STAGES)
        return 2 * bool(stated & variant) - 4 * is_of_stage + len(asked & set(tokens(text)))

    fitting = fitting_sentences(statements, variant)
    has_own = not variant & {"colour", "hybrid"} and states_looks(fitting)
    caution = [] if variant <= {"male"} or has_own or fitting == statements else [NOT_ORDINARY]
    chosen: list[str] = []
    for sentence in sorted(fitting, key=fit, reverse=True)[:max_sentences]:
        if chosen and len(" ".join((*chosen, sentence)).split()) > max_words:
            break
        chosen.append(sentence)
    name = f"{taxon.common_name} ({taxon.scientific_name})" if taxon.common_names else taxon.scientific_name
    return f"{name}: {' '.join([*chosen, *caution])}"


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", '."', ".”")) else text + "."


MAX_WORDS = 120
MAX_TEXT_WORDS = 250  # per text in the request
MAX_REPLY_TOKENS = 1_000
MIN_SUPPORT = 0.6  # smallest share of a sentence's content words that must be in its sources or the query
_SCHEMA = cited_texts_schema("sentences", cited="sources")
_NUMBER_WORDS = frozenset(
    (*NUMBERS[1:], "twenty", "thirty", "forty", "fifty", "dozen", "hundred", "thousand", "twice", "half", "double")
)
_log = logging.getLogger(__name__)
_MARK = re.compile(r"\s*\[\d+\]")
Text = tuple[str, Source]  # a text for the model, and its source
Sentences = list[tuple[str, tuple[int, ...]]]  # each with the numbers of its sources


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

    def usable(reply: ChatReply) -> Sentences:
        return supported(parse_reply(reply.text), texts, answer.query)

    try:
        request = request_for(answer.query, texts, prompts)
        sentences = usable(wait_for(chat.reply(replace(request, usable=lambda reply: bool(usable(reply))))))
        problem = "no sentence of its reply is in its texts"
    except Refused as error:
        sentences, problem = [], str(error)
    if not sentences:
        _log.warning("The passage on %r is put together without the model: %s", answer.query, problem)
        sources.unwritten.add(answer.query)
        return answer
    numbers = list(dict.fromkeys(number for _, cited in sentences for number in cited))
    marks = {number: f"[{place}]" for place, number in enumerate(numbers, start=1)}
    return replace(
        answer,
        passage=" ".join(f"{text} {''.join(map(marks.__getitem__, cited))}" for text, cited in sentences),
        written_by=chat.name,
        sources=tuple(texts[number - 1][1] for number in numbers),
    )


def texts_of(found: Findings, store: KnowledgeBase, query: str) -> list[Text]:
    """Return the texts that hold for the query, each with its source or its name as source."""
    told = _passages(store, found, query, max_words=MAX_TEXT_WORDS)
    names = (of.name if isinstance(of, Term) else of.taxon.common_name for _, of in told)
    return [
        (" ".join(text.split()[:MAX_TEXT_WORDS]), of.source or Source(title=name))
        for (text, of), name in zip(told, names, strict=True)
    ]


def request_for(query: str, texts: Sequence[Text], prompts: DistilPrompts) -> ChatRequest:
    """Return the request for a passage; the lines around the texts contain a hash of them, so no text can end them."""
    listed = "\n".join(f"[{i}] {quoted(text)}" for i, (text, _) in enumerate(texts, start=1))
    fence = f"=== TEXTS {sha256_hex(listed)[:16]} ==="
    prompt = prompts.fill("context", query=quoted(query), texts=listed, fence=fence, max_words=str(MAX_WORDS))
    return ChatRequest(
        messages=(ChatMessage(role="user", text=prompt),), json_schema=_SCHEMA, max_tokens=MAX_REPLY_TOKENS
    )


def parse_reply(text: str) -> Sentences:
    """Return the sentences of a reply, none if it is not of the requested form."""
    found: Any = json_object(text)[0] or {}
    try:
        pairs = [(" ".join(_MARK.sub("", item["text"]).split()), item["sources"]) for item in found["sentences"]]
        return [(sentence, tuple(n for n in cited if type(n) is int)) for sentence, cited in pairs]
    except (KeyError, TypeError):
        return []


def supported(sentences: Sentences, texts: Sequence[Text], query: str) -> Sentences:
    """Return the sentences with existing sources that support them, up to `MAX_WORDS` words in all."""
    found: Sentences = []
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
    from kb.distill.claims import unsupported

    lacks = unsupported(sentence, [text]).values()
    numbers = {word for word in words_of(sentence) if word in _NUMBER_WORDS} - set(words_of(text))
    if "://" in sentence or numbers or not {"colour", "shade", "number"}.isdisjoint(lacks):
        return False
    content = set(tokens(sentence))
    shared = content & (set(tokens(text)) | set(tokens(query)))
    return bool(content) and len(shared) >= MIN_SUPPORT * len(content)
