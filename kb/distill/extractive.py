"""The extractive distiller: sentences on looks from an article, trimmed and ordered, each with its place there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from math import fsum
from typing import Literal

from data.lexicon.marks import find_marks
from data.lexicon.words import BIRDS, group_of, group_of_taxon, words_of
from data.records import Article, Span, Statement, Summary, Taxon
from kb.distill.sentences import SectionKind, pattern, sections_of, split_sentences
from kb.distill.subjects import (
    PRONOUN,
    READING_ORDER,
    NameHider,
    SideReader,
    Subject,
    continues_previous,
    is_about_another,
    labelled,
    stated_subject,
    title_subject,
    with_subject,
)
from kb.distill.visual import (
    drop_brackets,
    has_looks,
    has_other_topics,
    opens_off_topic,
    states_size,
    trim_clauses,
    visual_score,
)

# The paper's refined summaries have 76 words on average; after that, a sentence must add more.
TARGET_WORDS, MAX_WORDS = 76, 110
MAX_FACT_WORDS = 400  # bounds a hostile file
MAX_NUMBERS = 4  # a sentence with more is a list of measurements
MAX_SENTENCE_CHARACTERS = 1500  # a longer one is a list without full stops
_NUMBERS = re.compile(r"\d+(?:[.,]\d+)*(?: ?(?:–|-|to|and|×|x) ?\d+(?:[.,]\d+)*)?")  # a number or a range
_NAMES_ALONE = re.compile(r"[^.,;:]{3,60}, [A-Z][a-z]+ [a-z-]{3,}\.?")  # "Yellowish Flycatcher, Empidonax flavescens"
WORTH_BEFORE_TARGET, WORTH_AFTER_TARGET = 0.02, 0.09
_MARK_WEIGHTS = {"mark": 1.0, "part": 0.4, "colour": 0.25, "size": 0.9, "compare": 0.4, "subject": 0.8}
# Differences of races rarely show in a photo; the young are seen less often than adults.
_SUBJECT_WEIGHTS = {"race": 0.4, "juvenile": 0.7, "larva": 0.6, "pupa": 0.6}
_ASIDE_WEIGHT = 0.4
# Smallest visual score by kind of section.
_MARGINS = {SectionKind.LOOKS: 0.0, SectionKind.LEAD: 0.0, SectionKind.NEUTRAL: 0.0, SectionKind.OTHER: 0.3}
Scope = Literal["description", "article", "facts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A sentence that may go into a summary."""

    position: int
    span: Span
    text: str
    subject: Subject = ""
    antecedent: tuple[int, Span] | None = None
    """Position and place of the earlier sentence that names the subject."""
    is_aside: bool = False
    """Compares with another species, or is in a section on another topic."""
    label: str = ""
    """Stage or side that only the heading or an earlier sentence names: "Larva", "Underside"."""

    @property
    def n_words(self) -> int:
        """Number of words."""
        return len(self.text.split())

    @property
    def evidence(self) -> tuple[Span, ...]:
        """The place of the sentence, after that of its antecedent."""
        return (self.antecedent[1], self.span) if self.antecedent is not None else (self.span,)


class ExtractiveDistiller:
    """Makes summaries by picking and trimming the visual sentences of an article; needs no model and no network.

    Source:
        VR-RAG, section 3, "Summary Generation and Refinement": a language model writes a summary (127 words on
        average) and refines it to visual attributes (76). Differs: extractive, in one pass, with cited places.
    """

    name = "extractive/4"
    """Name and version; part of the fingerprint of every summary."""

    def name_for(self, taxon: Taxon) -> str:
        """Return the name and version with the group of a taxon's words: part of the fingerprint of its summary."""
        group = group_of_taxon(taxon.lineage, taxon.scientific_name)
        return self.name if group == BIRDS else f"{self.name} {group}"

    def distil(self, article: Article, taxon: Taxon) -> Summary | None:
        """Return the description of a taxon in an article, or None without one.

        `scope` is "description" if a section on looks has any sentence of it, else "article". An article without
        address and revision holds bare facts and passes nearly whole ("facts").
        """
        found, scope = candidates(article, taxon)
        group = group_of_taxon(taxon.lineage, taxon.scientific_name)
        chosen = found if scope == "facts" else _choose(found, group)
        if not chosen:
            return None
        statements = tuple(Statement(text=sentence.text, evidence=sentence.evidence) for sentence in chosen)
        return Summary(statements=statements, stage="refined", scope=scope, distiller=self.name_for(taxon))


def candidates(article: Article, taxon: Taxon) -> tuple[list[Candidate], Scope]:
    """Return the sentences of an article that a summary may take, in order, and the scope of the summary."""
    hider = NameHider(taxon, article.source.title)
    if article.source.url is None and article.source.revision is None:
        return list(_facts(article, hider)), "facts"
    found = list(_visual_sentences(article, hider))
    is_described = any(kind is SectionKind.LOOKS for kind, _ in found)
    return [sentence for _, sentence in found], "description" if is_described else "article"


def visual_part(sentence: str, kind: SectionKind, hider: NameHider) -> str | None:
    """Return the visual part of a sentence in a section of that kind, without the species' name, or None."""
    group = hider.group
    if len(sentence) > MAX_SENTENCE_CHARACTERS or _NAMES_ALONE.fullmatch(sentence) or opens_off_topic(sentence):
        return None
    if hider.names_another(sentence):
        return None
    text = hider.hide(trim_clauses(drop_brackets(sentence, group), group))
    n_numbers = len(_NUMBERS.findall(text))
    if len(text.split()) < 3 or not text[:1].isalnum() or n_numbers > MAX_NUMBERS:
        return None
    if opens_off_topic(text):  # "The edible crab is boiled": "it is boiled"
        return None
    score = visual_score(text, in_section_on_looks=kind is SectionKind.LOOKS, group=group)
    return text if kind in _MARGINS and score > _MARGINS[kind] else None


def _sentences(article: Article, wanted: set[SectionKind]) -> Iterator[tuple[SectionKind, str, bool, Span]]:
    """Yield (kind and title of the section, whether a paragraph begins, span) for each sentence, in order."""
    for section, kind in sections_of(article):
        if kind not in wanted:
            continue
        last_end = section.start
        for span in split_sentences(article.text, section.start, section.end):
            is_new_paragraph = last_end == section.start or "\n" in article.text[last_end : span.start]
            yield kind, section.title, is_new_paragraph, span
            last_end = span.end


def _visual_sentences(article: Article, hider: NameHider) -> Iterator[tuple[SectionKind, Candidate]]:
    group = hider.group
    seen: set[str] = set()
    subject: Subject = ""
    antecedent: tuple[int, Span] | None = None
    sides = SideReader(group)
    is_of_another = False
    for position, (kind, title, is_new_paragraph, span) in enumerate(_sentences(article, set(_MARGINS))):
        sentence = article.text[span.start : span.end]
        stated = stated_subject(sentence, group)
        headed = title_subject(title, group)
        if headed in ("larva", "pupa") and stated == "juvenile":
            stated = headed
        if stated is not None:
            subject, antecedent = stated, (position, span)
        elif is_new_paragraph or not continues_previous(sentence, subject, group) or hider.names_in(sentence[:60]):
            subject, antecedent = headed or "", None
        side = sides.read(sentence, title, is_new_paragraph=is_new_paragraph)
        is_continued = is_of_another and not is_new_paragraph and PRONOUN.match(sentence) is not None
        is_of_another = hider.names_another(sentence) or is_continued
        text = visual_part(sentence, kind, hider)
        if text is None or is_continued or text in seen or pattern("elsewhere").match(sentence):
            continue
        if subject != "race" and pattern("races").search(title):
            continue  # does not say which birds
        seen.add(text)
        is_headed = headed == subject and stated is None
        is_resolved = antecedent is not None and with_subject(text, subject) is not None
        yield (
            kind,
            Candidate(
                position=position,
                span=span,
                text=text,
                subject=subject,
                antecedent=antecedent if stated is None and subject not in ("", "adult") else None,
                is_aside=is_about_another(text, group) or kind is SectionKind.OTHER,
                label=side or (str(subject) if is_headed and not is_resolved and subject not in ("", "adult") else ""),
            ),
        )


def _facts(article: Article, hider: NameHider) -> Iterator[Candidate]:
    """Yield the sentences of bare facts, except purely off-topic ones, up to `MAX_FACT_WORDS` words."""
    n_words = 0
    looks = {kind for _, kind in sections_of(article)} & {SectionKind.LOOKS}
    for position, (_, _, _, span) in enumerate(_sentences(article, looks or set(_MARGINS))):
        sentence = article.text[span.start : span.end]
        if has_looks(sentence, hider.group) or not has_other_topics(sentence, hider.group):
            fact = Candidate(position=position, span=span, text=hider.hide(sentence))
            if n_words and n_words + fact.n_words > MAX_FACT_WORDS:
                return
            n_words += fact.n_words
            yield fact


def _choose(sentences: list[Candidate], group: str = BIRDS) -> list[Candidate]:
    """Return the sentences that greedily cover most field marks per word in `MAX_WORDS`, in reading order."""
    by_position = {sentence.position: sentence for sentence in sentences}
    marks = {sentence.position: _marks(sentence, group) for sentence in sentences}
    taken: dict[int, Candidate] = {}
    covered: set[tuple[str, ...]] = set()
    words = 0

    def gain(sentence: Candidate) -> float:
        # `fsum` is exact: the result does not depend on the order of the set.
        novelty = fsum(_MARK_WEIGHTS[mark[0]] for mark in marks[sentence.position] - covered)
        novelty *= _SUBJECT_WEIGHTS.get(sentence.subject, 1.0)
        return novelty * (_ASIDE_WEIGHT if sentence.is_aside else 1.0) / (sentence.n_words + 4)

    # Gains only shrink, so a sentence is scored again only at the top of the queue: no quadratic time in long articles.
    queue = [(-gain(sentence), sentence.position) for sentence in sentences]
    heapify(queue)
    while queue:
        bound, position = heappop(queue)
        best = by_position[position]
        if position in taken:
            continue
        if (best_gain := gain(best)) < -bound:
            heappush(queue, (-best_gain, position))
            continue
        if best_gain < (WORTH_BEFORE_TARGET if words < TARGET_WORDS else WORTH_AFTER_TARGET):
            break
        unit = _self_contained(best, by_position, taken)
        added = sum(sentence.n_words for sentence in unit)
        if not unit or (taken and words + added > MAX_WORDS):
            continue
        for sentence in unit:
            taken[sentence.position] = sentence
            covered |= marks[sentence.position]
        words += added

    def place(sentence: Candidate) -> tuple[int, int]:
        # Adults stand for the species.
        return READING_ORDER.index("" if sentence.subject == "adult" else sentence.subject), sentence.position

    return sorted(taken.values(), key=place)


def _self_contained(
    sentence: Candidate, by_position: dict[int, Candidate], taken: dict[int, Candidate]
) -> list[Candidate]:
    """Return the sentence so that it reads by itself: with its pronoun resolved, or after its antecedent."""
    if sentence.label:
        return [replace(sentence, text=labelled(sentence.text, sentence.label))]
    if sentence.antecedent is None or sentence.antecedent[0] in taken:
        return [sentence]
    resolved = with_subject(sentence.text, sentence.subject)
    if resolved is not None:
        return [replace(sentence, text=resolved)]
    antecedent = by_position.get(sentence.antecedent[0])
    return [antecedent, sentence] if antecedent is not None else []


def _marks(sentence: Candidate, group: str) -> set[tuple[str, ...]]:
    """Return the field marks of a sentence, with the sex or age, as items that count once."""
    subject = sentence.subject
    found = find_marks(sentence.text, group)
    marks: set[tuple[str, ...]] = {("mark", subject, mark.part, mark.look, mark.marking) for mark in found}
    for word in words_of(sentence.text):
        name = group_of(word, group)
        if name in ("part", "colour"):
            marks.add((name, subject, word))
        elif name == "size":
            # "Tiny seeds" do not stand for the height of the plant.
            marks.add(("size", subject, word))
        elif name == "compare":
            marks.add(("compare", subject))
    if subject in ("male", "female", "juvenile", "larva", "pupa"):
        marks.add(("subject", subject))
    if states_size(sentence.text):
        marks.add(("size", subject, "length"))
    return marks
