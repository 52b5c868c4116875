"""The extractive distiller: sentences on looks from an article, trimmed and put in order.

It writes nothing of its own: each statement is a sentence of the article without brackets, clauses on other matters and
the species' name, and points at the place where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from math import fsum
from typing import Literal

from data.lexicon.word_groups import group_of, words_of
from data.records import Article, Section, Span, Statement, Summary, Taxon
from kb.distill.sections import SectionKind, section_kinds
from kb.distill.sentences import split_sentences
from kb.distill.subjects import (
    READING_ORDER,
    Who,
    hangs_on_the_one_before,
    is_about_another,
    points_away,
    said_subject,
    with_subject,
)
from kb.distill.trimming import NameHider, drop_brackets, trim_clauses
from kb.distill.visual import has_looks, has_other_matters, is_on_other_matters, part_pairs, visual_score

# The paper's refined summaries have 76 words on average; past that a sentence must be worth its place.
TARGET_WORDS = 76
MAX_WORDS = 110
# Facts are dense and already written to be read; this only bounds a hostile file.
MAX_FACT_WORDS = 400
# More are a table of measurements in prose, which no photo shows.
MAX_NUMBERS = 4
MAX_SENTENCE_CHARACTERS = 1500  # what is longer is a list without full stops
# Sections on some birds of the species, or on birds that are no more: what they tell of looks is not true of all.
_ON_RACES = re.compile(
    r"subspecies|\braces?\b|geographic|variation|taxonom|systemat|classif|distribut|\brange\b|hybrid|mutation|avicult|"
    r"captiv|domestic|fossil|evolution",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
WORTH_AFTER_TARGET = 0.09
WORTH_BEFORE_TARGET = 0.02

# How much more clearly than elsewhere a sentence must speak of looks, by where it stands.
_MARGINS = {SectionKind.LOOKS: 0.0, SectionKind.LEAD: 0.0, SectionKind.NEUTRAL: 0.0, SectionKind.OTHER: 0.3}

Scope = Literal["description", "article", "facts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Offer:
    """A sentence that may go into the summary; `leans_on` is the earlier one that says whom it speaks of."""

    position: int
    span: Span
    text: str
    kind: SectionKind
    who: Who
    leans_on: int | None
    leans_on_span: Span | None
    is_aside: bool
    """Another species has a part in it, or it is said in passing, in a section on another matter."""


class ExtractiveDistiller:
    """Makes summaries by picking and trimming the visual sentences of an article; needs no model and no network.

    Source:
        VR-RAG, section 3, "Summary Generation and Refinement": a language model writes a summary (127 words on
        average) and then refines it to visual attributes (76). Differs: extractive, and in one pass that goes straight
        to the refined stage; sentences keep the article's words and point at their place in it.

    Example:
        >>> from data.records import Section, Source
        >>> text = "The red wren has a red crown and a thin black bill. It sings from reeds."
        >>> article = Article(
        ...     source=Source(title="Red wren", revision=7),
        ...     text=text,
        ...     sections=(Section(title="Description", level=2, start=0, end=len(text)),),
        ... )
        >>> wren = Taxon(taxon_id="w-r", scientific_name="Wrena rubra", rank="species", common_names=("Red Wren",))
        >>> ExtractiveDistiller().distil(article, wren).text
        'It has a red crown and a thin black bill.'
    """

    name = "extractive/2"
    """Name and version; part of the fingerprint of every summary, so it changes when the output does."""

    def distil(self, article: Article, taxon: Taxon) -> Summary | None:
        """Return what the article says of the looks of the taxon, or None where that is nothing.

        Sentences come from the sections on looks, the lead and, where they speak more clearly of looks, from the rest;
        `scope` is "description" if a section on looks has any, else "article". An article without address and revision
        is taken as bare facts and passes nearly whole ("facts").
        """
        offers, scope = _offered(article, taxon)
        return self._summary(_leading(offers, MAX_FACT_WORDS) if scope == "facts" else _choose(offers), scope)

    def visual_spans(self, article: Article, taxon: Taxon) -> list[Span]:
        """Return the places of all sentences that a summary is chosen from, as if its length had no limit."""
        offers, _ = _offered(article, taxon)
        return [span for offer in offers for span in _evidence(offer)]

    def _summary(self, offers: list[_Offer], scope: Scope) -> Summary | None:
        if not offers:
            return None
        statements = tuple(Statement(text=offer.text, evidence=_evidence(offer)) for offer in offers)
        return Summary(statements=statements, stage="refined", scope=scope, distiller=self.name)


def _offered(article: Article, taxon: Taxon) -> tuple[list[_Offer], Scope]:
    """Return the sentences on looks of an article, and which part of it they are from."""
    hider = NameHider(taxon, article.source.title)
    if article.source.url is None and article.source.revision is None:
        return list(_facts(article, hider)), "facts"
    offers = list(_offers(article, hider))
    has_section_on_looks = any(offer.kind is SectionKind.LOOKS for offer in offers)
    return offers, "description" if has_section_on_looks else "article"


def visual_part(sentence: str, kind: SectionKind, hider: NameHider) -> str | None:
    """Return what a sentence of such a section says of looks, trimmed and nameless, or None where that is nothing."""
    if len(sentence) > MAX_SENTENCE_CHARACTERS or is_on_other_matters(sentence):
        return None
    text = hider.hide(trim_clauses(drop_brackets(sentence)))
    if len(text.split()) < 3 or not text[:1].isalnum() or len(_NUMBER.findall(text)) > MAX_NUMBERS:
        return None
    score = visual_score(text, in_section_on_looks=kind is SectionKind.LOOKS)
    return text if kind in _MARGINS and score > _MARGINS[kind] else None


def _sentences(article: Article, wanted: set[SectionKind]) -> Iterator[tuple[SectionKind, str, bool, Span]]:
    """Yield (kind and title of the section, whether a paragraph begins, span) for each sentence, in order."""
    sections = article.sections or (Section(title="", level=1, start=0, end=len(article.text)),)
    kinds = section_kinds(article) or [SectionKind.LEAD]
    for section, kind in zip(sections, kinds, strict=True):
        if kind not in wanted:
            continue
        last_end = section.start
        for span in split_sentences(article.text, section.start, section.end):
            is_new_paragraph = last_end == section.start or "\n" in article.text[last_end : span.start]
            yield kind, section.title, is_new_paragraph, span
            last_end = span.end


def _offers(article: Article, hider: NameHider) -> Iterator[_Offer]:
    seen: set[str] = set()
    who: Who = ""
    stated: tuple[int, Span] | None = None
    for position, (kind, title, is_new_paragraph, span) in enumerate(_sentences(article, set(_MARGINS))):
        sentence = article.text[span.start : span.end]
        if is_new_paragraph:
            who, stated = "", None
        said = said_subject(sentence)
        if said is not None:
            who, stated = said, (position, span)
        elif not hangs_on_the_one_before(sentence) or hider.names_in(sentence[:60]):
            who, stated = "", None
        text = visual_part(sentence, kind, hider)
        if text is None or text in seen or points_away(sentence):
            continue
        if who != "race" and _ON_RACES.search(title):
            continue  # nobody could tell of which birds
        seen.add(text)
        leans = said is None and who not in ("", "adult") and stated is not None
        yield _Offer(
            position=position,
            span=span,
            text=text,
            kind=kind,
            who=who,
            leans_on=stated[0] if leans and stated else None,
            leans_on_span=stated[1] if leans and stated else None,
            is_aside=is_about_another(text) or kind is SectionKind.OTHER,
        )


def _facts(article: Article, hider: NameHider) -> Iterator[_Offer]:
    """Yield the sentences of bare facts as they stand, but those that speak of other matters alone."""
    looks = set(section_kinds(article)) & {SectionKind.LOOKS}
    for position, (kind, _, _, span) in enumerate(_sentences(article, looks or set(_MARGINS))):
        sentence = article.text[span.start : span.end]
        if has_other_matters(sentence) and not has_looks(sentence):
            continue
        yield _Offer(
            position=position,
            span=span,
            text=hider.hide(sentence),
            kind=kind,
            who="",
            leans_on=None,
            leans_on_span=None,
            is_aside=False,
        )


def _leading(offers: list[_Offer], max_words: int) -> list[_Offer]:
    taken: list[_Offer] = []
    words = 0
    for offer in offers:
        words += len(offer.text.split())
        if taken and words > max_words:
            break
        taken.append(offer)
    return taken


def _choose(offers: list[_Offer]) -> list[_Offer]:
    """Return the offers that together tell most in `MAX_WORDS`, in reading order.

    Greedy: again and again the sentence whose new field marks are most for its words.
    """
    by_position = {offer.position: offer for offer in offers}
    marks = {offer.position: _marks(offer) for offer in offers}
    taken: dict[int, _Offer] = {}
    told: set[tuple[str, ...]] = set()
    words = 0

    def worth(offer: _Offer) -> float:
        return _news(offer, marks[offer.position] - told) / (len(offer.text.split()) + 4)

    # What is told only grows, so what an offer was worth earlier bounds what it is worth now: it is weighed again when
    # it comes to the top, and not all of them in every round, which a long article would pay for with its square.
    queue = [(-worth(offer), offer.position) for offer in offers]
    heapify(queue)
    while queue:
        bound, position = heappop(queue)
        best = by_position[position]
        if position in taken:
            continue
        if (best_worth := worth(best)) < -bound:
            heappush(queue, (-best_worth, position))
            continue
        if best_worth < (WORTH_BEFORE_TARGET if words < TARGET_WORDS else WORTH_AFTER_TARGET):
            break
        group = _self_contained(best, by_position, taken)
        added = sum(len(offer.text.split()) for offer in group)
        if not group or (taken and words + added > MAX_WORDS):
            continue
        for offer in group:
            taken[offer.position] = offer
            told |= marks[offer.position]
        words += added
    return sorted(taken.values(), key=lambda offer: (READING_ORDER.index(offer.who), offer.position))


def _self_contained(offer: _Offer, by_position: dict[int, _Offer], taken: dict[int, _Offer]) -> list[_Offer]:
    """Return the offer in a form that reads by itself: its pronoun resolved, or with the sentence it leans on."""
    if offer.leans_on is None or offer.leans_on in taken:
        return [offer]
    resolved = with_subject(offer.text, offer.who)
    if resolved is not None:
        return [replace(offer, text=resolved, leans_on=None)]
    antecedent = by_position.get(offer.leans_on)
    return [antecedent, offer] if antecedent is not None else []


def _evidence(offer: _Offer) -> tuple[Span, ...]:
    """Return the sentence's place; before it that of the sentence which says whom it speaks of."""
    return (offer.leans_on_span, offer.span) if offer.leans_on_span is not None else (offer.span,)


def _marks(offer: _Offer) -> set[tuple[str, ...]]:
    """Return what an offer tells, as items that count once: field marks, parts, size, whose looks they are."""
    marks: set[tuple[str, ...]] = {("pair", offer.who, *pair) for pair in part_pairs(offer.text)}
    for word in words_of(offer.text):
        group = group_of(word)
        if group == "part":
            marks.add(("part", offer.who, word))
        elif group == "colour":
            marks.add(("colour", offer.who, word))
        elif group == "size":
            marks.add(("size", "metric" if word in ("cm", "mm", "in", "inches") else "size"))
        elif group == "compare":
            marks.add(("compare", offer.who))
    if offer.who in ("male", "female", "juvenile"):
        marks.add(("who", offer.who))
    return marks


_NEWS = {"pair": 1.0, "part": 0.4, "colour": 0.25, "size": 0.9, "compare": 0.4, "who": 0.8}
# Races differ in what a photo seldom shows; the young are seen less often than adults.
_WEIGHT_OF_WHO = {"race": 0.4, "juvenile": 0.7}


def _news(offer: _Offer, new: set[tuple[str, ...]]) -> float:
    """Return how much an offer adds to what is told, given those of its marks that are new."""
    # Exact, so that it does not depend on the order of a set, which is another in every process.
    news = fsum(_NEWS[mark[0]] for mark in new)
    return news * _WEIGHT_OF_WHO.get(offer.who, 1.0) * (0.4 if offer.is_aside else 1.0)
